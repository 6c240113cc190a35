//! Compaction on request, and in the background.

use super::*;

pub async fn a_compaction_keeps_operations_and_writes_its_summary_first(server: &Server) {
    let history = writer(server, "/compact", 0);
    for number in 0..10 {
        let (id, operation) = (number.to_string(), format!("operation {number}"));
        history.append(with_operation(&id, &operation)).outcome().await.unwrap();
    }
    let (plan, dropped) = history.plan(keep_last(3), true).await.unwrap();
    assert_eq!((plan.kept_entries, plan.dropped_entries), (3, 7));
    assert_eq!(ids(&dropped), ["0", "1", "2", "3", "4", "5", "6"]);
    // It goes through JavaScript as JSON.
    let plan = serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap();
    let line = json!({"tool_name": "summary", "id": "s", "summary": "seven"}).to_string();
    let summary = Some(Summary { line, redaction: None });
    let (report, _) = history.compact(plan, summary).await.unwrap();
    assert_eq!(report.bytes_after, history.verify().await.unwrap().bytes);
    assert_eq!(all(&history).await, ["s", "7", "8", "9"]);
    let repeated = history.append(with_operation("again", "operation 2")).outcome().await.unwrap();
    let Appended::Earlier { entry } = repeated else { panic!("it was written again") };
    let entry: Value = serde_json::from_slice(&entry).unwrap();
    assert_eq!((&entry["id"], &entry["compacted"]), (&json!("2"), &json!(true)));
    let (plan, _) = history.plan(keep_last(1), false).await.unwrap();
    let line = json!({"tool_name": "summary", "id": "t"}).to_string();
    history.compact(plan, Some(Summary { line, redaction: None })).await.unwrap();
    assert_eq!(all(&history).await, ["t", "9"]);
    let (plan, _) = history.plan(keep_last(0), false).await.unwrap();
    history.compact(plan, None).await.unwrap();
    assert!(all(&history).await.is_empty());
    history.append(after("new", Previous::Nothing)).outcome().await.unwrap();
    assert_eq!(all(&history).await, ["new"]);
}

pub async fn a_plan_of_another_log_is_refused(server: &Server) {
    let history = writer(server, "/plans", 0);
    for number in 0..10 {
        history.append(entry(&number.to_string(), &json!(1))).outcome().await.unwrap();
    }
    let (one, _) = history.plan(keep_last(5), false).await.unwrap();
    let (two, _) = history.plan(keep_last(4), false).await.unwrap();
    history.append(entry("late", &json!(1))).outcome().await.unwrap();
    history.compact(one, None).await.unwrap();
    let refused = history.compact(two, None).await.unwrap_err();
    assert_eq!(refused.code, Code::Conflict);
    assert_eq!(all(&history).await, ["5", "6", "7", "8", "9", "late"]);
}

pub async fn bounds_are_kept(server: &Server) {
    let database = database(server.port(), server, 20_100);
    let bounds = Bounds { max_entries: Some(100), max_bytes: None };
    let history = with_bounds(&database, "/bounds", bounds);
    for number in 0..400 {
        history.append(entry(&number.to_string(), &json!(1))).outcome().await.unwrap();
    }
    history.close().await;
    let kept = all(&history).await;
    assert!((80..=107).contains(&kept.len()), "{}", kept.len());
    assert_eq!(kept.last().unwrap(), "399");
    let bounds = Bounds { max_entries: None, max_bytes: Some(20_000) };
    let history = with_bounds(&database, "/bytes", bounds);
    for number in 0..400 {
        history
            .append(entry(&number.to_string(), &json!("z".repeat(100))))
            .outcome()
            .await
            .unwrap();
    }
    history.close().await;
    assert!(history.verify().await.unwrap().bytes < 22_000);
}

pub async fn compaction_loses_nothing_that_others_append(server: &Server) {
    let is_over = Arc::new(AtomicBool::new(false));
    let dropped = Arc::new(AtomicU64::new(0));
    let compactors: Vec<_> = (0..2_u64)
        .map(|number| {
            let history = writer(server, "/busy", 50 + number);
            let (is_over, dropped) = (Arc::clone(&is_over), Arc::clone(&dropped));
            tokio::spawn(async move {
                let mut removed = BTreeSet::new();
                while !is_over.load(Ordering::SeqCst) {
                    let (plan, entries) = history.plan(keep_last(20), true).await.unwrap();
                    if plan.dropped_entries == 0 {
                        continue;
                    }
                    match history.compact(plan, None).await {
                        Ok((report, _)) => {
                            dropped.fetch_add(report.dropped_entries, Ordering::SeqCst);
                            removed.extend(ids(&entries));
                        }
                        Err(error) => assert_eq!(error.code, Code::Conflict, "{error}"),
                    }
                }
                removed
            })
        })
        .collect();
    let writers: Vec<_> = (0..4_u64)
        .map(|number| {
            let history = writer(server, "/busy", number);
            tokio::spawn(async move {
                for round in 0..200 {
                    let id = format!("{number}-{round}");
                    history.append(entry(&id, &json!(1))).outcome().await.unwrap();
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    is_over.store(true, Ordering::SeqCst);
    let mut seen = BTreeSet::new();
    for compactor in compactors {
        for id in compactor.await.unwrap() {
            assert!(seen.insert(id), "it was dropped twice");
        }
    }
    assert_eq!(seen.len() as u64, dropped.load(Ordering::SeqCst));
    let kept = all(&writer(server, "/busy", 0)).await;
    assert_in_order_of_writers(&kept);
    for id in kept {
        assert!(seen.insert(id), "it was dropped, and is there");
    }
    assert_eq!(seen.len(), 800);
}
