-- Files of the other stores: names, contents in parts, and locks. Times are microseconds since 1970 by the server's clock.
CREATE TABLE {schema}.file (
  directory text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  id uuid NOT NULL,
  length bigint NOT NULL,
  created bigint NOT NULL,
  modified bigint NOT NULL,
  version bigint NOT NULL,
  PRIMARY KEY (directory, name)
);
CREATE UNIQUE INDEX file_id ON {schema}.file (id);
CREATE TABLE {schema}.part (
  file uuid NOT NULL,
  start bigint NOT NULL,
  operation uuid,
  bytes bytea NOT NULL,
  PRIMARY KEY (file, start)
);
CREATE UNIQUE INDEX part_operation ON {schema}.part (file, operation) WHERE operation IS NOT NULL;
-- Not compressed, so that the server reads ranges of a part without the rest.
ALTER TABLE {schema}.part ALTER COLUMN bytes SET STORAGE EXTERNAL;
CREATE TABLE {schema}.lock_owner (
  id uuid PRIMARY KEY,
  until bigint NOT NULL
);
CREATE TABLE {schema}.lock (
  file uuid PRIMARY KEY,
  token uuid NOT NULL,
  owner uuid NOT NULL
);
CREATE INDEX lock_by_owner ON {schema}.lock (owner);
