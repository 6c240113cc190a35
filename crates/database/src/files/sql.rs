//! The statements. Each is repeatable: see the keys in the crate's documentation.

/// The server's time in µs since 1970. Not the time of the transaction: a statement that waited for another decides by the
/// time after that.
macro_rules! now {
    () => {
        "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
    };
}
pub(super) use now;

/// How long a process owns its locks after its last heartbeat, in µs.
macro_rules! lease {
    () => {
        "6000000"
    };
}

/// The rows of files that `gone` removed. Their objects are removed later: see [`COLLECT`].
macro_rules! rows_of_gone {
    () => {
        "gone_parts AS (DELETE FROM {schema}.part WHERE file IN (SELECT id FROM gone)),
        gone_locks AS (DELETE FROM {schema}.lock WHERE file IN (SELECT id FROM gone)),
        gone_blobs AS (UPDATE {schema}.blob SET state = 2 WHERE id IN (SELECT blob FROM gone))"
    };
}

/// The object of a new file in `$7`, or null. Its row is locked, so that it is used or collected, never both.
macro_rules! uploaded {
    () => {
        "uploaded AS (SELECT id FROM {schema}.blob WHERE id = $7 AND state = 0 FOR UPDATE)"
    };
}

/// Notes that the file that was made has the object.
macro_rules! used {
    () => {
        "used AS (UPDATE {schema}.blob SET state = 1, upload = NULL WHERE id = $7 AND EXISTS (SELECT 1 FROM made))"
    };
}

/// Creates a file whose name is free: id, directory, name, length, the starts and bytes of its parts, and the object with all
/// of its contents, or null.
pub const CREATE: &str = concat!(
    "WITH ",
    uploaded!(),
    ", made AS (
        INSERT INTO {schema}.file (id, directory, name, length, created, modified, version, blob, blob_length)
        SELECT $1, $2, $3, $4, ",
    now!(),
    ", ",
    now!(),
    ", 0, $7, CASE WHEN $7::uuid IS NULL THEN 0 ELSE $4 END
        WHERE $7::uuid IS NULL OR EXISTS (SELECT 1 FROM uploaded)
        ON CONFLICT DO NOTHING RETURNING id
    ), ",
    used!(),
    ", added AS (
        INSERT INTO {schema}.part (file, start, bytes)
        SELECT $1, part.start, part.bytes FROM made, unnest($5, $6) AS part (start, bytes)
    )
    SELECT EXISTS (SELECT 1 FROM made)"
);

/// Creates a file, or replaces the one with its name: parameters as in [`CREATE`].
pub const REPLACE: &str = concat!(
    "WITH ",
    uploaded!(),
    ", gone AS (
        DELETE FROM {schema}.file WHERE directory = $2 AND name = $3 AND id <> $1
            AND ($7::uuid IS NULL OR EXISTS (SELECT 1 FROM uploaded)) RETURNING id, blob
    ), ",
    rows_of_gone!(),
    ", made AS (
        INSERT INTO {schema}.file (id, directory, name, length, created, modified, version, blob, blob_length)
        SELECT $1, $2, $3, $4, ",
    now!(),
    ", ",
    now!(),
    ", 0, $7, CASE WHEN $7::uuid IS NULL THEN 0 ELSE $4 END FROM (SELECT count(*) FROM gone) AS done
        WHERE NOT EXISTS (SELECT 1 FROM {schema}.file WHERE id = $1)
            AND ($7::uuid IS NULL OR EXISTS (SELECT 1 FROM uploaded)) RETURNING id
    ), ",
    used!(),
    ", added AS (
        INSERT INTO {schema}.part (file, start, bytes)
        SELECT $1, part.start, part.bytes FROM made, unnest($5, $6) AS part (start, bytes)
    )
    SELECT id, blob FROM gone"
);

/// Adds parts to an unfinished file: id, starts and bytes.
pub const ADD_PARTS: &str = "INSERT INTO {schema}.part (file, start, bytes)
    SELECT $1, part.start, part.bytes FROM unnest($2, $3) AS part (start, bytes) ON CONFLICT DO NOTHING";

/// Removes unfinished files of processes that ended: their directory, and the age in µs.
pub const REMOVE_UNFINISHED: &str = concat!(
    "WITH gone AS (
        DELETE FROM {schema}.file WHERE directory = $1 AND modified < ",
    now!(),
    " - $2 RETURNING id, blob
    ), ",
    rows_of_gone!(),
    " SELECT id, blob FROM gone"
);

/// The id of the file with a name.
pub const FIND: &str = "SELECT id FROM {schema}.file WHERE directory = $1 AND name = $2";

/// Gives a file, by its id, a directory and a name that must be free.
pub const RENAME_NEW: &str =
    "UPDATE {schema}.file SET directory = $2, name = $3, version = version + 1
    WHERE id = $1 AND NOT EXISTS
        (SELECT 1 FROM {schema}.file WHERE directory = $2 AND name = $3 AND id <> $1)
    RETURNING id";

/// Gives a file, by its id, a directory and a name, whose file is removed.
pub const RENAME_OVER: &str = concat!(
    "WITH gone AS (
        DELETE FROM {schema}.file WHERE directory = $2 AND name = $3 AND id <> $1 RETURNING id, blob
    ), ",
    rows_of_gone!(),
    ", renamed AS (
        UPDATE {schema}.file SET directory = $2, name = $3, version = version + 1
        FROM (SELECT count(*) FROM gone) AS done WHERE id = $1 RETURNING id
    )
    SELECT EXISTS (SELECT 1 FROM renamed), (SELECT min(id::text) FROM gone), EXISTS (SELECT 1 FROM gone WHERE blob IS NOT NULL)"
);

/// Removes the file with a name.
pub const REMOVE: &str = concat!(
    "WITH gone AS (DELETE FROM {schema}.file WHERE directory = $1 AND name = $2 RETURNING id, blob), ",
    rows_of_gone!(),
    " SELECT id, blob FROM gone"
);

/// The beginnings of files of one directory: its path, their names, the limit.
pub const READ: &str = "SELECT file.name, file.id, file.length, part.start,
        substring(part.bytes FROM 1 FOR ($3 - part.start)::int), file.blob, file.blob_length
    FROM {schema}.file AS file
    LEFT JOIN {schema}.part AS part ON part.file = file.id AND part.start < $3
    WHERE file.directory = $1 AND file.name = ANY($2) ORDER BY file.name, part.start";

/// A range of a file, by its id: offset, end, and the offset less the longest part.
pub const READ_RANGE: &str = "SELECT greatest(part.start, $2),
        substring(part.bytes FROM (greatest($2 - part.start, 0) + 1)::int
            FOR ($3 - greatest(part.start, $2))::int), file.blob, file.blob_length
    FROM {schema}.file AS file
    LEFT JOIN {schema}.part AS part ON part.file = file.id AND part.start < $3 AND part.start > $4
    WHERE file.id = $1 ORDER BY part.start";

/// As [`READ_RANGE`], by directory and name, which are the last parameters.
pub const READ_RANGE_OF: &str = "SELECT greatest(part.start, $1),
        substring(part.bytes FROM (greatest($1 - part.start, 0) + 1)::int
            FOR ($2 - greatest(part.start, $1))::int), file.blob, file.blob_length
    FROM {schema}.file AS file
    LEFT JOIN {schema}.part AS part ON part.file = file.id AND part.start < $2 AND part.start > $3
    WHERE file.directory = $4 AND file.name = $5 ORDER BY part.start";

/// The files of a directory, and the time.
pub const LIST: &str = concat!(
    "SELECT name, id, length, modified, version, ",
    now!(),
    "
    FROM {schema}.file WHERE directory = $1 ORDER BY name"
);

/// The files of a directory whose names are in ranges, and the time, with the first bytes of those that fit into a bound
/// together: directory, the ranges' first names and the names after their ends, the limit for each, and the bound.
pub const LIST_BEGINNINGS: &str = concat!(
    "SELECT file.name, file.id, file.length, file.modified, file.version, ",
    now!(),
    ", substring(part.bytes FROM 1 FOR $4::int)
    FROM (
        SELECT found.*, sum(least(found.length, $4)) OVER (ORDER BY found.name) AS total
        FROM {schema}.file AS found, unnest($2, $3) AS wanted (low, high)
        WHERE found.directory = $1 AND found.name >= wanted.low AND found.name < wanted.high
    ) AS file
    LEFT JOIN {schema}.part AS part ON part.file = file.id AND part.start = 0 AND file.total <= $5
    ORDER BY file.name"
);

/// The names of the files of a directory.
pub const NAMES: &str = "SELECT name FROM {schema}.file WHERE directory = $1";

/// One file of a directory.
pub const ENTRY: &str = concat!(
    "SELECT name, id, length, modified, version, ",
    now!(),
    "
    FROM {schema}.file WHERE directory = $1 AND name = $2"
);

/// The names of the directories in a directory: the first path in it, the path after the last one in it, and the number of
/// the first character after the directory and its `/`.
pub const DIRECTORIES: &str = "SELECT DISTINCT split_part(substr(directory, $3::int), '/', 1)
    FROM {schema}.file WHERE directory >= $1 AND directory < $2";

/// The files of a directory, and, with a length of null, its directories: as [`LIST`] and [`DIRECTORIES`].
pub const CHILDREN: &str = concat!(
    "SELECT name, id, length, modified, version, ",
    now!(),
    " FROM {schema}.file WHERE directory = $4
    UNION ALL
    SELECT found.name, null::uuid, null::bigint, null::bigint, null::bigint, ",
    now!(),
    "
    FROM (SELECT DISTINCT split_part(substr(directory, $3::int), '/', 1) AS name
        FROM {schema}.file WHERE directory >= $1 AND directory < $2) AS found
    ORDER BY 1"
);

/// Whether a directory has any file, at any depth: parameters as those of [`CHILDREN`].
pub const HAS_DIRECTORY: &str = "SELECT EXISTS (SELECT 1 FROM {schema}.file
    WHERE directory = $4 OR (directory >= $1 AND directory < $2))";

/// Opens a file for appending, and creates it if it is missing: a new id, directory and name.
pub const OPEN: &str = concat!(
    "WITH made AS (
        INSERT INTO {schema}.file (id, directory, name, length, created, modified, version)
        VALUES ($1, $2, $3, 0, ",
    now!(),
    ", ",
    now!(),
    ", 0) ON CONFLICT DO NOTHING RETURNING id
    )
    SELECT id FROM made UNION ALL SELECT id FROM {schema}.file WHERE directory = $2 AND name = $3"
);

/// The length, the directory and the name of a file.
pub const STATUS: &str = "SELECT length, directory, name FROM {schema}.file WHERE id = $1";

/// The lock under which a file is changed, which must still be there: its token in `$2`, or null. No other process can take
/// the lock before the statement ends.
macro_rules! fenced {
    () => {
        "fence AS (SELECT token FROM {schema}.lock WHERE file = $1 AND token = $2 FOR KEY SHARE)"
    };
}

/// Appends to a file: id, token of its lock or null, the operation's id, the number of bytes, and the starts and bytes of
/// the parts. The server serialises appends of several processes.
pub const APPEND: &str = concat!(
    "WITH done AS (SELECT start FROM {schema}.part WHERE file = $1 AND operation = $3), ", fenced!(), ", grown AS (
        UPDATE {schema}.file SET length = length + $4, modified = ", now!(), ", version = version + 1
        WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM done) AND ($2::uuid IS NULL OR EXISTS (SELECT 1 FROM fence))
        RETURNING length
    ), added AS (
        INSERT INTO {schema}.part (file, start, operation, bytes)
        SELECT $1, grown.length - $4 + part.start, CASE WHEN part.start = 0 THEN $3 END, part.bytes
        FROM grown, unnest($5, $6) AS part (start, bytes)
    )
    SELECT EXISTS (SELECT 1 FROM grown) OR EXISTS (SELECT 1 FROM done),
        $2::uuid IS NULL OR EXISTS (SELECT 1 FROM fence),
        EXISTS (SELECT 1 FROM {schema}.file WHERE id = $1)"
);

/// Cuts a file: id, token of its lock or null, length. Results as those of [`APPEND`].
pub const TRUNCATE: &str = concat!(
    "WITH ",
    fenced!(),
    ", cut AS (
        UPDATE {schema}.file SET length = $3, blob_length = least(blob_length, $3), modified = ",
    now!(),
    ", version = version + 1
        WHERE id = $1 AND ($2::uuid IS NULL OR EXISTS (SELECT 1 FROM fence)) RETURNING id
    ), gone AS (
        DELETE FROM {schema}.part WHERE file IN (SELECT id FROM cut) AND start >= $3
    ), shortened AS (
        UPDATE {schema}.part SET bytes = substring(bytes FROM 1 FOR ($3 - start)::int)
        WHERE file IN (SELECT id FROM cut) AND start < $3 AND start + length(bytes) > $3
    )
    SELECT EXISTS (SELECT 1 FROM cut), $2::uuid IS NULL OR EXISTS (SELECT 1 FROM fence),
        EXISTS (SELECT 1 FROM {schema}.file WHERE id = $1)"
);

/// Tries to lock a file: its id, a new token, and the owner, which is created if it is new.
pub const LOCK: &str = concat!(
    "WITH new_owner AS (
        INSERT INTO {schema}.lock_owner (id, until) VALUES ($3, ",
    now!(),
    " + ",
    lease!(),
    ")
        ON CONFLICT DO NOTHING RETURNING id
    ), known_owner AS (
        SELECT id FROM {schema}.lock_owner WHERE id = $3 AND until > ",
    now!(),
    " FOR KEY SHARE
    ), owner AS (SELECT id FROM new_owner UNION ALL SELECT id FROM known_owner
    ), taken AS (
        INSERT INTO {schema}.lock (file, token, owner) SELECT $1, $2, id FROM owner
        ON CONFLICT DO NOTHING RETURNING file
    )
    SELECT EXISTS (SELECT 1 FROM taken), EXISTS (SELECT 1 FROM owner), held.token, held.owner,
        coalesce(holder.until > ",
    now!(),
    ", false), file.directory, file.name
    FROM (SELECT 1) AS one
    LEFT JOIN {schema}.lock AS held ON held.file = $1
    LEFT JOIN {schema}.lock_owner AS holder ON holder.id = held.owner
    LEFT JOIN {schema}.file AS file ON file.id = $1"
);

/// Creates a file that is locked from the beginning: id, directory, name, bytes, token, and the owner, which is created if it is
/// new. Returns whether there is an owner, and the token of the file's lock.
pub const CREATE_LOCKED: &str = concat!(
    "WITH new_owner AS (
        INSERT INTO {schema}.lock_owner (id, until) VALUES ($6, ",
    now!(),
    " + ",
    lease!(),
    ")
        ON CONFLICT DO NOTHING RETURNING id
    ), known_owner AS (
        SELECT id FROM {schema}.lock_owner WHERE id = $6 AND until > ",
    now!(),
    " FOR KEY SHARE
    ), owner AS (SELECT id FROM new_owner UNION ALL SELECT id FROM known_owner
    ), made AS (
        INSERT INTO {schema}.file (id, directory, name, length, created, modified, version)
        SELECT $1, $2, $3, length($4), ",
    now!(),
    ", ",
    now!(),
    ", 0 FROM owner ON CONFLICT DO NOTHING RETURNING id
    ), added AS (
        INSERT INTO {schema}.part (file, start, bytes) SELECT id, 0, $4 FROM made
    ), taken AS (
        INSERT INTO {schema}.lock (file, token, owner) SELECT made.id, $5, owner.id FROM made, owner
        RETURNING token
    )
    SELECT EXISTS (SELECT 1 FROM owner),
        coalesce((SELECT token FROM taken), (SELECT token FROM {schema}.lock WHERE file = $1))"
);

/// Frees the lock of a file if its owner has not sent a heartbeat for too long: file and owner. An owner that is removed here
/// cannot be extended any more, so that it and its heartbeat exclude each other.
pub const EXPIRE: &str = concat!(
    "WITH ended AS (
        DELETE FROM {schema}.lock_owner WHERE id = $2 AND until <= ", now!(), " RETURNING id
    )
    DELETE FROM {schema}.lock WHERE file = $1 AND owner = $2
        AND (EXISTS (SELECT 1 FROM ended) OR NOT EXISTS (SELECT 1 FROM {schema}.lock_owner WHERE id = $2))"
);

/// Frees a lock: file and token.
pub const UNLOCK: &str = "DELETE FROM {schema}.lock WHERE file = $1 AND token = $2";

/// Frees locks of an owner: its id and their tokens.
pub const FREE: &str = "DELETE FROM {schema}.lock WHERE owner = $1 AND token = ANY($2)";

/// Extends the owner's locks, and returns them with the names of their files. Also removes owners that ended an hour ago.
pub const BEAT: &str = concat!(
    "WITH extended AS (
        UPDATE {schema}.lock_owner SET until = ",
    now!(),
    " + ",
    lease!(),
    "
        WHERE id = $1 AND until > ",
    now!(),
    " RETURNING id
    ), ended AS (
        DELETE FROM {schema}.lock_owner WHERE until < ",
    now!(),
    " - 3600000000
    )
    SELECT EXISTS (SELECT 1 FROM extended), held.token, file.directory, file.name
    FROM (SELECT 1) AS one
    LEFT JOIN {schema}.lock AS held ON held.owner = $1
    LEFT JOIN {schema}.file AS file ON file.id = held.file"
);

/// Notes an object before its upload begins: its id, and the bucket and the prefix.
pub const BEGIN_UPLOAD: &str = concat!(
    "INSERT INTO {schema}.blob (id, place, state, created) VALUES ($1, $2, 0, ",
    now!(),
    ") ON CONFLICT DO NOTHING"
);

/// Notes the id of an upload in parts: the object's id, and that of the upload.
pub const NOTE_UPLOAD: &str = "UPDATE {schema}.blob SET upload = $2 WHERE id = $1 AND state = 0";

/// Gives up an upload: the object's id.
pub const GIVE_UP_UPLOAD: &str = "UPDATE {schema}.blob SET state = 2 WHERE id = $1 AND state = 0";

/// The objects that are to be removed, with the ids of their uploads, and those whose upload never ended: the bucket and the prefix,
/// the age of such an upload in µs, the most objects.
pub const COLLECT: &str = concat!(
    "WITH abandoned AS (
        UPDATE {schema}.blob SET state = 2 WHERE place = $1 AND state = 0 AND created < ",
    now!(),
    " - $2 RETURNING id, upload
    )
    SELECT id, upload FROM abandoned
    UNION SELECT id, upload FROM {schema}.blob WHERE place = $1 AND state = 2 LIMIT $3"
);

/// Forgets objects that were removed: their ids.
pub const FORGET: &str = "DELETE FROM {schema}.blob WHERE id = ANY($1) AND state = 2";

/// The bucket and the prefix of an object that a file has: its id.
pub const PLACE_OF_BLOB: &str = "SELECT blob.place FROM {schema}.file AS file
    JOIN {schema}.blob AS blob ON blob.id = file.blob WHERE file.blob = $1";
