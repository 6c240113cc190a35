CREATE TABLE {schema}.entry (
  namespace text NOT NULL,
  lane uuid NOT NULL,
  n bigint NOT NULL,
  at bigint NOT NULL,
  operation text,
  line bytea NOT NULL,
  PRIMARY KEY (namespace, lane, n)
);
CREATE INDEX entry_order ON {schema}.entry (namespace, at, lane, n);
