-- The entries of histories. `at` orders the entries of a namespace: microseconds since 1970 by the server's clock, times 1024, and
-- more than all that was committed before. `lane` and `n` are a writer's key, by which a repeated statement changes nothing:
-- a writer uses a number only after the outcome of those before it is known. The lane of zeros has the summaries of compactions.
-- Of a dropped entry with an operation, a record is kept, so that the operation stays known.
CREATE TABLE {schema}.entry (
  namespace text NOT NULL,
  lane uuid NOT NULL,
  n bigint NOT NULL,
  at bigint NOT NULL,
  operation text,
  tool text NOT NULL,
  success boolean NOT NULL,
  time bigint,
  line bytea NOT NULL,
  is_record boolean NOT NULL DEFAULT false,
  PRIMARY KEY (namespace, lane, n)
);
CREATE UNIQUE INDEX entry_order ON {schema}.entry (namespace, at) WHERE NOT is_record;
CREATE INDEX entry_record ON {schema}.entry (namespace, at) WHERE is_record;
CREATE UNIQUE INDEX entry_operation ON {schema}.entry (namespace, operation) WHERE operation IS NOT NULL;
