// Visits every page of the built site in a headless browser, wide and as narrow as a phone, and some of each kind in dark colours: dead
// links, console errors, requests to other hosts, violations that axe finds, pages wider than the window, and the search. `node check.mjs [--screenshots FOLDER]`; CHROMIUM names the browser's executable.
import { createReadStream, existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { dirname, extname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'

const DIST = join(dirname(fileURLToPath(import.meta.url)), 'dist')
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const CHROMIUM =
  process.env.CHROMIUM ?? ['/usr/bin/chromium', '/usr/bin/google-chrome'].find((path) => existsSync(path))
const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
  '.txt': 'text/plain; charset=utf-8',
  '.woff2': 'font/woff2',
}
/** A page of each kind: visited in dark colours as well, and checked by axe in a narrow window; `--screenshots` takes pictures of them. */
const SAMPLES = [
  '/',
  '/docs/quickstart',
  '/docs/guides/offload',
  '/docs/reference/context-manager',
  '/docs/benchmarks',
  '/docs/comparison',
]

if (CHROMIUM === undefined || !existsSync(DIST)) {
  console.error(
    CHROMIUM === undefined ? 'Chromium is not installed: set CHROMIUM.' : 'Build the site first: npm run build.',
  )
  process.exit(2)
}
const screenshots = process.argv[process.argv.indexOf('--screenshots') + 1]
const takesPictures = process.argv.includes('--screenshots')

/** The file behind an address, as static hosts find it. */
function fileOf(path) {
  const relative = normalize(decodeURIComponent(path)).replace(/^[/\\]+/, '')
  const candidates = [relative, `${relative}.html`, join(relative, 'index.html')].map((name) => join(DIST, name))
  return candidates.find(
    (candidate) => candidate.startsWith(DIST) && existsSync(candidate) && statSync(candidate).isFile(),
  )
}

const server = createServer((request, response) => {
  const file = fileOf(new URL(request.url, 'http://site').pathname)
  if (file === undefined) {
    response.writeHead(404).end()
    return
  }
  response.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream' })
  createReadStream(file).pipe(response)
})
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
const origin = `http://127.0.0.1:${server.address().port}`

const addresses = readdirSync(DIST, { recursive: true, encoding: 'utf8' })
  .map((name) => name.replaceAll('\\', '/'))
  .filter((name) => name.endsWith('.html') && name !== '404.html')
  .map((name) => `/${name.replace(/\.html$/, '').replace(/(^|\/)index$/, '$1')}`)
  .sort()

const problems = []
const report = (address, problem) => {
  problems.push(`${address}: ${problem}`)
  console.error(`✖ ${address}: ${problem}`)
}
const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] })
/** The ids of each page, and the links of each page to others. */
const ids = new Map()
const links = []

const VISITS = [
  { title: 'light', colorScheme: 'light', viewport: { width: 1280, height: 900 }, visited: addresses },
  { title: 'dark', colorScheme: 'dark', viewport: { width: 1280, height: 900 }, visited: SAMPLES },
  { title: 'narrow', colorScheme: 'light', viewport: { width: 390, height: 844 }, visited: addresses },
]

for (const { title, colorScheme, viewport, visited } of VISITS) {
  const context = await browser.newContext({ colorScheme, viewport })
  const page = await context.newPage()
  page.setDefaultTimeout(120_000)
  let address = ''
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) {
      report(address, `${message.type()} in the console: ${message.text()}`)
    }
  })
  page.on('pageerror', (error) => report(address, `error: ${error.message}`))
  page.on('response', (response) => {
    if (response.status() >= 400) {
      report(address, `${response.status()} for ${response.url()}`)
    }
  })
  await page.route('**', (route) => {
    if (new URL(route.request().url()).origin === origin) {
      return route.continue()
    }
    report(address, `asks ${route.request().url()}`)
    return route.abort()
  })
  for (address of visited) {
    await page.goto(`${origin}${address}`, { waitUntil: 'load' })
    await page.waitForSelector('.VPContent')
    if (title === 'light') {
      const found = await page.evaluate(() => ({
        ids: [...document.querySelectorAll('[id]')].map(({ id }) => id),
        links: [...document.querySelectorAll('a[href]')].map(({ href }) => href),
      }))
      ids.set(address, new Set(found.ids))
      links.push(...found.links.map((link) => ({ from: address, link })))
    }
    const width = await page.evaluate(() => document.documentElement.scrollWidth)
    if (width > viewport.width) {
      report(address, `${title}, is ${width} pixels wide, and the window ${viewport.width}`)
    }
    if (title !== 'narrow' || SAMPLES.includes(address)) {
      await page.evaluate(AXE)
      const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }))
      for (const { id, help, nodes } of violations) {
        report(address, `${title}, ${id} (${help}), ${nodes.length} times: ${nodes[0].target.join(' ')}`)
      }
    }
    if (takesPictures && SAMPLES.includes(address)) {
      mkdirSync(screenshots, { recursive: true })
      await page.screenshot({ path: join(screenshots, `${address.replaceAll('/', '_')}_${title}.png`) })
    }
  }
  address = 'search'
  await page.goto(`${origin}/docs/`, { waitUntil: 'load' })
  await page.click('#local-search button')
  await page.fill('.VPLocalSearchBox input', 'lease')
  await page
    .waitForSelector('.VPLocalSearchBox .result', { timeout: 30_000 })
    .catch(() => report(address, 'finds nothing for "lease"'))
  if (takesPictures) {
    await page.screenshot({ path: join(screenshots, `search_${title}.png`) })
  }
  await context.close()
}
await browser.close()
server.close()

for (const { from, link } of links) {
  const url = new URL(link)
  if (url.origin !== origin) {
    continue
  }
  const path = url.pathname.replace(/\.html$/, '')
  if (fileOf(path) === undefined) {
    report(from, `leads to ${path}, which is not there`)
  } else if (url.hash !== '' && ids.has(path) && !ids.get(path).has(decodeURIComponent(url.hash.slice(1)))) {
    report(from, `leads to ${path}${url.hash}, which is not on that page`)
  }
}
if (addresses.length < 30 || links.length < 1000) {
  report('site', `only ${addresses.length} pages with ${links.length} links`)
}
console.log(`${addresses.length} pages, ${links.length} links: ${problems.length} problems`)
process.exit(problems.length === 0 ? 0 : 1)
