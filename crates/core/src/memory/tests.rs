use std::{fs, path::Path};

use redaction::{EnvironmentValues, RedactionOptions, Redactor};
use serde_json::{Value, json};
use simulator::SimulatedDisk;
use storage::{LocalDisk, layout};

use super::*;
use crate::error::Code;

fn hash() -> String {
    "0123456789abcdef".repeat(4)
}

fn repository() -> Repository {
    Repository {
        workspace: "/work/tree".to_owned(),
        remote: Some("example.com/owner/name".to_owned()),
        branch: Some("main".to_owned()),
    }
}

fn memory_with(root: &Path, summaries: SummaryBounds) -> Arc<Memory> {
    let options = MemoryOptions {
        directory: directory_of(root, &hash()),
        prefix: None,
        repository: Some(repository()),
        workspace: None,
        durability: Durability::Process,
        lock_timeout: Duration::from_secs(20),
        summaries,
        trust: crate::safety::Trust::default(),
    };
    let disk: Arc<dyn FileSystem> = Arc::new(LocalDisk);
    Memory::new(options, &disk, Debug::default())
}

fn memory_in(root: &Path) -> Arc<Memory> {
    memory_with(root, SummaryBounds { entries: 100, bytes: 1 << 20 })
}

async fn upsert(memory: &Arc<Memory>, draft: Value) -> Result<Value> {
    let stored = memory.upsert(serde_json::from_value(draft).unwrap(), None).await?.stored;
    Ok(serde_json::from_str(&stored).unwrap())
}

async fn contents(memory: &Arc<Memory>) -> Value {
    serde_json::from_slice(&memory.contents().await.unwrap()).unwrap()
}

async fn append(memory: &Arc<Memory>, step: &str, text: &str) -> Result<Summary> {
    let summary = Summary {
        run_id: "run".to_owned(),
        step_id: step.to_owned(),
        timestamp: String::new(),
        summary: text.to_owned(),
        tags: None,
        operation_id: None,
    };
    Ok(memory.append_summary(summary, None).await?.stored)
}

fn file(memory: &Memory) -> PathBuf {
    memory.directory.memory()
}

#[tokio::test]
async fn records_are_written_for_people() {
    let root = tempfile::tempdir().unwrap();
    let memory = memory_in(root.path());
    let first = upsert(
        &memory,
        json!({ "kind": "convention", "title": " Tabs ", "content": "Use \"tabs\".\nAlways.", "tags": ["style", "style"] }),
    )
    .await
    .unwrap();
    let text = fs::read_to_string(file(&memory)).unwrap();
    let (id, time) = (first["id"].as_str().unwrap(), first["createdAt"].as_str().unwrap());
    let expected = format!(
        r#"{{
  "version": 1,
  "repository": {{"workspace":"/work/tree","remote":"example.com/owner/name","branch":"main"}},
  "conventions": [
    {{
      "id": "{id}",
      "title": "Tabs",
      "content": "Use \"tabs\".\nAlways.",
      "tags": ["style"],
      "createdAt": "{time}",
      "updatedAt": "{time}"
    }}
  ],
  "decisions": [],
  "notes": []
}}
"#
    );
    assert_eq!(text, expected);
    assert!(uuid::Uuid::try_parse(id).is_ok());
}

#[tokio::test]
async fn records_are_changed_by_id_and_conventions_by_title() {
    let root = tempfile::tempdir().unwrap();
    let memory = memory_in(root.path());
    let convention = |more: Value| {
        let mut draft = json!({ "kind": "convention" });
        draft.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        draft
    };
    let first =
        upsert(&memory, convention(json!({ "title": "T", "content": "one", "tags": ["a"] })))
            .await
            .unwrap();
    let again =
        upsert(&memory, convention(json!({ "title": "T", "content": "two" }))).await.unwrap();
    assert_eq!((&again["id"], &again["tags"]), (&first["id"], &first["tags"]));
    assert_eq!(again["createdAt"], first["createdAt"]);
    let renamed =
        upsert(&memory, convention(json!({ "id": first["id"], "title": "U" }))).await.unwrap();
    assert_eq!((&renamed["title"], &renamed["content"]), (&json!("U"), &json!("two")));
    let other = upsert(&memory, convention(json!({ "title": "T", "content": "x" }))).await.unwrap();
    assert_ne!(other["id"], first["id"]);
    let error = upsert(&memory, convention(json!({ "id": other["id"], "title": "U" }))).await;
    assert_eq!(error.unwrap_err().code, Code::Conflict);
    let error = upsert(&memory, convention(json!({ "title": "new" }))).await.unwrap_err();
    assert!(error.message.contains("content"), "{error}");
    let error =
        upsert(&memory, convention(json!({ "id": "no", "title": "new" }))).await.unwrap_err();
    assert_eq!(error.code, Code::InvalidArgument);
    // An id that the caller chose, in any spelling.
    let id = "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11";
    let note = json!({ "kind": "note", "id": id, "content": "n", "source": "agent" });
    let made = upsert(&memory, note).await.unwrap();
    assert_eq!(made["id"], id.to_lowercase());
    let note = json!({ "kind": "note", "id": id, "content": "m" });
    let made = upsert(&memory, note).await.unwrap();
    assert_eq!((&made["content"], &made["source"]), (&json!("m"), &json!("agent")));
    let decision =
        json!({ "kind": "decision", "summary": "s", "rationale": "r", "impactedPaths": ["a.ts"] });
    upsert(&memory, decision).await.unwrap();
    let all = contents(&memory).await;
    let lengths =
        ["conventions", "decisions", "notes"].map(|list| all[list].as_array().unwrap().len());
    assert_eq!(lengths, [2, 1, 1]);
    assert!(memory.remove(RecordKind::Note, id.to_owned(), None).await.unwrap());
    assert!(!memory.remove(RecordKind::Note, id.to_owned(), None).await.unwrap());
    assert!(!memory.remove(RecordKind::Note, other["id"].to_string(), None).await.unwrap());
    assert!(contents(&memory).await["notes"].as_array().unwrap().is_empty());
}

#[tokio::test]
async fn what_changes_nothing_writes_nothing() {
    let root = tempfile::tempdir().unwrap();
    let memory = memory_in(root.path());
    let draft = json!({ "kind": "convention", "title": "T", "content": "c" });
    let first = upsert(&memory, draft.clone()).await.unwrap();
    let before = fs::metadata(file(&memory)).unwrap().modified().unwrap();
    let again = upsert(&memory, draft).await.unwrap();
    assert_eq!(again, first);
    assert_eq!(fs::metadata(file(&memory)).unwrap().modified().unwrap(), before);
}

#[tokio::test]
async fn what_is_not_known_survives() {
    let root = tempfile::tempdir().unwrap();
    let memory = memory_in(root.path());
    fs::create_dir_all(file(&memory).parent().unwrap()).unwrap();
    let text = r#"{
  "version": 7,
  "x-plugin": { "a":   [1.10, 12345678901234567890123] },
  "repository": { "workspace": "/elsewhere", "fork": true },
  "conventions": [
    { "id": "7", "title": "T", "content": "c", "weight": 1.50 },
    "no record"
  ],
  "notes": [{ "id": "8" }]
}
"#;
    fs::write(file(&memory), format!("\u{feff}{text}")).unwrap();
    upsert(&memory, json!({ "kind": "convention", "title": "T", "content": "d" })).await.unwrap();
    let left = fs::read_to_string(file(&memory)).unwrap();
    for part in [
        "\"version\": 7,",
        r#""x-plugin": { "a":   [1.10, 12345678901234567890123] },"#,
        r#""fork":true"#,
        "\"workspace\":\"/work/tree\"",
        "\"weight\": 1.50",
        "\"no record\"",
        r#"{ "id": "8" }"#,
        "\"id\": \"7\"",
        "\"content\": \"d\"",
    ] {
        assert!(left.contains(part), "{part} is not in {left}");
    }
    let all = contents(&memory).await;
    assert_eq!(all["conventions"].as_array().unwrap().len(), 1);
    assert!(all["notes"].as_array().unwrap().is_empty());
}

#[tokio::test]
async fn a_broken_file_is_told_and_stays() {
    let root = tempfile::tempdir().unwrap();
    let memory = memory_in(root.path());
    fs::create_dir_all(file(&memory).parent().unwrap()).unwrap();
    for text in ["", "{", "[]", "{\"conventions\": {}}", "{\"notes\": [1,]}"] {
        fs::write(file(&memory), text).unwrap();
        let error = upsert(&memory, json!({ "kind": "note", "content": "n" })).await.unwrap_err();
        assert_eq!(error.code, Code::Corrupt, "{text}");
        assert!(error.message.contains(file(&memory).to_str().unwrap()), "{error}");
        assert_eq!(memory.contents().await.unwrap_err().code, Code::Corrupt);
        assert_eq!(fs::read_to_string(file(&memory)).unwrap(), text);
    }
}

#[tokio::test]
async fn changes_at_once_are_all_kept() {
    let root = tempfile::tempdir().unwrap();
    let memory = memory_in(root.path());
    let tasks: Vec<_> = (0..200)
        .map(|number| {
            let memory = Arc::clone(&memory);
            tokio::spawn(async move {
                // One change is invalid; the others are made nevertheless.
                let title = if number == 77 { "\n".to_owned() } else { number.to_string() };
                upsert(&memory, json!({ "kind": "convention", "title": title, "content": "c" }))
                    .await
            })
        })
        .collect();
    let mut refused = 0;
    for task in tasks {
        refused += usize::from(task.await.unwrap().is_err());
    }
    assert_eq!(refused, 1);
    assert_eq!(contents(&memory).await["conventions"].as_array().unwrap().len(), 199);
}

#[tokio::test]
async fn the_latest_summaries_stay() {
    let root = tempfile::tempdir().unwrap();
    let memory = memory_with(root.path(), SummaryBounds { entries: 3, bytes: 1000 });
    let log = memory.log_path.file();
    for number in 0..5 {
        append(&memory, &format!("step {number}"), "text").await.unwrap();
    }
    let steps = |all: &Value| -> Vec<String> {
        let summaries = all["summaries"].as_array().unwrap().iter();
        summaries.map(|summary| summary["stepId"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(steps(&contents(&memory).await), ["step 2", "step 3", "step 4"]);
    assert_eq!(fs::read_to_string(&log).unwrap().lines().count(), 3);
    append(&memory, "long", &"x".repeat(800)).await.unwrap();
    assert_eq!(steps(&contents(&memory).await), ["step 4", "long"]);
    // The latest is always kept.
    append(&memory, "too long", &"x".repeat(5000)).await.unwrap();
    assert_eq!(steps(&contents(&memory).await), ["too long"]);
    assert_eq!(fs::read_to_string(&log).unwrap().lines().count(), 1);
}

#[tokio::test]
async fn lines_without_a_summary_hide_none() {
    let root = tempfile::tempdir().unwrap();
    let memory = memory_with(root.path(), SummaryBounds { entries: 2, bytes: 1 << 20 });
    append(&memory, "one", "1").await.unwrap();
    let log = memory.log_path.file();
    let mut text = fs::read_to_string(&log).unwrap();
    text.push_str("no JSON\n\n{\"runId\":1}\n{\"runId\":\"run\",\"stepId\":\"torn");
    fs::write(&log, text).unwrap();
    append(&memory, "two", "2").await.unwrap();
    let all = contents(&memory).await;
    assert_eq!(all["summaries"].as_array().unwrap().len(), 2);
    append(&memory, "three", "3").await.unwrap();
    let left = fs::read_to_string(&log).unwrap();
    assert_eq!(left.lines().count(), 2, "{left}");
    assert!(left.starts_with("{\"runId\":\"run\",\"stepId\":\"two\""), "{left}");
}

#[tokio::test]
async fn summaries_are_bounded() {
    let root = tempfile::tempdir().unwrap();
    let memory = memory_in(root.path());
    for (text, code) in [
        (String::new(), Some(Code::InvalidArgument)),
        ("x".to_owned(), None),
        ("é".repeat(MAX_SUMMARY / 2), None),
        ("é".repeat(MAX_SUMMARY / 2) + "x", Some(Code::TooLarge)),
    ] {
        let outcome = append(&memory, "step", &text).await;
        assert_eq!(outcome.as_ref().err().map(|error| error.code), code, "{} bytes", text.len());
    }
    assert_eq!(contents(&memory).await["summaries"].as_array().unwrap().len(), 2);
}

mod migration {
    use super::*;

    fn known(path: &str, branch: Option<&str>) -> Identity {
        Identity {
            repo_hash: "0".repeat(64),
            workspace: PathBuf::from(path),
            path: PathBuf::from(path),
            remote: None,
            branch: branch.map(str::to_owned),
        }
        .on_branch(branch.map(str::to_owned))
    }

    fn open(root: &Path, identity: &Identity) -> Arc<Memory> {
        let disk: Arc<dyn FileSystem> = Arc::new(LocalDisk);
        let options = MemoryOptions {
            directory: directory_of(root, &identity.repo_hash),
            prefix: None,
            repository: Some(Repository::of(identity)),
            ..memory_in(root).options.clone()
        };
        Memory::new(options, &disk, Debug::default())
    }

    async fn moved(root: &Path, origin: Origin, identity: &Identity) -> Result<Vec<Migrated>> {
        let disk: Arc<dyn FileSystem> = Arc::new(LocalDisk);
        let options = memory_in(root).options.clone();
        migrate(&disk, root, origin, identity, &options, None, &Debug::default()).await
    }

    #[tokio::test]
    async fn takes_everything_along() {
        let root = tempfile::tempdir().unwrap();
        let (old, new) = (known("/old/place", None), known("/new/place", None));
        let (source, target) = (open(root.path(), &old), open(root.path(), &new));
        upsert(&source, json!({ "kind": "note", "content": "n" })).await.unwrap();
        upsert(&source, json!({ "kind": "convention", "title": "T", "content": "old" }))
            .await
            .unwrap();
        append(&source, "first", "1").await.unwrap();
        tokio::time::sleep(Duration::from_millis(5)).await;
        upsert(&target, json!({ "kind": "convention", "title": "T", "content": "new" }))
            .await
            .unwrap();
        append(&target, "second", "2").await.unwrap();
        let report =
            moved(root.path(), Origin::Workspace("/old/place/".into()), &new).await.unwrap();
        let expected = Migrated {
            from: old.repo_hash.clone(),
            to: new.repo_hash.clone(),
            conventions: 1,
            decisions: 0,
            notes: 1,
            summaries: 1,
        };
        assert_eq!(report, [expected]);
        let all = contents(&target).await;
        assert_eq!(all["conventions"][0]["content"], "new");
        assert_eq!(all["notes"][0]["content"], "n");
        let steps: Vec<&str> = all["summaries"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["stepId"].as_str().unwrap())
            .collect();
        assert_eq!(steps, ["first", "second"], "by their times");
        let left = contents(&source).await;
        assert!(
            ["conventions", "notes", "summaries"]
                .iter()
                .all(|list| left[list].as_array().unwrap().is_empty())
        );
        let error =
            moved(root.path(), Origin::Workspace("/old/place".into()), &new).await.unwrap_err();
        assert_eq!(error.code, Code::NotFound);
        let error = moved(root.path(), Origin::Hash("f".repeat(64)), &new).await.unwrap_err();
        assert_eq!(error.code, Code::NotFound);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_in_flight_take_effect_in_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let memory = memory_in(folder.path());
    let note = json!({ "kind": "note", "content": "first" });
    let id = upsert(&memory, note).await.unwrap()["id"].clone();
    let redactor = Redactor::new(RedactionOptions::default()).unwrap();
    let redaction = Redaction::new(redactor, Arc::new(EnvironmentValues::default()));
    for round in 0..50 {
        // The first calls take longest to redact.
        let text = |number: usize| format!("{round} {number} {}", "x ".repeat(4000 / (number + 1)));
        let upserts: Vec<_> = (0..6)
            .map(|number| {
                let draft = json!({ "kind": "note", "id": id, "content": text(number) });
                memory.upsert(serde_json::from_value(draft).unwrap(), Some(redaction.clone()))
            })
            .collect();
        let appends: Vec<_> = (0..6)
            .map(|number| {
                let summary = Summary {
                    run_id: "run".to_owned(),
                    step_id: format!("{round} {number}"),
                    timestamp: String::new(),
                    summary: text(number),
                    tags: None,
                    operation_id: None,
                };
                memory.append_summary(summary, Some(redaction.clone()))
            })
            .collect();
        // Polled in the reverse order of the calls.
        let upserts: Vec<_> = upserts.into_iter().rev().map(tokio::spawn).collect();
        let appends: Vec<_> = appends.into_iter().rev().map(tokio::spawn).collect();
        for task in upserts {
            task.await.unwrap().unwrap();
        }
        for task in appends {
            task.await.unwrap().unwrap();
        }
        let contents = contents(&memory).await;
        let last = contents["notes"][0]["content"].as_str().unwrap();
        assert!(last.starts_with(&format!("{round} 5 ")), "{}", &last[..10]);
        let summaries = contents["summaries"].as_array().unwrap();
        let steps: Vec<&str> = summaries[summaries.len() - 6..]
            .iter()
            .map(|summary| summary["stepId"].as_str().unwrap())
            .collect();
        let expected: Vec<String> = (0..6).map(|number| format!("{round} {number}")).collect();
        assert_eq!(steps, expected);
        assert!(summaries.is_sorted_by_key(|summary| summary["timestamp"].as_str().unwrap()));
    }
}

#[tokio::test]
async fn changes_in_flight_are_written_together() {
    let disk = SimulatedDisk::new();
    let file_system: Arc<dyn FileSystem> = Arc::new(disk.clone());
    let memory = Memory::new(
        MemoryOptions {
            directory: directory_of(Path::new("/root"), &hash()),
            prefix: None,
            repository: Some(repository()),
            workspace: None,
            durability: Durability::Full,
            lock_timeout: Duration::from_secs(20),
            summaries: SummaryBounds { entries: 100, bytes: 1 << 20 },
            trust: crate::safety::Trust::default(),
        },
        &file_system,
        Debug::default(),
    );
    upsert(&memory, json!({ "kind": "note", "content": "first" })).await.unwrap();
    let before = disk.operations();
    upsert(&memory, json!({ "kind": "note", "content": "alone" })).await.unwrap();
    let one = disk.operations() - before;
    let calls: Vec<_> = (0..100)
        .map(|number| {
            let draft = json!({ "kind": "note", "content": number.to_string() });
            tokio::spawn(memory.upsert(serde_json::from_value(draft).unwrap(), None))
        })
        .collect();
    for call in calls {
        call.await.unwrap().unwrap();
    }
    assert!(disk.operations() - before <= 4 * one, "{one} operations for one change");
    assert_eq!(contents(&memory).await["notes"].as_array().unwrap().len(), 102);
}

#[tokio::test]
async fn the_first_change_removes_leftovers_of_memory_json() {
    let folder = tempfile::tempdir().unwrap();
    let memory = memory_in(folder.path());
    let directory = directory_of(folder.path(), &hash());
    fs::create_dir_all(&directory).unwrap();
    let left = |name: &str, minutes: u64| {
        let path = directory.join(layout::replacement(name));
        fs::write(&path, "half").unwrap();
        let age = Duration::from_secs(60 * minutes);
        let file = fs::File::options().append(true).open(&path).unwrap();
        file.set_modified(std::time::SystemTime::now() - age).unwrap();
        path
    };
    let (old, young) = (left(layout::MEMORY, 61), left(layout::MEMORY, 59));
    let of_another = left("package.json", 61);
    upsert(&memory, json!({ "kind": "note", "content": "n" })).await.unwrap();
    assert!(!old.exists() && young.exists() && of_another.exists());
}
