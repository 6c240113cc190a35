-- Terms of documents, a cache written by searches, so that a full-text index narrows the next ones. `lengths` has the number of terms in
-- each field, `length` their sum. A lexeme is a term behind the tag of its collection. Not compressed, because only the index reads them.
CREATE TABLE {schema}.document_terms (
  store uuid NOT NULL,
  namespace bytea NOT NULL,
  key bytea NOT NULL,
  sequence bigint NOT NULL,
  expires_at bigint,
  length integer NOT NULL,
  lengths integer[] NOT NULL,
  terms tsvector NOT NULL,
  PRIMARY KEY (store, namespace, key)
);
CREATE INDEX document_terms_terms ON {schema}.document_terms USING gin (terms);
-- Below a prefix, the items that changes from `above` to `latest` wrote have their terms in the table, unless they were written again. The
-- statistics are those of the change `counted`.
CREATE TABLE {schema}.document_terms_extent (
  store uuid NOT NULL,
  prefix bytea NOT NULL,
  above bigint NOT NULL,
  latest bigint NOT NULL,
  counted bigint NOT NULL,
  documents bigint NOT NULL,
  tokens bigint[] NOT NULL,
  filled bigint[] NOT NULL,
  PRIMARY KEY (store, prefix)
);
-- `file` is the id of the file, which differs after it was replaced.
CREATE TABLE {schema}.file_terms (
  file uuid PRIMARY KEY,
  directory text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  length integer NOT NULL,
  lengths integer[] NOT NULL,
  terms tsvector NOT NULL
);
CREATE INDEX file_terms_directory ON {schema}.file_terms (directory, name);
CREATE INDEX file_terms_terms ON {schema}.file_terms USING gin (terms);
