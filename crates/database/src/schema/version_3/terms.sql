-- Terms of documents, a cache written by searches, so that a full-text index narrows the next ones. `lengths` has the number of terms in
-- each field, `length` their sum. A lexeme is a term behind the tag of its collection.
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
-- A short list of pending entries: searches read all of it.
CREATE INDEX document_terms_terms ON {schema}.document_terms USING gin (terms) WITH (gin_pending_list_limit = 256);
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
-- `file` is the id of the file. A row goes with its file, also if the file is removed while the row is being added. Statistics are
-- read from the index by directory.
CREATE TABLE {schema}.file_terms (
  file uuid PRIMARY KEY REFERENCES {schema}.file (id) ON DELETE CASCADE,
  directory text COLLATE "C" NOT NULL,
  created bigint NOT NULL,
  length integer NOT NULL,
  lengths integer[] NOT NULL,
  terms tsvector NOT NULL
);
CREATE INDEX file_terms_directory ON {schema}.file_terms (directory, created) INCLUDE (length, lengths);
CREATE INDEX file_terms_terms ON {schema}.file_terms USING gin (terms) WITH (gin_pending_list_limit = 256);
-- The part of a file that its terms are of: 0 none, because it is of another kind, 1 the beginning, 2 all; null if it is unknown, as it
-- is when the file is written. Files whose terms are unknown are found by an index of these files, however many others there are.
ALTER TABLE {schema}.file ADD COLUMN coverage smallint;
CREATE INDEX file_without_terms ON {schema}.file (directory, created) WHERE coverage IS NULL AND name LIKE '%.json';
CREATE INDEX file_partly_covered ON {schema}.file (directory, created) WHERE coverage = 1;
