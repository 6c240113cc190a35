-- The items of state stores.
-- A store's changes are numbered while its row is locked, until they are committed: no change becomes visible after one with
-- a greater number.
CREATE TABLE {schema}.document_store (
  store uuid PRIMARY KEY,
  name text NOT NULL,
  identity bigint NOT NULL,
  sequence bigint NOT NULL,
  forgotten bigint NOT NULL
);
-- The latest write of each writer: a write that is repeated after a lost answer finds its own number here.
CREATE TABLE {schema}.document_writer (
  store uuid NOT NULL,
  writer uuid NOT NULL,
  n bigint NOT NULL,
  before bigint NOT NULL,
  at bigint NOT NULL,
  PRIMARY KEY (store, writer)
);
-- The value is null if it is in chunks, and the media type empty if there is none.
CREATE TABLE {schema}.document (
  store uuid NOT NULL,
  namespace bytea NOT NULL,
  key bytea NOT NULL,
  sequence bigint NOT NULL,
  nonce bigint NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  expires_at bigint,
  kind bigint NOT NULL,
  media_type bytea NOT NULL,
  length bigint NOT NULL,
  value bytea,
  PRIMARY KEY (store, namespace, key)
);
CREATE INDEX document_sequence ON {schema}.document (store, sequence);
CREATE INDEX document_expiry ON {schema}.document (store, expires_at) WHERE expires_at IS NOT NULL;
CREATE TABLE {schema}.document_chunk (
  store uuid NOT NULL,
  sequence bigint NOT NULL,
  n bigint NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (store, sequence, n)
);
CREATE TABLE {schema}.document_change (
  store uuid NOT NULL,
  sequence bigint NOT NULL,
  nonce bigint NOT NULL,
  type bigint NOT NULL,
  namespace bytea NOT NULL,
  key bytea NOT NULL,
  at bigint NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (store, sequence)
);
