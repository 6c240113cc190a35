/**
 * Loads the addon: the one that was built beside this file, or that of the package for this platform. Every name is a literal
 * inside of a `try`, so that tools which embed files (`bun build --compile`) or copy them (Next.js) find the addon.
 */

'use strict'

const { addonError, checkNode, targetOf } = require('./dist/addon-error.cjs')

checkNode()
module.exports = load()

function load() {
  const failures = []
  // The name that tools of napi-rs use for an addon in a place of its own.
  const override = process.env.NAPI_RS_NATIVE_LIBRARY_PATH
  if (override) {
    try {
      return require(override)
    } catch (error) {
      failures.push(error)
    }
  }
  const target = targetOf()
  if (target === 'linux-x64-gnu') {
    try {
      return require('./agent-context.linux-x64-gnu.node')
    } catch (error) {
      failures.push(error)
    }
    try {
      return require('agent-context-linux-x64-gnu')
    } catch (error) {
      failures.push(error)
    }
  } else if (target === 'linux-arm64-gnu') {
    try {
      return require('./agent-context.linux-arm64-gnu.node')
    } catch (error) {
      failures.push(error)
    }
    try {
      return require('agent-context-linux-arm64-gnu')
    } catch (error) {
      failures.push(error)
    }
  } else if (target === 'linux-x64-musl') {
    try {
      return require('./agent-context.linux-x64-musl.node')
    } catch (error) {
      failures.push(error)
    }
    try {
      return require('agent-context-linux-x64-musl')
    } catch (error) {
      failures.push(error)
    }
  } else if (target === 'linux-arm64-musl') {
    try {
      return require('./agent-context.linux-arm64-musl.node')
    } catch (error) {
      failures.push(error)
    }
    try {
      return require('agent-context-linux-arm64-musl')
    } catch (error) {
      failures.push(error)
    }
  } else if (target === 'darwin-x64') {
    try {
      return require('./agent-context.darwin-x64.node')
    } catch (error) {
      failures.push(error)
    }
    try {
      return require('agent-context-darwin-x64')
    } catch (error) {
      failures.push(error)
    }
  } else if (target === 'darwin-arm64') {
    try {
      return require('./agent-context.darwin-arm64.node')
    } catch (error) {
      failures.push(error)
    }
    try {
      return require('agent-context-darwin-arm64')
    } catch (error) {
      failures.push(error)
    }
  } else if (target === 'win32-x64-msvc') {
    try {
      return require('./agent-context.win32-x64-msvc.node')
    } catch (error) {
      failures.push(error)
    }
    try {
      return require('agent-context-win32-x64-msvc')
    } catch (error) {
      failures.push(error)
    }
  } else if (target === 'win32-arm64-msvc') {
    try {
      return require('./agent-context.win32-arm64-msvc.node')
    } catch (error) {
      failures.push(error)
    }
    try {
      return require('agent-context-win32-arm64-msvc')
    } catch (error) {
      failures.push(error)
    }
  }
  throw addonError(target, failures, require.resolve)
}
