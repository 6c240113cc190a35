// Preloaded into a measured process: writes what it used to descriptor 3 at its end.
import { writeSync } from 'node:fs'

process.on('exit', () => {
  const { user, system } = process.cpuUsage()
  writeSync(3, JSON.stringify({ cpuMs: (user + system) / 1000, maxRssMb: process.resourceUsage().maxRSS / 1024 }))
})
