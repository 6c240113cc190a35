/** The names of the options of embeddings, by which `known-options.ts` recognises unknown options. */

import { knownOptions, type Names } from '../arguments/known-options.ts'
import type { Embedder, EmbedOptions } from './types.ts'

export const EMBEDDING: Names<EmbedOptions> = { embed: true, embedTimeout: true }

export const embedderOptions = knownOptions<Embedder>('Embedder', { model: true, embed: true })
