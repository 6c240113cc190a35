//! A cancelled refresh stops, and concurrent callers share one refresh.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use super::{
    super::{Progress, RefreshOptions},
    support::Workspace,
};

fn filled(count: usize) -> Workspace {
    let workspace = Workspace::new();
    for number in 0..count {
        workspace.write(&format!("{number:03}.ts"), &format!("class A{number}"));
    }
    workspace
}

async fn until(is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(30), "it never came about");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn parsing_stops_without_callers_and_parsed_files_stay_known() {
    let mut workspace = filled(40);
    let (held, stopped) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicUsize::new(0)));
    {
        let (held, stopped) = (Arc::clone(&held), Arc::clone(&stopped));
        let count = AtomicUsize::new(0);
        workspace.again_while(move |_, cancelled| {
            if count.fetch_add(1, Ordering::SeqCst) >= 10 && held.load(Ordering::SeqCst) {
                while !cancelled.is_set() {
                    std::thread::sleep(Duration::from_millis(1));
                }
                stopped.fetch_add(1, Ordering::SeqCst);
            }
        });
    }
    let map = Arc::clone(&workspace.map);
    let task = tokio::spawn(async move { map.refresh(RefreshOptions::default()).await });
    let parses = Arc::clone(&workspace.parses);
    until(move || parses.load(Ordering::SeqCst) >= 12).await;
    task.abort();
    let halted = Arc::clone(&stopped);
    until(move || halted.load(Ordering::SeqCst) >= 1).await;
    held.store(false, Ordering::SeqCst);
    let snapshot = workspace.refresh().await;
    assert_eq!(snapshot.definition_count(), 40);
    // Only files whose parsing was interrupted are parsed again.
    let interrupted = stopped.load(Ordering::SeqCst);
    assert_eq!(workspace.parses(), 40 + interrupted);
    workspace.refresh().await;
    assert_eq!(workspace.parses(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refresh_begins_after_a_cancelled_one_has_stopped() {
    let mut workspace = filled(40);
    let held = Arc::new(AtomicBool::new(true));
    {
        let held = Arc::clone(&held);
        workspace.again_while(move |_, _| {
            while held.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
            }
        });
    }
    let refresh = || {
        let map = Arc::clone(&workspace.map);
        tokio::spawn(async move { map.refresh(RefreshOptions::default()).await })
    };
    let first = refresh();
    let parses = Arc::clone(&workspace.parses);
    until(move || parses.load(Ordering::SeqCst) >= 1).await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    let begun = workspace.parses.load(Ordering::SeqCst);
    first.abort();
    assert!(first.await.is_err());
    let second = refresh();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(workspace.parses.load(Ordering::SeqCst), begun);
    assert_eq!(workspace.map.begun.load(Ordering::SeqCst), 1);
    held.store(false, Ordering::SeqCst);
    assert_eq!(second.await.unwrap().unwrap().definition_count(), 40);
}

#[tokio::test(flavor = "multi_thread")]
async fn refreshes_at_once_parse_everything_once() {
    let mut workspace = filled(30);
    workspace.again_while(|_, _| std::thread::sleep(Duration::from_millis(1)));
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let map = Arc::clone(&workspace.map);
            tokio::spawn(async move { map.refresh(RefreshOptions::default()).await.unwrap() })
        })
        .collect();
    let mut snapshots = Vec::new();
    for task in tasks {
        snapshots.push(task.await.unwrap());
    }
    assert_eq!(workspace.parses(), 30);
    assert!(snapshots.iter().all(|snapshot| Arc::ptr_eq(snapshot, &snapshots[0])));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_caller_sees_files_written_before_its_call() {
    let mut workspace = filled(5);
    let is_parsing = Arc::new(AtomicBool::new(false));
    let goes_on = Arc::new(AtomicBool::new(false));
    {
        let (is_parsing, goes_on) = (Arc::clone(&is_parsing), Arc::clone(&goes_on));
        workspace.again_while(move |_, _| {
            is_parsing.store(true, Ordering::SeqCst);
            while !goes_on.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
            }
        });
    }
    let map = Arc::clone(&workspace.map);
    let first = tokio::spawn(async move { map.refresh(RefreshOptions::default()).await });
    let parsing = Arc::clone(&is_parsing);
    until(move || parsing.load(Ordering::SeqCst)).await;
    workspace.write("late.ts", "class Late");
    let later: Vec<_> = (0..3)
        .map(|_| {
            let map = Arc::clone(&workspace.map);
            tokio::spawn(async move { map.refresh(RefreshOptions::default()).await.unwrap() })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(20)).await;
    goes_on.store(true, Ordering::SeqCst);
    assert!(first.await.unwrap().unwrap().symbols("late.ts").is_none());
    for task in later {
        assert!(task.await.unwrap().symbols("late.ts").is_some());
    }
    assert_eq!(workspace.parses(), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_goes_to_the_end() {
    let workspace = filled(250);
    let told: Arc<Mutex<Vec<Progress>>> = Arc::default();
    let refresh = || {
        let told = Arc::clone(&told);
        let progress = Arc::new(move |progress| told.lock().unwrap().push(progress));
        workspace
            .map
            .refresh(RefreshOptions { progress: Some(progress), ..RefreshOptions::default() })
    };
    refresh().await.unwrap();
    let cold = std::mem::take(&mut *told.lock().unwrap());
    assert_eq!(cold.first(), Some(&Progress { done: 0, total: 250, parsed: 0 }));
    assert_eq!(cold.last(), Some(&Progress { done: 250, total: 250, parsed: 250 }));
    assert!(cold.is_sorted_by_key(|progress| (progress.done, progress.parsed)));
    assert!(cold.iter().all(|progress| progress.done <= progress.total));
    assert!(cold.len() > 50 && cold.len() < 150, "{}", cold.len());
    workspace.write_old("007.ts", "class Changed", 40);
    refresh().await.unwrap();
    let warm = std::mem::take(&mut *told.lock().unwrap());
    let expected = [(249, 0), (250, 1)];
    assert!(warm.iter().map(|progress| (progress.done, progress.parsed)).eq(expected), "{warm:?}");
    refresh().await.unwrap();
    assert_eq!(*told.lock().unwrap(), [Progress { done: 250, total: 250, parsed: 0 }]);
}
