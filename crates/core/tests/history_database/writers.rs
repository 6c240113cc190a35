//! Several writers at once.

use super::*;

pub async fn an_operation_is_stored_once(server: &Server) {
    let tasks: Vec<_> = (0..8_u64)
        .map(|number| {
            let history = writer(server, "/operations", number);
            tokio::spawn(async move {
                let mut earlier = 0;
                for operation in 0..50 {
                    let appending: Vec<_> = (0..2)
                        .map(|copy| {
                            let id = format!("{number}-{operation}-{copy}");
                            history.append(with_operation(&id, &format!("operation {operation}")))
                        })
                        .collect();
                    for append in appending {
                        let outcome = append.outcome().await.unwrap();
                        earlier += usize::from(matches!(outcome, Appended::Earlier { .. }));
                    }
                }
                earlier
            })
        })
        .collect();
    let mut earlier = 0;
    for task in tasks {
        earlier += task.await.unwrap();
    }
    assert_eq!(earlier, 8 * 50 * 2 - 50);
    assert_eq!(all(&writer(server, "/operations", 0)).await.len(), 50);
}

pub async fn one_of_several_writers_follows_an_entry(server: &Server) {
    let first = writer(server, "/follow", 0);
    let refused = first.append(after("x", Previous::Entry("none".to_owned()))).outcome().await;
    assert_eq!(refused.unwrap_err().code, Code::Conflict);
    let tasks: Vec<_> = (0..6_u64)
        .map(|number| {
            let history = writer(server, "/follow", number);
            tokio::spawn(async move {
                let mut written = 0;
                for round in 0..30_u32 {
                    let last = ids(&history.read(1, usize::MAX).await.unwrap()).pop();
                    let previous = last.map_or(Previous::Nothing, Previous::Entry);
                    let id = format!("{number}-{round}");
                    // Some append without a condition.
                    let conditional = !round.is_multiple_of(7);
                    let name = match &previous {
                        Previous::Entry(id) => id.clone(),
                        Previous::Nothing => String::new(),
                    };
                    let new = if conditional {
                        NewEntry { previous: Some(previous), ..entry(&id, &json!(name)) }
                    } else {
                        entry(&id, &Value::Null)
                    };
                    match history.append(new).outcome().await {
                        Ok(_) => written += 1,
                        Err(error) => assert_eq!(error.code, Code::Conflict, "{error}"),
                    }
                }
                written
            })
        })
        .collect();
    let mut written = 0;
    for task in tasks {
        written += task.await.unwrap();
    }
    let log = entries(&first.read(1000, usize::MAX).await.unwrap());
    assert_eq!(log.len(), written);
    let mut before = "";
    for entry in &log {
        if let Some(expected) = entry["result"].as_str() {
            assert_eq!(before, expected, "an entry is between the two");
        }
        before = entry["id"].as_str().unwrap();
    }
}

pub async fn a_tail_returns_every_entry_once(server: &Server) {
    let reader = writer(server, "/tail", 100);
    for number in 0..5 {
        reader.append(entry(&format!("early-{number}"), &json!(1))).outcome().await.unwrap();
    }
    let last = reader.tail(TailStart::Last(2));
    assert_eq!(ids(&last.next().await.unwrap()), ["early-3", "early-4"]);
    let after = reader.tail(TailStart::After("early-1".to_owned()));
    assert_eq!(ids(&after.next().await.unwrap()), ["early-2", "early-3", "early-4"]);
    let missing = reader.tail(TailStart::After("none".to_owned())).next().await;
    assert_eq!(missing.unwrap_err().code, Code::NotFound);
    let is_over = Arc::new(AtomicBool::new(false));
    let follower = {
        let is_over = Arc::clone(&is_over);
        tokio::spawn(async move {
            let mut seen = Vec::new();
            loop {
                let was_over = is_over.load(Ordering::SeqCst);
                let new = ids(&last.next().await.unwrap());
                if was_over && new.is_empty() {
                    return seen;
                }
                seen.extend(new);
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
    };
    let tasks: Vec<_> = (0..6_u64)
        .map(|number| {
            let history = writer(server, "/tail", number);
            tokio::spawn(async move {
                for round in 0..150 {
                    let id = format!("{number}-{round}");
                    history.append(entry(&id, &json!(1))).outcome().await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    tokio::time::sleep(Duration::from_millis(1100)).await;
    is_over.store(true, Ordering::SeqCst);
    let seen = follower.await.unwrap();
    assert_eq!(seen.len(), 900);
    assert_in_order_of_writers(&seen);
    let mut delivered = Vec::new();
    while delivered.len() < 900 {
        delivered.extend(ids(&after.next().await.unwrap()));
    }
    assert_eq!(delivered.len(), 900);
}
