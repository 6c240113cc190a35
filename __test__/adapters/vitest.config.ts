import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['*.spec.ts'],
    globals: true,
    globalSetup: ['support/install-package.ts'],
    testTimeout: 300_000,
  },
})
