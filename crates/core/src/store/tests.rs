use std::{fs, path::Path, sync::Mutex, time::SystemTime};

use serde_json::{Value, json};
use storage::{LocalDisk, layout};

use super::*;

const DAY: i64 = 24 * 60 * 60 * 1000;

fn options(directory: &Path) -> StoreOptions {
    StoreOptions {
        directory: directory.to_owned(),
        agent: "code-reviewer".to_owned(),
        session_id: "a1b2".to_owned(),
        has_session_directory: false,
        durability: Durability::Process,
        lock_timeout: Duration::from_secs(20),
        max_entry_bytes: 1 << 20,
        trust: crate::safety::Trust::default(),
    }
}

fn with(options: StoreOptions) -> Arc<Store> {
    let disk: Arc<dyn FileSystem> = Arc::new(LocalDisk);
    Store::new(options, &disk, Debug::default())
}

fn store_in(directory: &Path) -> Arc<Store> {
    with(options(directory))
}

fn draft(slug: &str, content: &str) -> Draft {
    Draft {
        entry_type: EntryType::Finding,
        slug: slug.to_owned(),
        content: content.to_owned(),
        tags: vec!["security".to_owned()],
        links: Vec::new(),
    }
}

async fn write(store: &Arc<Store>, slug: &str, content: &str) -> Entry {
    store.write(draft(slug, content), None).await.unwrap().stored
}

async fn update(store: &Arc<Store>, path: &str, description: &str) -> Result<Entry> {
    let update =
        Update { path: path.to_owned(), description: description.to_owned(), ..Update::default() };
    store.update(update, None).await.map(|changed| changed.stored)
}

async fn supersede(store: &Arc<Store>, path: &str) -> Result<Superseded> {
    let supersession = Supersession {
        path: path.to_owned(),
        replacement: draft("better", "It is worse."),
        reason: "measured again".to_owned(),
    };
    store.supersede(supersession, None).await.map(|changed| changed.stored)
}

fn filter() -> Filter {
    Filter { limit: 1000, ..Filter::default() }
}

fn names_in(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

#[tokio::test]
async fn nothing_is_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    let tasks: Vec<_> = (0..40)
        .map(|number| {
            let store = Arc::clone(&store);
            tokio::spawn(async move { write(&store, "Same Name", &number.to_string()).await })
        })
        .collect();
    let mut contents = Vec::new();
    for task in tasks {
        let entry = task.await.unwrap();
        assert!(entry.summary.path.contains("-same-name"), "{}", entry.summary.path);
        assert_eq!(store.read(&entry.summary.path).await.unwrap(), entry);
        contents.push(entry.content.parse::<u32>().unwrap());
    }
    contents.sort_unstable();
    assert_eq!(contents, (0..40).collect::<Vec<_>>());
    assert_eq!(names_in(&folder.path().join("code-reviewer")).len(), 40);
}

#[tokio::test]
async fn changes_at_once_are_all_there() {
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (store_in(folder.path()), {
        let agent = "code-fixer".to_owned();
        with(StoreOptions { agent, ..options(folder.path()) })
    });
    let path = write(&one, "auth", "It is open.").await.summary.path;
    let tasks: Vec<_> = (0..50)
        .map(|number| {
            let store = Arc::clone(if number % 2 == 0 { &one } else { &other });
            let update = Update {
                path: path.clone(),
                description: format!("change {number}"),
                add_tags: vec![format!("tag-{number}")],
                links: vec![format!("a/{number}.md")],
                ..Update::default()
            };
            tokio::spawn(async move { store.update(update, None).await.unwrap() })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let entry = one.read(&path).await.unwrap();
    assert_eq!((entry.changelog.len(), entry.summary.tags.len()), (50, 51));
    assert_eq!(entry.summary.links.len(), 50);
    assert_eq!(entry.content, "It is open.");
    let by_other = entry.changelog.iter().filter(|change| change.agent == "code-fixer").count();
    assert_eq!(by_other, 25);
}

#[tokio::test]
async fn a_change_of_a_stale_revision_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    let Entry { summary, revision, .. } = write(&store, "auth", "It is open.").await;
    let change = |if_revision: &str| Update {
        path: summary.path.clone(),
        description: "closed".to_owned(),
        content: Some("It is closed.".to_owned()),
        if_revision: Some(if_revision.to_owned()),
        ..Update::default()
    };
    let changed = store.update(change(&revision), None).await.unwrap().stored;
    assert_ne!(changed.revision, revision);
    let stale = store.update(change(&revision), None).await.unwrap_err();
    assert_eq!(stale.code, Code::Conflict);
    assert!(stale.message.contains(&changed.revision), "{stale}");
    assert_eq!(store.read(&summary.path).await.unwrap(), changed);
}

#[tokio::test]
async fn superseding_links_both_ways() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    let old = write(&store, "auth", "It is bad.").await.summary.path;
    let Superseded { old: marked, replacement } = supersede(&store, &old).await.unwrap();
    assert_eq!(replacement.summary.links, [old.as_str()]);
    assert_eq!(marked.summary.links, [replacement.summary.path.as_str()]);
    assert_eq!(marked.summary.superseded_by.as_ref(), Some(&replacement.summary.path));
    assert_eq!(marked.content, "It is bad.");
    assert!(marked.changelog[0].description.ends_with(": measured again"), "{marked:?}");
    assert_eq!(names_in(folder.path()), [".context-store.lock", "code-reviewer"]);
    let current = Filter { superseded: Some(false), ..filter() };
    assert_eq!(store.search(&current, None).await.unwrap(), [replacement]);
}

fn journal(replacement: &str, revision: &str, old: &str) -> String {
    let change = json!({
        "timestamp": "2026-02-21T16:00:00Z",
        "agent": "summarizer",
        "description": format!("Marked as superseded, see {replacement}: why\nnot "),
    });
    json!({ "replacement": replacement, "revision": revision, "old": old, "change": change })
        .to_string()
}

#[tokio::test]
async fn what_was_interrupted_is_completed_by_whoever_reads() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    let old = write(&store, "auth", "It is bad.").await.summary.path;
    let new = write(&store, "better", "It is worse.").await;
    let path = folder.path().join(names_of_journal());
    fs::write(&path, journal(&new.summary.path, &new.revision, &old)).unwrap();
    let marked = store.read(&old).await.unwrap();
    assert_eq!(marked.summary.superseded_by, Some(new.summary.path.clone()));
    assert_eq!(marked.summary.links, [new.summary.path.as_str()]);
    assert!(!path.exists());
    // A journal that reappears after a power failure changes nothing.
    fs::write(&path, journal(&new.summary.path, &new.revision, &old)).unwrap();
    assert_eq!(store.search(&filter(), None).await.unwrap().len(), 2);
    assert_eq!(store.read(&old).await.unwrap(), marked);
    assert!(!path.exists());
}

fn names_of_journal() -> &'static str {
    storage::layout::STORE_JOURNAL
}

#[tokio::test]
async fn what_did_not_begin_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    let entry = write(&store, "auth", "It is bad.").await;
    let old = entry.summary.path.as_str();
    let path = folder.path().join(names_of_journal());
    fs::write(folder.path().join("outside.md"), "x").unwrap();
    for text in [
        journal("code-reviewer/20260221T160000-better.md", &entry.revision, old),
        journal("../outside.md", &entry.revision, old),
        journal(old, "0000000000000000", old),
        journal(old, &entry.revision, "../../outside.md"),
        "{\"replacement\":".to_owned(),
        String::new(),
        "\0\0\0\0".to_owned(),
    ] {
        fs::write(&path, &text).unwrap();
        let read = store.read(old).await;
        assert_eq!(read.unwrap(), entry, "{text}");
        assert!(!path.exists(), "{text}");
    }
    assert_eq!(update(&store, old, "later").await.unwrap().changelog.len(), 1);
}

#[tokio::test]
async fn directories_that_differ_in_case_alone_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    write(&store_in(folder.path()), "auth", "x").await;
    let agent = "Code-Reviewer".to_owned();
    let other = with(StoreOptions { agent, ..options(folder.path()) });
    let refused = other.write(draft("auth", "y"), None).await.unwrap_err();
    assert_eq!(refused.code, Code::Conflict);
    assert!(refused.message.contains("code-reviewer"), "{refused}");
    assert_eq!(names_in(folder.path()), ["code-reviewer"]);
}

#[cfg(unix)]
#[tokio::test]
async fn symbolic_links_lead_nowhere() {
    use std::os::unix::fs::symlink;
    let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = store_in(folder.path());
    let entry = write(&store_in(outside.path()), "auth", "secret").await;
    let name = entry.summary.path.split('/').next_back().unwrap();
    symlink(outside.path().join("code-reviewer"), folder.path().join("code-reviewer")).unwrap();
    let refused = store.write(draft("auth", "x"), None).await.unwrap_err();
    assert_eq!(refused.code, Code::OutsideDirectory);
    let path = format!("code-reviewer/{name}");
    assert_eq!(store.read(&path).await.unwrap_err().code, Code::OutsideDirectory);
    assert_eq!(update(&store, &path, "x").await.unwrap_err().code, Code::OutsideDirectory);
    fs::create_dir(folder.path().join("fixer")).unwrap();
    symlink(outside.path().join(&entry.summary.path), folder.path().join("fixer/a.md")).unwrap();
    assert_eq!(store.read("fixer/a.md").await.unwrap_err().code, Code::OutsideDirectory);
    assert_eq!(update(&store, "fixer/a.md", "x").await.unwrap_err().code, Code::OutsideDirectory);
    assert!(store.search(&filter(), None).await.unwrap().is_empty());
    assert_eq!(names_in(&outside.path().join("code-reviewer")), [name]);
}

#[tokio::test]
async fn a_store_that_is_not_there_is_empty_and_stays_so() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("store");
    let store = store_in(&directory);
    assert!(store.search(&filter(), None).await.unwrap().is_empty());
    assert!(store.list(&filter()).await.unwrap().is_empty());
    assert_eq!(store.verify().await.unwrap().entries, 0);
    assert_eq!(store.read("a/b.md").await.unwrap_err().code, Code::NotFound);
    assert_eq!(update(&store, "a/b.md", "x").await.unwrap_err().code, Code::NotFound);
    assert_eq!(supersede(&store, "a/b.md").await.unwrap_err().code, Code::NotFound);
    store.close().await;
    assert!(!directory.exists());
}

#[tokio::test]
async fn a_broken_file_hides_no_other() {
    let folder = tempfile::tempdir().unwrap();
    // A file that others can read would be reported as well.
    #[cfg(unix)]
    fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o700))
        .unwrap();
    let told = Arc::new(Mutex::new(Vec::<Value>::new()));
    let heard = Arc::clone(&told);
    let disk: Arc<dyn FileSystem> = Arc::new(LocalDisk);
    let debug = Debug::new(move |_, data| heard.lock().unwrap().push(data));
    let store = Store::new(options(folder.path()), &disk, debug);
    let entry = write(&store, "auth", "It is open.").await;
    let broken = folder.path().join("code-reviewer/20260221T143022-broken.md");
    fs::write(&broken, "---\nagent: x\ntype: opinion\n---\nText\n").unwrap();
    assert_eq!(store.search(&filter(), None).await.unwrap(), [entry]);
    let report = store.verify().await.unwrap();
    assert_eq!(report.problems.len(), 1);
    assert_eq!(report.problems[0].problem.line, 3);
    let error = store.read("code-reviewer/20260221T143022-broken.md").await.unwrap_err();
    assert_eq!(error.code, Code::Corrupt);
    assert!(error.message.contains("20260221T143022-broken.md, line 3: "), "{error}");
    assert_eq!(told.lock().unwrap().len(), 1, "told once");
    // The file is not changed either.
    let path = "code-reviewer/20260221T143022-broken.md";
    assert_eq!(update(&store, path, "x").await.unwrap_err().code, Code::Corrupt);
    assert!(fs::read_to_string(&broken).unwrap().ends_with("Text\n"));
}

/// Writes an entry as another program would, `days` days old.
fn plant(folder: &Path, path: &str, days: i64, links: &[&str]) {
    let time = time::iso(time::whole_seconds(time::now()) - days * DAY);
    let (agent, _) = path.split_once('/').unwrap();
    let links = json!(links);
    let text = format!(
        "---\nagent: {agent}\nsessionId: s\ntimestamp: {time}\ntype: finding\ntags: []\nlinks: {links}\n---\n\nText\n"
    );
    let file = folder.join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

fn policy() -> Policy {
    Policy { now: time::now(), older_than: 30 * DAY, ..Policy::default() }
}

fn name(number: u32) -> String {
    format!("a/20260221T1430{number:02}-x.md")
}

#[tokio::test]
async fn housekeeping_removes_what_nobody_needs() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    plant(folder.path(), &name(1), 40, &[]);
    plant(folder.path(), &name(2), 40, &[&name(3)]);
    plant(folder.path(), &name(3), 50, &[]);
    plant(folder.path(), &name(4), 1, &[&name(2)]);
    plant(folder.path(), "b/20260221T143005-x.md", 40, &[]);
    plant(folder.path(), "a/notes.md", 400, &[]);
    fs::write(folder.path().join("a/20200101T000000-broken.md"), "no front matter").unwrap();
    fs::write(folder.path().join("a/readme.txt"), "mine").unwrap();

    let all = store.plan_housekeeping(&policy()).await.unwrap();
    let paths = |plan: &HousekeepingPlan| -> Vec<String> {
        plan.expired.iter().map(|expired| expired.path.clone()).collect()
    };
    assert_eq!(paths(&all), [name(1), "b/20260221T143005-x.md".to_owned()]);
    assert_eq!(all.kept_linked, [name(2), name(3)]);
    let told = Policy { include_linked: true, ..policy() };
    assert_eq!(paths(&store.plan_housekeeping(&told).await.unwrap()).len(), 4);
    let patient = Policy { retention: [("b".to_owned(), 90 * DAY)].into(), ..policy() };
    assert_eq!(paths(&store.plan_housekeeping(&patient).await.unwrap()), [name(1)]);
    let one = Policy { agents: Some(vec!["b".to_owned()]), ..policy() };
    assert_eq!(paths(&store.plan_housekeeping(&one).await.unwrap()), ["b/20260221T143005-x.md"]);

    // One of them is changed in between, and links to another.
    update(&store, &name(1), "still true").await.unwrap();
    plant(folder.path(), "b/20260221T143006-x.md", 40, &[]);
    let linking = Update {
        path: name(4),
        description: "linked".to_owned(),
        links: vec!["b/20260221T143006-x.md".to_owned()],
        ..Update::default()
    };
    store.update(linking, None).await.unwrap();
    let linked = ["b/20260221T143006-x.md".to_owned()];
    assert_eq!(store.remove_expired(&policy(), &linked).await.unwrap().kept, linked);
    let removal = store.remove_expired(&policy(), &paths(&all)).await.unwrap();
    assert_eq!(removal.removed, ["b/20260221T143005-x.md"]);
    assert_eq!(removal.kept, [name(1)]);
    assert_eq!(names_in(&folder.path().join("a")).len(), 7);
    assert_eq!(names_in(&folder.path().join("b")), ["20260221T143006-x.md"]);
    assert_eq!(store.search(&filter(), None).await.unwrap().len(), 6);
    for path in ["a/notes.md", "a/20200101T000000-broken.md", "a/20260221T143004-x.md"] {
        let removal = store.remove_expired(&policy(), &[path.to_owned()]).await.unwrap();
        assert_eq!(removal.kept, [path], "nothing asked for is removed that is not over");
    }
}

/// Creates a temporary file that was last changed `age` ago.
fn left(directory: &Path, place: &str, age: Duration) -> PathBuf {
    let path = directory.join(place);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "half").unwrap();
    let file = fs::File::options().append(true).open(&path).unwrap();
    file.set_modified(SystemTime::now() - age).unwrap();
    path
}

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn leftovers_are_removed_from_all_directories_where_nothing_expires() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    let entry = layout::replacement("20260221T143001-x.md");
    let journal = layout::replacement(layout::STORE_JOURNAL);
    let places = [
        journal,
        entry.clone(),
        format!("a/{entry}"),
        format!("a/s1/{entry}"),
        format!("b/{entry}"),
    ];
    let old = places.each_ref().map(|place| left(folder.path(), place, 61 * MINUTE));
    let deep = left(folder.path(), &format!("a/s1/deep/{entry}"), 61 * MINUTE);
    store.remove_leftovers().await.unwrap();
    assert!(old.iter().all(|path| !path.exists()));
    assert!(deep.exists(), "no entry can be there");
    let young = places.map(|place| left(folder.path(), &place, 59 * MINUTE));
    store.remove_leftovers().await.unwrap();
    assert!(young.iter().all(|path| path.exists()), "their writers may live");
    assert!(store_in(&folder.path().join("missing")).remove_leftovers().await.is_ok());
}

#[tokio::test]
async fn the_first_change_in_a_directory_removes_leftovers_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&store_in(folder.path()), "auth", "x").await.summary.path;
    let entry = layout::replacement("20260221T143001-x.md");
    let index = left(folder.path(), &layout::replacement(layout::STORE_INDEX), 61 * MINUTE);
    let beside = left(folder.path(), &format!("code-reviewer/{entry}"), 61 * MINUTE);
    let elsewhere = left(folder.path(), &format!("other/{entry}"), 61 * MINUTE);
    let store = store_in(folder.path());
    update(&store, &path, "changed").await.unwrap();
    assert!(!index.exists() && !beside.exists() && elsewhere.exists());
    let later = left(folder.path(), &format!("code-reviewer/{entry}"), 61 * MINUTE);
    update(&store, &path, "changed again").await.unwrap();
    assert!(later.exists(), "a directory is listed once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_in_flight_take_effect_in_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    for round in 0..50 {
        let path = write(&store, &format!("entry {round}"), "x").await.summary.path;
        let change = |number: usize| Update {
            path: path.clone(),
            description: number.to_string(),
            content: Some("x ".repeat(2000 / (number + 1))),
            ..Update::default()
        };
        let updates: Vec<_> = (0..6).map(|number| store.update(change(number), None)).collect();
        let writes: Vec<_> = (0..6)
            .map(|number| store.write(draft(&format!("new {round}"), &number.to_string()), None))
            .collect();
        // Polled in the reverse order of the calls.
        let writes: Vec<_> = writes.into_iter().rev().map(tokio::spawn).collect();
        let updates: Vec<_> = updates.into_iter().rev().map(tokio::spawn).collect();
        for task in updates {
            task.await.unwrap().unwrap();
        }
        let mut written = Vec::new();
        for task in writes {
            written.push(task.await.unwrap().unwrap().stored);
        }
        let changes = store.read(&path).await.unwrap().changelog;
        let said: Vec<&str> = changes.iter().map(|change| change.description.as_str()).collect();
        assert_eq!(said, ["0", "1", "2", "3", "4", "5"]);
        written.sort_by_key(|entry| {
            let name = entry.summary.path.trim_end_matches(".md").to_owned();
            (name.len(), name)
        });
        let contents: Vec<&str> = written.iter().map(|entry| entry.content.trim()).collect();
        assert_eq!(contents, ["0", "1", "2", "3", "4", "5"]);
    }
}

#[tokio::test]
async fn what_is_too_large_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let store = with(StoreOptions { max_entry_bytes: 400, ..options(folder.path()) });
    let refused = store.write(draft("auth", &"x".repeat(400)), None).await.unwrap_err();
    assert_eq!(refused.code, Code::TooLarge);
    let path = write(&store, "auth", &"x".repeat(100)).await.summary.path;
    let refused = update(&store, &path, &"y".repeat(300)).await.unwrap_err();
    assert_eq!(refused.code, Code::TooLarge);
    assert!(store.read(&path).await.unwrap().changelog.is_empty());
    fs::write(folder.path().join(&path), "z".repeat(401)).unwrap();
    assert_eq!(store.read(&path).await.unwrap_err().code, Code::TooLarge);
    assert!(store.search(&filter(), None).await.unwrap().is_empty());
}
