//! What is written is read.

use super::*;

pub async fn a_call_is_one_statement(server: &Server) {
    let database = database(server.port(), server, 20_200);
    let history = history(&database, "/one");
    history.append(entry("first", &json!(1))).outcome().await.unwrap();
    let requests = || database.statistics().requests;
    let before = requests();
    for number in 0..30 {
        history
            .append(with_operation(&number.to_string(), &number.to_string()))
            .outcome()
            .await
            .unwrap();
    }
    assert_eq!(requests() - before, 30);
    let appending: Vec<_> =
        (30..130).map(|number| history.append(entry(&number.to_string(), &json!(1)))).collect();
    for append in appending {
        append.outcome().await.unwrap();
    }
    // The first call may be sent before the others are made.
    let shared = requests() - before - 30;
    assert!((1..=2).contains(&shared), "calls that wait share a statement: {shared}");
    let before = requests();
    assert_eq!(ids(&history.read(20, usize::MAX).await.unwrap()).len(), 20);
    assert_eq!(requests() - before, 1);
}

pub async fn queries_answer_as_those_of_a_file(server: &Server) {
    let folder = tempfile::tempdir().unwrap();
    let path = LogPath {
        directory: folder.path().to_owned(),
        prefix: format!("{}/", folder.path().display()),
        name: "context.jsonl".to_owned(),
    };
    let options = HistoryOptions {
        path,
        durability: Durability::Process,
        lock_timeout: Duration::from_secs(20),
        max_entry_bytes: MAX_ENTRY_BYTES,
        bounds: Bounds::default(),
        trust: Trust::default(),
    };
    let file = History::new(options, Arc::new(LocalDisk), Debug::default());
    let shared = writer(server, "/same", 0);
    let words = ["cookie", "token", "grape", "cookie token", "x\u{0}y"];
    for number in 0..1500_u64 {
        let make = || {
            let word = words[number as usize % words.len()];
            let rest = json!({
                "success": !number.is_multiple_of(3),
                "summary": format!("{word} {number}"),
                "timestamp": format!("2026-01-01T00:{:02}:00Z", number % 60),
                "id": number.to_string(),
            });
            NewEntry {
                tool_name: format!("t{}\u{0}", number % 7),
                rest: rest.to_string(),
                ..entry("", &json!({ "text": word, "number": number }))
            }
        };
        let (first, second) = (file.append(make()), shared.append(make()));
        drop((first.outcome().await.unwrap(), second));
    }
    shared.append(entry("last", &json!(1))).outcome().await.unwrap();
    file.append(entry("last", &json!(1))).outcome().await.unwrap();
    for (limit, bytes) in
        [(0, 9), (1, 9), (20, 9), (20, usize::MAX), (700, 9000), (5000, usize::MAX)]
    {
        let expected = entries(&file.read(limit, bytes).await.unwrap());
        assert_eq!(entries(&shared.read(limit, bytes).await.unwrap()), expected, "{limit}");
    }
    let none = Filter { limit: 100, ..Filter::default() };
    let names = |names: &[&str]| Some(names.iter().map(|&name| name.to_owned()).collect());
    let filters = [
        none.clone(),
        Filter { tool_names: names(&["t1\u{0}", "t2\u{0}"]), limit: 3000, ..none.clone() },
        Filter { tool_names: names(&["t1"]), ..none.clone() },
        Filter { success: Some(false), text: Some("TOKEN".to_owned()), ..none.clone() },
        Filter {
            success: Some(true),
            tool_names: names(&["t3\u{0}"]),
            since: Some(1_767_225_600_000 + 60_000),
            until: Some(1_767_225_600_000 + 1_200_000),
            text: Some("cookie".to_owned()),
            limit: 7,
        },
        Filter { text: Some("grape 2".to_owned()), limit: 5, ..none },
    ];
    for filter in filters {
        let expected = entries(&file.search(filter.clone()).await.unwrap());
        assert_eq!(entries(&shared.search(filter.clone()).await.unwrap()), expected, "{filter:?}");
        let expected = entries(&file.rank(filter.clone(), None).await.unwrap());
        assert_eq!(
            entries(&shared.rank(filter.clone(), None).await.unwrap()),
            expected,
            "{filter:?}"
        );
    }
    let (expected, report) = (file.verify().await.unwrap(), shared.verify().await.unwrap());
    assert_eq!((report.entries, report.bytes), (expected.entries, expected.bytes));
    assert_eq!(report.bad_lines, 0);
}

pub async fn pages_reach_the_first_entry(server: &Server) {
    let history = writer(server, "/pages", 0);
    let long = "x".repeat(400_000);
    let mut appending = Vec::new();
    for number in 0..40 {
        appending.push(history.append(entry(&number.to_string(), &json!(long))));
    }
    for append in appending {
        append.outcome().await.unwrap();
    }
    let expected: Vec<String> = (0..40).map(|number: u32| number.to_string()).collect();
    assert_eq!(all(&history).await, expected);
    assert_eq!(ids(&history.read(3, usize::MAX).await.unwrap()), ["37", "38", "39"]);
    assert_eq!(history.verify().await.unwrap().entries, 40);
    let filter = Filter { text: Some("x".to_owned()), limit: 30, ..Filter::default() };
    assert_eq!(ids(&history.search(filter).await.unwrap()).len(), 30);
}

pub async fn long_and_short_entries_keep_their_order(server: &Server) {
    let history = writer(server, "/order", 0);
    let appending: Vec<_> = (0..300_u32)
        .map(|number| {
            let length = if number.is_multiple_of(50) { 100_000 } else { 3 };
            history.append(entry(&number.to_string(), &json!("y".repeat(length))))
        })
        .collect();
    let tasks: Vec<_> =
        appending.into_iter().map(|append| tokio::spawn(append.outcome())).collect();
    for task in tasks.into_iter().rev() {
        task.await.unwrap().unwrap();
    }
    let expected: Vec<String> = (0..300_u32).map(|number| number.to_string()).collect();
    assert_eq!(all(&history).await, expected);
}
