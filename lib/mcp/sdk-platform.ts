/**
 * In place of the part of `@modelcontextprotocol/server` that depends on the platform, when the server is bundled: without the
 * validator of JSON Schema, a quarter of the bundle. The SDK checks answers of users to its own questions with it; this server asks
 * none, and its tools check their arguments themselves.
 */

export { default as process } from 'node:process'

export class DefaultJsonSchemaValidator {
  getValidator(): never {
    throw new Error('this server has no validator of JSON Schema: it asks its clients for nothing')
  }
}
