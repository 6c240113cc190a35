-- Contents of files in object storage. A row is written before the upload of its object begins and removed after the object, so that no
-- object is forgotten. `state` is 0 during the upload, 1 while a file has the object, and 2 if the object is to be removed. `upload` is the
-- id of a multipart upload.
CREATE TABLE {schema}.blob (
  id uuid PRIMARY KEY,
  place text NOT NULL,
  state bigint NOT NULL,
  created bigint NOT NULL,
  upload text
);
CREATE INDEX blob_unused ON {schema}.blob (place, created) WHERE state <> 1;
-- The first `blob_length` bytes of a file are in its object; what was appended later is in parts, and so is the beginning.
ALTER TABLE {schema}.file ADD COLUMN blob uuid;
ALTER TABLE {schema}.file ADD COLUMN blob_length bigint NOT NULL DEFAULT 0;
