//! Files on a real server: the contract of every disk, locks of processes that end, and lost connections. Two `Database`s with
//! different settings share nothing, as in processes of their own.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "functions of this file are parts of one test"
)]

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use database::{Database, Intent, Parameters, Settings, SettingsOptions};
use postgres_test_server::{Proxy, Server, Stop};
use simulator::contract;
use storage::{
    Access, Disk, FileLock, FileSystem, Lease, Liveness, LockAttempt, Payload, live_sessions,
};

/// The lease of an owner on the server.
const LEASE: Duration = Duration::from_secs(6);

/// A process of its own.
struct Process {
    database: Arc<Database>,
    files: Arc<dyn FileSystem>,
    disk: Arc<dyn Disk>,
}

fn process(url: &str) -> Process {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let timeout = Duration::from_millis(20_000 + NUMBER.fetch_add(1, Ordering::Relaxed));
    let options = SettingsOptions { timeout: Some(timeout), ..SettingsOptions::default() };
    let database = Database::open(Settings::parse(url, options).unwrap());
    let files = database::file_system(&database, None);
    let disk = files.disk().unwrap();
    Process { database, files, disk }
}

impl Process {
    fn requests(&self) -> u64 {
        self.database.statistics().requests
    }

    /// The number of rows of a table.
    async fn rows(&self, table: &str) -> i64 {
        let sql = format!("SELECT count(*) FROM {{schema}}.{table}");
        let rows = self.database.statement(Intent::Read, &sql, &Parameters::new()).await;
        rows.unwrap()[0].get(0)
    }

    async fn write(&self, path: &str, contents: &[u8]) -> storage::FileResult<bool> {
        self.files.create_unnamed(Path::new(path), Payload::new(contents.to_vec()), false).await
    }

    async fn read(&self, path: &str) -> Vec<u8> {
        let relative = Path::new(path.strip_prefix('/').unwrap());
        self.files.read(Path::new("/"), relative, u64::MAX).await.unwrap().bytes
    }
}

/// One server for all tests of this file: starting one takes seconds.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_real_server() {
    let Some(server) = Server::start() else { return };
    a_database_does_what_every_disk_does(&server).await;
    small_files_cost_one_statement(&server).await;
    files_are_replaced_in_one_step(&server).await;
    ranges_are_read_without_the_rest(&server).await;
    many_files_are_read_at_once(&server).await;
    locks_exclude_other_processes_and_are_kept(&server).await;
    a_dead_owner_loses_its_lock_and_cannot_write(&server).await;
    first_locks_at_once_are_all_held(&server).await;
    heartbeats_that_take_long_keep_locks(&server).await;
    a_lock_that_took_long_is_held(&server).await;
    locks_whose_answers_were_lost_are_freed(&server).await;
    leases_protect_sessions(&server).await;
    cut_connections_lose_and_double_nothing(&server).await;
    a_restart_loses_nothing(&server).await;
}

async fn a_database_does_what_every_disk_does(server: &Server) {
    let process = process(&server.url());
    contract::check(&process.disk, Path::new("/contract"));
    assert!(!process.files.has_directory(Path::new("/none")).await.unwrap());
    assert!(process.files.has_directory(Path::new("/contract")).await.unwrap());
    assert_eq!(process.rows("lock").await, 0, "all locks were freed");
    let orphans =
        "SELECT count(*) FROM {schema}.part WHERE file NOT IN (SELECT id FROM {schema}.file)";
    let rows = process.database.statement(Intent::Read, orphans, &Parameters::new()).await;
    assert_eq!(rows.unwrap()[0].get::<_, i64>(0), 0);
}

async fn small_files_cost_one_statement(server: &Server) {
    let process = process(&server.url());
    process.rows("file").await;
    let before = process.requests();
    process.write("/small/x", &[b'x'; 1000]).await.unwrap();
    process.write("/small/y", &[b'x'; 500_000]).await.unwrap();
    assert_eq!(process.requests() - before, 2);
    assert_eq!(process.read("/small/x").await.len(), 1000);
    assert_eq!(process.files.list(Path::new("/small")).await.unwrap().len(), 2);
    assert_eq!(process.requests() - before, 4);
    let log = process.disk.open(Path::new("/small/log"), Access::Append).unwrap();
    let before = process.requests();
    assert!(log.is_linked());
    log.append(b"a line\n").unwrap();
    assert_eq!(process.requests() - before, 1);
}

async fn files_are_replaced_in_one_step(server: &Server) {
    let process = process(&server.url());
    let path = Path::new("/replaced/x");
    for contents in [vec![b'1'; 10], vec![b'2'; 3_000_000], vec![b'3'; 5]] {
        let replaced = process.files.replace(path, Payload::new(contents.clone()), true).await;
        assert!(replaced.unwrap());
        assert_eq!(process.read("/replaced/x").await, contents);
    }
    assert_eq!(process.files.list(Path::new("/replaced")).await.unwrap().len(), 1);
    let writers: Vec<_> = (0..8_u8)
        .map(|number| {
            let files = Arc::clone(&process.files);
            tokio::spawn(async move {
                files.replace(path, Payload::new(vec![number; 1000]), true).await
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap().unwrap();
    }
    let contents = process.read("/replaced/x").await;
    assert!(contents.len() == 1000 && contents.iter().all(|byte| *byte == contents[0]));
}

async fn ranges_are_read_without_the_rest(server: &Server) {
    let proxy = Proxy::to(server.port()).unwrap();
    let process = process(&server.url_at(proxy.port()));
    let long = vec![7; 20_000_000];
    process.write("/long/x", &long).await.unwrap();
    let before = proxy.answered();
    let head = process.files.read(Path::new("/long"), Path::new("x"), 16_384).await.unwrap();
    assert_eq!((head.bytes.len(), head.length), (16_384, 20_000_000));
    let file = process.disk.open(Path::new("/long/x"), Access::Read).unwrap();
    let mut buffer = vec![0; 32_768];
    assert_eq!(file.read_at(10_000_000, &mut buffer).unwrap(), 32_768);
    let answered = proxy.answered() - before;
    assert!((49_152..1_100_000).contains(&answered), "{answered} bytes");
}

async fn many_files_are_read_at_once(server: &Server) {
    let process = process(&server.url());
    let mut names = vec!["missing".to_owned()];
    for number in 0..200 {
        let name = format!("{number}.json");
        process.write(&format!("/many/{name}"), &vec![b'x'; number * 10]).await.unwrap();
        names.push(name);
    }
    let before = process.requests();
    let read = process.files.read_many(Path::new("/many"), &names, 100).await.unwrap().unwrap();
    assert_eq!(process.requests() - before, 1);
    assert!(read[0].is_none());
    for (number, contents) in read[1..].iter().enumerate() {
        let contents = contents.as_ref().unwrap();
        assert_eq!(contents.length, number as u64 * 10);
        assert_eq!(contents.bytes.len(), (number * 10).min(100));
    }
}

async fn locks_exclude_other_processes_and_are_kept(server: &Server) {
    let (one, other) = (process(&server.url()), process(&server.url()));
    let path = Path::new("/locks/x.lock");
    let lock = |process: &Process| Arc::new(FileLock::new(Arc::clone(&process.disk), path.into()));
    let (first, second) = (lock(&one), lock(&other));
    let guard = first.try_acquire().unwrap().unwrap();
    assert!(guard.is_exclusive());
    tokio::time::sleep(LEASE + Duration::from_secs(2)).await;
    assert!(second.try_acquire().unwrap().is_none(), "the heartbeat keeps it");
    let before = other.requests();
    let waiting = tokio::spawn(async move {
        second.acquire(Instant::now() + Duration::from_secs(20)).await.is_ok()
    });
    tokio::time::sleep(Duration::from_millis(500)).await;
    drop(guard);
    assert!(waiting.await.unwrap());
    let attempts = other.requests() - before;
    assert!(attempts < 1000, "{attempts} attempts");
}

async fn a_dead_owner_loses_its_lock_and_cannot_write(server: &Server) {
    let proxy = Proxy::to(server.port()).unwrap();
    let (dead, living) = (process(&server.url_at(proxy.port())), process(&server.url()));
    let path = Path::new("/dead/log");
    let own = dead.disk.open(path, Access::Append).unwrap();
    assert_eq!(own.try_lock().unwrap(), LockAttempt::Taken);
    own.append(b"before\n").unwrap();
    let other = living.disk.open(path, Access::Append).unwrap();
    assert_eq!(other.try_lock().unwrap(), LockAttempt::Held);
    proxy.set_refuses(true);
    proxy.cut();
    let deadline = Instant::now() + 3 * LEASE;
    while other.try_lock().unwrap() == LockAttempt::Held {
        assert!(Instant::now() < deadline, "the lock is never free");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    other.append(b"other\n").unwrap();
    proxy.set_refuses(false);
    let refused = own.append(b"late\n").unwrap_err();
    assert!(refused.to_string().contains("another process"), "{refused}");
    assert!(own.truncate(0).is_err() && !own.is_linked() && !own.keeps_lock());
    assert_eq!(living.read("/dead/log").await, b"before\nother\n");
    other.unlock();
    assert_eq!(own.try_lock().unwrap(), LockAttempt::Taken);
    own.append(b"again\n").unwrap();
    assert!(own.is_linked() && own.is_at(path));
}

async fn first_locks_at_once_are_all_held(server: &Server) {
    for round in 0..20 {
        let process = process(&server.url());
        let take = |number: usize| {
            let disk = Arc::clone(&process.disk);
            tokio::task::spawn_blocking(move || {
                let path = format!("/first/{round}/{number}.lock");
                let own = disk.open(Path::new(&path), Access::Append).unwrap();
                (own.try_lock().unwrap(), own)
            })
        };
        let taking: Vec<_> = (0..4).map(take).collect();
        let mut taken = Vec::new();
        for task in taking {
            taken.push(task.await.unwrap());
        }
        for (attempt, own) in &taken {
            assert_eq!(*attempt, LockAttempt::Taken);
            assert!(own.keeps_lock(), "round {round}");
        }
    }
}

async fn heartbeats_that_take_long_keep_locks(server: &Server) {
    let proxy = Proxy::to(server.port()).unwrap();
    let (slow, other) = (process(&server.url_at(proxy.port())), process(&server.url()));
    let path = Path::new("/slow/log");
    let own = slow.disk.open(path, Access::Append).unwrap();
    assert_eq!(own.try_lock().unwrap(), LockAttempt::Taken);
    // An answer takes longer than the pause between two heartbeats.
    proxy.set_delay(Duration::from_millis(800));
    tokio::time::sleep(2 * LEASE).await;
    let again = other.disk.open(path, Access::Append).unwrap();
    assert_eq!(again.try_lock().unwrap(), LockAttempt::Held);
    proxy.set_delay(Duration::ZERO);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(own.keeps_lock());
}

async fn a_lock_that_took_long_is_held(server: &Server) {
    let proxy = Proxy::to(server.port()).unwrap();
    let slow = process(&server.url_at(proxy.port()));
    let own = slow.disk.open(Path::new("/slow/x.lock"), Access::Append).unwrap();
    proxy.set_refuses(true);
    proxy.cut();
    let taking = tokio::task::spawn_blocking(move || (own.try_lock(), own));
    tokio::time::sleep(LEASE).await;
    proxy.set_refuses(false);
    let (taken, own) = taking.await.unwrap();
    assert_eq!(taken.unwrap(), LockAttempt::Taken);
    assert!(own.keeps_lock());
}

async fn locks_whose_answers_were_lost_are_freed(server: &Server) {
    let (proxy, other) = (Proxy::to(server.port()).unwrap(), process(&server.url()));
    let timeout = Some(Duration::from_millis(1999));
    let options = SettingsOptions { timeout, ..SettingsOptions::default() };
    let settings = Settings::parse(&server.url_at(proxy.port()), options).unwrap();
    let one = database::file_system(&Database::open(settings), None).disk().unwrap();
    let lock = |disk: &Arc<dyn Disk>, name: &str| {
        FileLock::new(Arc::clone(disk), format!("/lost/{name}.lock").into())
    };
    // Heartbeats run while this one is held.
    let kept = lock(&one, "kept");
    let _guard = kept.try_acquire().unwrap().unwrap();
    let freed = lock(&one, "freed").try_acquire().unwrap().unwrap();
    let taken = one.open(Path::new("/lost/taken.lock"), Access::Append).unwrap();
    proxy.set_swallows(true);
    assert!(taken.try_lock().is_err(), "the answer is lost");
    drop(freed);
    proxy.set_swallows(false);
    proxy.cut();
    for name in ["taken", "freed"] {
        let waiting = Instant::now();
        while lock(&other.disk, name).try_acquire().unwrap().is_none() {
            assert!(waiting.elapsed() < Duration::from_secs(60), "{name} stays locked");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    assert!(kept.is_kept());
}

async fn leases_protect_sessions(server: &Server) {
    let (one, other) = (process(&server.url()), process(&server.url()));
    let directory = Path::new("/leases");
    let mut lease = Lease::acquire(&one.disk, directory, ["a"].into_iter()).unwrap();
    lease.begin("b").unwrap();
    let before = one.requests();
    assert!((0..100).all(|_| lease.is_in_place()));
    assert!(one.requests() - before <= 1, "is_in_place asks the server only in heartbeats");
    let live = live_sessions(other.disk.as_ref(), directory, false).unwrap();
    assert_eq!(live.liveness("a"), Liveness::Alive);
    assert_eq!((live.liveness("b"), live.liveness("c")), (Liveness::Alive, Liveness::Over));
    lease.release();
    let live = live_sessions(other.disk.as_ref(), directory, false).unwrap();
    assert_eq!(live.liveness("a"), Liveness::Over);
    // Of a process that ends without a word.
    let proxy = Proxy::to(server.port()).unwrap();
    let dead = process(&server.url_at(proxy.port()));
    let lease = Lease::acquire(&dead.disk, directory, ["d"].into_iter()).unwrap();
    proxy.set_refuses(true);
    proxy.cut();
    let is_alive = || {
        let live = live_sessions(other.disk.as_ref(), directory, false).unwrap();
        live.liveness("d") == Liveness::Alive
    };
    assert!(is_alive());
    tokio::time::sleep(LEASE + Duration::from_secs(1)).await;
    assert!(!is_alive());
    assert!(other.disk.names(directory).unwrap().is_empty(), "the lease was removed");
    proxy.set_refuses(false);
    assert!(!lease.is_in_place());
}

async fn cut_connections_lose_and_double_nothing(server: &Server) {
    let proxy = Proxy::to(server.port()).unwrap();
    let process = process(&server.url_at(proxy.port()));
    process.rows("file").await;
    let cutting = proxy.clone();
    let database = Arc::clone(&process.database);
    let cutter = tokio::spawn(async move {
        let mut round = 0;
        while round < 20 || database.statistics().retries <= 5 {
            // Statements are carried out, and their answers are lost.
            cutting.set_swallows(round % 2 == 0);
            // On a busy machine, few connections carry a statement after so short a time.
            let pause = if round < 20 { 60 } else { 500 };
            tokio::time::sleep(Duration::from_millis(pause)).await;
            cutting.cut();
            round += 1;
        }
        cutting.set_swallows(false);
        cutting.cut();
    });
    let log = Arc::new(process.disk.open(Path::new("/cut/log"), Access::Append).unwrap());
    let mut number = 0;
    while !cutter.is_finished() || number <= 5 {
        let name = format!("/cut/{number:04}");
        process.write(&name, name.as_bytes()).await.unwrap();
        let temporary = process.files.replace(
            Path::new("/cut/replaced"),
            Payload::new(name.clone().into_bytes()),
            false,
        );
        assert!(temporary.await.unwrap());
        log.append(format!("{number:04}\n").as_bytes()).unwrap();
        process.disk.rename_new(Path::new(&name), Path::new(&format!("{name}.json"))).unwrap();
        number += 1;
    }
    cutter.await.unwrap();
    assert!(process.database.statistics().retries > 5);
    let expected: String = (0..number).map(|number| format!("{number:04}\n")).collect();
    assert_eq!(String::from_utf8(process.read("/cut/log").await).unwrap(), expected);
    let names = process.disk.names(Path::new("/cut")).unwrap();
    assert_eq!(names.len(), number + 2);
    assert_eq!(process.read("/cut/replaced").await, format!("/cut/{:04}", number - 1).as_bytes());
}

async fn a_restart_loses_nothing(server: &Server) {
    let process = process(&server.url());
    let lock = Arc::new(FileLock::new(Arc::clone(&process.disk), "/restart/x.lock".into()));
    let guard = lock.try_acquire().unwrap().unwrap();
    process.write("/restart/before", b"before").await.unwrap();
    server.stop(Stop::Immediate).unwrap();
    let files = Arc::clone(&process.files);
    let waiting = tokio::spawn(async move {
        let contents = Payload::new(b"meanwhile".to_vec());
        files.create_unnamed(Path::new("/restart/meanwhile"), contents, false).await
    });
    server.run().unwrap();
    waiting.await.unwrap().unwrap();
    assert_eq!(process.read("/restart/before").await, b"before");
    assert_eq!(process.read("/restart/meanwhile").await, b"meanwhile");
    drop(guard);
    assert!(lock.try_acquire().unwrap().is_some());
}
