//! Failures of clocks, connections and servers.

use super::*;

pub async fn a_clock_that_was_ahead_changes_no_order(server: &Server) {
    let history = writer(server, "/clock", 0);
    history.append(entry("0-0", &json!(1))).outcome().await.unwrap();
    let sql = "UPDATE {schema}.entry SET at = at + 86400000000 * 1024 WHERE namespace = '/clock'";
    let database = database(server.port(), server, 20_000);
    database.statement(Intent::Write, sql, &Parameters::new()).await.unwrap();
    let tasks: Vec<_> = (0..4_u64)
        .map(|number| {
            let history = writer(server, "/clock", number);
            tokio::spawn(async move {
                for round in 1..20 {
                    let id = format!("{number}-{round}");
                    history.append(entry(&id, &json!(1))).outcome().await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let log = all(&history).await;
    assert_eq!((log.len(), log[0].as_str()), (77, "0-0"));
    assert_in_order_of_writers(&log);
}

pub async fn lost_answers_double_nothing(server: &Server) {
    let proxy = Proxy::to(server.port()).unwrap();
    let history = history(&database(proxy.port(), server, 20_000), "/lost");
    history.append(entry("0-0", &json!(1))).outcome().await.unwrap();
    let mut last = "0-0".to_owned();
    for round in 1..=6_u32 {
        proxy.set_swallows(true);
        let cutting = proxy.clone();
        let cutter = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(200)).await;
            cutting.set_swallows(false);
            cutting.cut();
        });
        let id = format!("0-{round}");
        let new = match round % 3 {
            0 => entry(&id, &json!(1)),
            1 => after(&id, Previous::Entry(last)),
            _ => with_operation(&id, &id),
        };
        let outcome = history.append(new).outcome().await.unwrap();
        assert!(matches!(outcome, Appended::Written { .. }), "{outcome:?}");
        cutter.await.unwrap();
        last = id;
    }
    let expected: Vec<String> = (0..=6).map(|round| format!("0-{round}")).collect();
    assert_eq!(all(&history).await, expected);
}

pub async fn a_restart_loses_nothing(server: &Server) {
    let acknowledged = Arc::new(AtomicU64::new(0));
    let writers: Vec<_> = (0..4_u64)
        .map(|number| {
            let history = writer(server, "/restart", number);
            let acknowledged = Arc::clone(&acknowledged);
            tokio::spawn(async move {
                for round in 0..200 {
                    let id = format!("{number}-{round}");
                    history.append(entry(&id, &json!(1))).outcome().await.unwrap();
                    acknowledged.fetch_add(1, Ordering::SeqCst);
                }
            })
        })
        .collect();
    for least in [100, 400] {
        while acknowledged.load(Ordering::SeqCst) < least {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        server.stop(Stop::Immediate).unwrap();
        server.run().unwrap();
    }
    for writer in writers {
        writer.await.unwrap();
    }
    let log = all(&writer(server, "/restart", 0)).await;
    assert_eq!(log.len(), 800);
    assert_in_order_of_writers(&log);
}

pub async fn an_unclear_append_says_so(server: &Server) {
    let proxy = Proxy::to(server.port()).unwrap();
    let history = history(&database(proxy.port(), server, 700), "/unclear");
    history.append(entry("0-0", &json!(1))).outcome().await.unwrap();
    proxy.set_swallows(true);
    let error = history.append(entry("0-1", &json!(1))).outcome().await.unwrap_err();
    assert_eq!(error.code, Code::Timeout, "{error}");
    assert!(error.may_exist(), "{error}");
    proxy.set_swallows(false);
    proxy.cut();
    history.append(entry("0-2", &json!(1))).outcome().await.unwrap();
    let log = all(&history).await;
    assert_eq!((log.first().unwrap().as_str(), log.last().unwrap().as_str()), ("0-0", "0-2"));
    assert_in_order_of_writers(&log);
}
