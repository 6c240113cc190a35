/** Determines media types by file extensions, and whether a file is read as text or as bytes. */

const BINARY: readonly (readonly [mediaType: string, ...endings: string[]])[] = [
  ['image/png', 'png'],
  ['image/jpeg', 'jpg', 'jpeg'],
  ['image/gif', 'gif'],
  ['image/webp', 'webp'],
  ['image/heic', 'heic'],
  ['image/heif', 'heif'],
  ['audio/mpeg', 'mp3'],
  ['audio/wav', 'wav'],
  ['audio/aiff', 'aiff'],
  ['audio/aac', 'aac'],
  ['audio/ogg', 'ogg'],
  ['audio/flac', 'flac'],
  ['video/mp4', 'mp4'],
  ['video/webm', 'webm'],
  ['video/mpeg', 'mpeg', 'mpg'],
  ['video/quicktime', 'mov'],
  ['video/x-msvideo', 'avi'],
  ['video/x-flv', 'flv'],
  ['video/x-ms-wmv', 'wmv'],
  ['video/3gpp', '3gpp'],
  ['application/pdf', 'pdf'],
  ['application/vnd.ms-powerpoint', 'ppt'],
  ['application/vnd.openxmlformats-officedocument.presentationml.presentation', 'pptx'],
]
const TEXT: typeof BINARY = [
  ['image/svg+xml', 'svg'],
  ['text/markdown', 'md', 'markdown'],
  ['text/html', 'html', 'htm'],
  ['text/css', 'css'],
  ['text/csv', 'csv'],
  ['text/xml', 'xml'],
  ['application/json', 'json'],
  ['application/javascript', 'js', 'mjs', 'cjs'],
]
const byEnding = (table: typeof BINARY) =>
  new Map(table.flatMap(([mediaType, ...endings]) => endings.map((ending) => [ending, mediaType] as const)))
const binary = byEnding(BINARY)
const text = byEnding(TEXT)

/** The media type of a path. A path that ends with `/` has no extension. */
export function mediaTypeOf(path: string): { mimeType: string; isText: boolean } {
  const name = path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1)
  const dot = name.lastIndexOf('.')
  const ending = dot > 0 ? name.slice(dot + 1).toLowerCase() : ''
  const mimeType = binary.get(ending)
  return mimeType === undefined
    ? { mimeType: text.get(ending) ?? 'text/plain', isText: true }
    : { mimeType, isText: false }
}
