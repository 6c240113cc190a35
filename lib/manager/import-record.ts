/** `importRecord`: stores the files of an output of another directory. */

import { isUint8Array } from 'node:util/types'
import type { NativeManager } from '#addon'
import { checkBoolean, checkObject, checkText, optional, readSignal } from '../arguments/checks.ts'
import { invalidArgument } from '../arguments/errors.ts'
import { cancellable, type Hooks } from '../native/border.ts'
import { reportRedaction } from '../redaction/redaction.ts'
import { contextFiles, importRecordOptions } from './option-names.ts'
import type { ContextFiles, ImportedRecord, ImportRecordOptions } from './types.ts'

export async function importRecord(
  hooks: Hooks,
  native: NativeManager,
  files: ContextFiles,
  options: ImportRecordOptions | null | undefined,
): Promise<ImportedRecord> {
  const { filename, record, bytes } = contextFiles(checkObject(files, 'files'), 'files')
  checkText(filename, 'files.filename')
  checkText(record, 'files.record')
  const beside = optional(bytes, 'files.bytes', checkBytes)
  const given = optional(options, 'options', importRecordOptions) ?? {}
  const isDryRun = optional(given.dryRun, 'options.dryRun', checkBoolean) ?? false
  hooks.redaction?.redactor.refresh()
  const imported = await cancellable(
    hooks,
    native,
    readSignal(given),
    (operation) => native.importRecord(operation, filename, record, beside, isDryRun),
    (text) => JSON.parse(text) as ImportedRecord,
  )
  const { filepath, isNew, redactions } = imported
  if (isNew && !isDryRun && redactions.length > 0) {
    reportRedaction(hooks.redaction, { kind: 'context', filepath, findings: redactions })
  }
  return imported
}

function checkBytes(bytes: Uint8Array, name: string): Uint8Array {
  if (!isUint8Array(bytes)) {
    throw invalidArgument(name, 'a Uint8Array', bytes)
  }
  return bytes
}
