//! Files with their contents in a bucket that loses requests and answers, on a real server.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use postgres_test_server::Server;
use simulator::contract;
use storage::{Access, Disk, FileError, FileSystem, Payload};

use super::file_system;
use crate::{
    blobs::{Blobs, tests::Faulty, tests::faulty},
    database::{Database, Intent},
    failure::{Failure, FailureKind},
    parameters::Parameters,
    settings::{Settings, SettingsOptions},
};

const LONG: usize = 300_000;

/// A process of its own.
struct Process {
    database: Arc<Database>,
    files: Arc<dyn FileSystem>,
    disk: Arc<dyn Disk>,
}

fn process(server: &Server, blobs: Option<&Arc<Blobs>>) -> Process {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let timeout = Duration::from_millis(20_000 + NUMBER.fetch_add(1, Ordering::Relaxed));
    let options = SettingsOptions { timeout: Some(timeout), ..SettingsOptions::default() };
    let database = Database::open(Settings::parse(&server.url(), options).unwrap());
    let files = file_system(&database, blobs);
    let disk = files.disk().unwrap();
    Process { database, files, disk }
}

impl Process {
    async fn sql(&self, sql: &str) -> Vec<tokio_postgres::Row> {
        self.database.statement(Intent::Read, sql, &Parameters::new()).await.unwrap()
    }

    async fn write(&self, path: &str, contents: Vec<u8>) -> storage::FileResult<bool> {
        self.files.create_unnamed(Path::new(path), Payload::new(contents), false).await
    }

    async fn read(&self, path: &str, limit: u64) -> storage::FileResult<Vec<u8>> {
        let relative = Path::new(path.strip_prefix('/').unwrap());
        Ok(self.files.read(Path::new("/"), relative, limit).await?.bytes)
    }
}

/// Waits until the bucket has this number of objects.
async fn has_objects(bucket: &Faulty, expected: usize) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while bucket.objects() != expected {
        assert!(Instant::now() < deadline, "{} objects, not {expected}", bucket.objects());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn bytes_of(length: usize) -> Vec<u8> {
    (0..length).map(|at| u8::try_from(at * 7 % 251).unwrap()).collect()
}

fn failure_of(error: &FileError) -> Failure {
    let storage::Origin::System(error) = &error.origin else { panic!("{error}") };
    let failure: Option<&Failure> = error.get_ref().and_then(|error| error.downcast_ref());
    failure.cloned().unwrap_or_else(|| panic!("{error}"))
}

/// One server for all tests of this file: starting one takes seconds.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_real_server() {
    let Some(server) = Server::start() else { return };
    a_bucket_does_what_every_disk_does(&server).await;
    long_contents_are_objects_and_their_ranges_are_read(&server).await;
    what_is_appended_or_cut_off_is_in_the_database(&server).await;
    objects_of_removed_files_are_removed(&server).await;
    contents_come_in_pieces(&server).await;
    lost_requests_lose_nothing_and_leave_no_garbage(&server).await;
    objects_that_cannot_be_read_are_reported(&server).await;
}

async fn a_bucket_does_what_every_disk_does(server: &Server) {
    let (_, blobs) = faulty();
    contract::check(&process(server, Some(&blobs)).disk, Path::new("/contract"));
}

async fn long_contents_are_objects_and_their_ranges_are_read(server: &Server) {
    let (bucket, blobs) = faulty();
    let process = process(server, Some(&blobs));
    let long = bytes_of(20_000_000);
    process.write("/long/short", bytes_of(256 * 1024)).await.unwrap();
    assert_eq!(bucket.objects(), 0);
    process.write("/long/x", long.clone()).await.unwrap();
    assert_eq!((bucket.objects(), bucket.uploads.load(Ordering::Relaxed)), (1, 0));
    let stored = process
        .sql(
            "SELECT sum(length(bytes))::bigint FROM {schema}.part
                WHERE file IN (SELECT id FROM {schema}.file WHERE directory = '/long')",
        )
        .await;
    assert_eq!(
        stored[0].get::<_, i64>(0),
        256 * 1024 + 16 * 1024,
        "the beginning is in the database"
    );
    // Lists need no request.
    let names = ["x".to_owned(), "short".to_owned()];
    let heads = process.files.read_many(Path::new("/long"), &names, 16_384).await.unwrap().unwrap();
    for head in heads.into_iter().flatten() {
        assert_eq!(head.bytes, long[..16_384]);
    }
    assert_eq!(process.read("/long/x", 10_000).await.unwrap(), long[..10_000]);
    assert_eq!(bucket.reads.load(Ordering::Relaxed), 0);
    let longer =
        process.files.read_many(Path::new("/long"), &names, 100_000).await.unwrap().unwrap();
    assert_eq!(longer[0].as_ref().unwrap().bytes, long[..100_000]);
    assert_eq!(process.read("/long/x", u64::MAX).await.unwrap(), long);
    let part = process.files.read_range(Path::new("/long"), Path::new("x"), 10_000..50_000).await;
    assert_eq!(part.unwrap().unwrap(), long[10_000..50_000]);
    let end =
        process.files.read_range(Path::new("/long"), Path::new("x"), 19_999_000..30_000_000).await;
    assert_eq!(end.unwrap().unwrap(), long[19_999_000..]);
    // A range, and then what follows it, in pieces.
    let file = process.disk.open(Path::new("/long/x"), Access::Read).unwrap();
    bucket.bytes_read.store(0, Ordering::Relaxed);
    bucket.reads.store(0, Ordering::Relaxed);
    let mut buffer = vec![0; 32_768];
    assert_eq!(file.read_at(10_000_000, &mut buffer).unwrap(), 32_768);
    assert_eq!(buffer, long[10_000_000..10_032_768]);
    assert_eq!(bucket.bytes_read.load(Ordering::Relaxed), 32_768);
    for piece in 1..=32 {
        let start = 10_000_000 + piece * 32_768;
        assert_eq!(file.read_at(start as u64, &mut buffer).unwrap(), 32_768);
        assert_eq!(buffer, long[start..start + 32_768]);
    }
    assert_eq!(bucket.reads.load(Ordering::Relaxed), 2, "what follows is read ahead");
    assert_eq!(file.read_at(19_999_990, &mut buffer).unwrap(), 10);
    assert_eq!(file.read_at(20_000_000, &mut buffer).unwrap(), 0);
}

async fn what_is_appended_or_cut_off_is_in_the_database(server: &Server) {
    let (bucket, blobs) = faulty();
    let process = process(server, Some(&blobs));
    let mut expected = bytes_of(LONG);
    process.write("/grown/x", expected.clone()).await.unwrap();
    let file = process.disk.open(Path::new("/grown/x"), Access::Append).unwrap();
    file.append(b"more").unwrap();
    expected.extend_from_slice(b"more");
    assert_eq!(process.read("/grown/x", u64::MAX).await.unwrap(), expected);
    file.truncate(200_000).unwrap();
    file.append(b"again").unwrap();
    expected.truncate(200_000);
    expected.extend_from_slice(b"again");
    assert_eq!(process.read("/grown/x", u64::MAX).await.unwrap(), expected);
    let mut buffer = [0; 10];
    assert_eq!(file.read_at(199_997, &mut buffer).unwrap(), 8);
    assert_eq!(buffer[..8], expected[199_997..]);
    file.truncate(100).unwrap();
    assert_eq!(process.read("/grown/x", u64::MAX).await.unwrap(), expected[..100]);
    process.disk.rename_new(Path::new("/grown/x"), Path::new("/grown/y")).unwrap();
    assert_eq!(process.read("/grown/y", u64::MAX).await.unwrap(), expected[..100]);
    assert_eq!(bucket.objects(), 1);
}

async fn objects_of_removed_files_are_removed(server: &Server) {
    let (bucket, blobs) = faulty();
    let process = process(server, Some(&blobs));
    let path = Path::new("/removed/x");
    for _ in 0..2 {
        process.files.replace(path, Payload::new(bytes_of(LONG)), false).await.unwrap();
    }
    has_objects(&bucket, 1).await;
    let taken = process.write("/removed/x", bytes_of(LONG)).await.unwrap_err();
    assert_eq!(taken.kind, std::io::ErrorKind::AlreadyExists);
    has_objects(&bucket, 1).await;
    process.write("/removed/y", bytes_of(LONG)).await.unwrap();
    process.disk.rename_over(Path::new("/removed/y"), path).unwrap();
    has_objects(&bucket, 1).await;
    // The bucket refuses: what is to be removed is kept in the database, and removed later.
    bucket.is_closed.store(true, Ordering::Relaxed);
    assert!(process.files.remove(path).await.unwrap());
    assert_eq!(
        process.read("/removed/x", 10).await.unwrap_err().kind,
        std::io::ErrorKind::NotFound
    );
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(bucket.objects(), 1);
    bucket.is_closed.store(false, Ordering::Relaxed);
    process.write("/removed/z", bytes_of(LONG)).await.unwrap();
    process.files.remove(Path::new("/removed/z")).await.unwrap();
    has_objects(&bucket, 0).await;
}

async fn contents_come_in_pieces(server: &Server) {
    let (bucket, blobs) = faulty();
    let process = process(server, Some(&blobs));
    for (number, length) in [10, LONG, 40_000_000].into_iter().enumerate() {
        let name = format!("/pieces/{number}");
        let contents = bytes_of(length);
        let written = contents.clone();
        let pieces: storage::Pieces =
            Box::new(move |write| written.chunks(1_000_000).try_for_each(write));
        process.disk.create_of_pieces(Path::new(&name), pieces).ok().unwrap().unwrap();
        assert_eq!(process.read(&name, u64::MAX).await.unwrap(), contents);
    }
    has_objects(&bucket, 2).await;
    let broken: storage::Pieces = Box::new(|write| {
        write(&bytes_of(30_000_000))?;
        write(&bytes_of(1))?;
        Err(super::refused("read", Path::new("/spool"), std::io::ErrorKind::UnexpectedEof))
    });
    let failed = process.disk.create_of_pieces(Path::new("/pieces/broken"), broken).ok().unwrap();
    assert_eq!(failed.unwrap_err().kind, std::io::ErrorKind::UnexpectedEof);
    has_objects(&bucket, 2).await;
    let deadline = Instant::now() + Duration::from_secs(10);
    while bucket.uploads.load(Ordering::Relaxed) > 0 {
        assert!(Instant::now() < deadline, "the upload was not aborted");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn lost_requests_lose_nothing_and_leave_no_garbage(server: &Server) {
    let (bucket, blobs) = faulty();
    let process = Arc::new(process(server, Some(&blobs)));
    bucket.is_faulty.store(true, Ordering::Relaxed);
    let writers: Vec<_> = (0..8)
        .map(|writer| {
            let process = Arc::clone(&process);
            tokio::spawn(async move {
                for number in 0..10 {
                    let name = format!("/faults/{writer}-{number}");
                    process.write(&name, bytes_of(LONG + writer * 10 + number)).await.unwrap();
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    process.write("/faults/long", bytes_of(30_000_000)).await.unwrap();
    for (writer, number) in (0..8).flat_map(|writer| (0..10).map(move |number| (writer, number))) {
        let name = format!("/faults/{writer}-{number}");
        let expected = bytes_of(LONG + writer * 10 + number);
        assert_eq!(process.read(&name, u64::MAX).await.unwrap(), expected);
    }
    assert_eq!(process.read("/faults/long", u64::MAX).await.unwrap().len(), 30_000_000);
    has_objects(&bucket, 81).await;
    // Uploads of processes that ended: one before its object was stored, one after.
    let place = blobs.place();
    let abandon = format!(
        "INSERT INTO {{schema}}.blob (id, place, state, created)
        VALUES (gen_random_uuid(), '{place}', 0, 0), ('00000000-0000-0000-0000-000000000001', '{place}', 0, 0)"
    );
    process.sql(&abandon).await;
    let left = blobs.path("agent_context", "00000000-0000-0000-0000-000000000001");
    blobs.put(&left, vec![1].into()).await.unwrap();
    for (writer, number) in (0..8).flat_map(|writer| (0..5).map(move |number| (writer, number))) {
        process.files.remove(Path::new(&format!("/faults/{writer}-{number}"))).await.unwrap();
    }
    has_objects(&bucket, 41).await;
    let unused = "SELECT count(*) FROM {schema}.blob WHERE state <> 1";
    let deadline = Instant::now() + Duration::from_secs(10);
    while process.sql(unused).await[0].get::<_, i64>(0) > 0 {
        assert!(Instant::now() < deadline, "rows of removed objects are left");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn objects_that_cannot_be_read_are_reported(server: &Server) {
    let (bucket, blobs) = faulty();
    let process = process(server, Some(&blobs));
    process.write("/unread/x", bytes_of(LONG)).await.unwrap();
    let without = self::process(server, None);
    assert_eq!(without.read("/unread/x", 1000).await.unwrap(), bytes_of(1000));
    let failure = failure_of(&without.read("/unread/x", u64::MAX).await.unwrap_err());
    assert_eq!(failure.kind, FailureKind::Unsupported);
    assert!(failure.message.contains("s3://bucket/prefix"), "{failure}");
    assert!(without.files.remove(Path::new("/unread/x")).await.unwrap());
    process.write("/unread/y", bytes_of(LONG)).await.unwrap();
    for name in bucket.names() {
        blobs.remove(name.as_ref()).await.unwrap();
    }
    let failure = failure_of(&process.read("/unread/y", u64::MAX).await.unwrap_err());
    assert!(failure.message.contains("is missing in s3://bucket"), "{failure}");
    assert_eq!(failure.kind, FailureKind::Unavailable);
}
