use super::*;
use crate::index::slots::SLOTS;

const FULL: u64 = SLOTS as u64;

fn add(index: &Index, sequences: impl IntoIterator<Item = u64>) {
    for sequence in sequences {
        index.add(sequence, &Document { name: "read_file", ..Document::default() });
    }
}

fn sizes(index: &Index) -> Vec<usize> {
    index.maintain();
    index.published.load().segments.iter().map(|segment| segment.len()).collect()
}

#[test]
fn readers_do_not_wait_for_a_writer() {
    let index = Index::new();
    add(&index, 0..FULL + 1);
    let _writer = index.lock();
    assert_eq!(index.search(&Query::parse("file"), Some(3)).hits.len(), 3);
    assert_eq!(index.rank(&Query::parse("file"), &|sequence| sequence < 5, &[]).hits.len(), 5);
}

#[test]
fn segments_of_like_size_are_merged() {
    let index = Index::new();
    add(&index, 0..FULL * 3);
    assert_eq!(sizes(&index), [SLOTS; 3]);
    add(&index, FULL * 3..FULL * 16 + 7);
    assert_eq!(sizes(&index), [SLOTS * 16]);
    assert_eq!(index.search(&Query::parse("read"), None).hits.len() as u64, FULL * 16 + 7);
}

#[test]
fn removed_documents_are_given_back() {
    let index = Index::new();
    add(&index, 0..FULL);
    index.maintain();
    (0..FULL / 2).for_each(|sequence| index.remove(sequence));
    assert_eq!(sizes(&index), [SLOTS]);
    index.remove(FULL / 2);
    assert_eq!(sizes(&index), [SLOTS / 2 - 1]);
    (0..FULL).for_each(|sequence| index.remove(sequence));
    assert_eq!(sizes(&index), [0_usize; 0]);
    assert!(index.is_empty());
}

#[test]
fn what_was_replaced_outlives_its_predecessor() {
    let index = Index::new();
    // Replaced within its tail, then within a segment that is merged with the segment of its replacement.
    add(&index, [0, 0]);
    add(&index, 1..FULL);
    index.maintain();
    for first in (FULL..FULL * 20).step_by(SLOTS) {
        add(&index, [0]);
        add(&index, first..first + FULL);
    }
    index.maintain();
    let hits = index.search(&Query::parse("file"), None).hits;
    assert_eq!((hits.len(), index.len()), (20 * SLOTS, 20 * SLOTS));
    assert!(hits.iter().any(|hit| hit.sequence == 0));
}

fn described<'a>(description: &'a str, result: &'a str) -> Document<'a> {
    Document { description, result, ..Document::default() }
}

fn found(index: &Index, query: &str) -> Vec<u64> {
    index.search(&Query::parse(query), None).hits.iter().map(|hit| hit.sequence).collect()
}

struct Late(&'static str, usize);

impl LateText for Late {
    fn bytes(&self) -> usize {
        self.1
    }

    fn read(&self, read: &mut dyn FnMut(&Document<'_>)) {
        read(&described("form", self.0));
    }
}

#[test]
fn an_announced_document_is_found_by_what_is_known_of_it_and_once() {
    let index = Index::new();
    let hidden = index.announce(0, &described("form", ""), None);
    let long = index.announce(1, &described("form", ""), Some(Box::new(Late("zebra", 1 << 30))));
    index.announce(2, &described("form", ""), Some(Box::new(Late("zebra", 10))));
    assert_eq!((found(&index, "form").len(), index.len()), (3, 3));
    assert_eq!(found(&index, "zebra"), [2]);
    index.complete(&hidden, Some(&described("form", "zebra")));
    assert_eq!(found(&index, "zebra"), [2, 0]);
    index.complete(&long, None);
    assert_eq!(found(&index, "zebra"), [2, 1, 0]);
    assert_eq!((found(&index, "form"), index.len()), (vec![2, 1, 0], 3));
}

#[test]
fn an_announced_document_can_be_removed() {
    let index = Index::new();
    let announced = [0, 1].map(|sequence| index.announce(sequence, &described("form", ""), None));
    index.remove(0);
    assert_eq!((found(&index, "form"), index.len()), (vec![1], 1));
    index.complete(&announced[0], Some(&described("form", "zebra")));
    assert_eq!((found(&index, "form zebra"), index.len()), (vec![1], 1));
    index.clear();
    index.complete(&announced[1], Some(&described("form", "zebra")));
    assert!(found(&index, "form zebra").is_empty() && index.is_empty());
}

#[test]
fn completed_lists_are_given_back() {
    let index = Index::new();
    let announced: Vec<_> = (0..FULL * 2 + 1)
        .map(|sequence| index.announce(sequence, &described("form", ""), None))
        .collect();
    assert_eq!(index.announced.load().len(), 3);
    announced.iter().for_each(|announced| index.complete(announced, None));
    assert_eq!(index.announced.load().len(), 0);
    assert_eq!(found(&index, "form").len(), announced.len());
}

#[test]
fn readers_see_what_is_completed_meanwhile() {
    const DOCUMENTS: u64 = 3000;
    let index = Index::new();
    let announced: Vec<_> = (0..DOCUMENTS)
        .map(|sequence| index.announce(sequence, &described("form", ""), None))
        .collect();
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for announced in &announced {
                index.complete(announced, Some(&described("form", "late")));
                index.maintain();
            }
            is_over.store(true, Ordering::Release);
        });
        while !is_over.load(Ordering::Acquire) {
            let mut sequences = found(&index, "form");
            sequences.sort_unstable();
            assert!(sequences.into_iter().eq(0..DOCUMENTS), "each once");
        }
    });
    assert_eq!(found(&index, "late").len() as u64, DOCUMENTS);
}

#[test]
fn what_is_removed_while_segments_are_built_stays_removed() {
    let index = Index::new();
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Acquire) {
                index.maintain();
            }
        });
        for sequence in 0..FULL * 20 {
            index.add(sequence, &described("form", ""));
            if sequence >= 300 && sequence % 3 > 0 {
                index.remove(sequence - 300);
            }
        }
        is_over.store(true, Ordering::Release);
    });
    index.maintain();
    let is_kept = |sequence: u64| sequence + 300 >= FULL * 20 || (sequence + 300).is_multiple_of(3);
    let mut sequences = found(&index, "form");
    sequences.sort_unstable();
    assert!(sequences.iter().copied().eq((0..FULL * 20).filter(|sequence| is_kept(*sequence))));
    assert_eq!(index.len(), sequences.len());
}

#[test]
fn the_oldest_results_leave_first_and_short_fields_stay() {
    const BUDGET: usize = 1_000_000;
    let words: String = (0..100).map(|number| format!("word{number} ")).collect();
    let index = Index::with_budget(BUDGET);
    for sequence in 0..FULL * 12 {
        let result = format!("result {sequence} zebra {words}");
        let description = format!("output{sequence}");
        index.add(sequence, &described(&description, &result));
        index.maintain();
    }
    assert!(index.bytes() < BUDGET * 2, "{}", index.bytes());
    let with_results = found(&index, "zebra");
    assert!(with_results.contains(&(FULL * 12 - 1)) && !with_results.contains(&0));
    assert_eq!(found(&index, "output0").first(), Some(&0));
    assert_eq!(found(&index, "output").len() as u64, FULL * 12);
}

#[test]
fn a_removed_document_of_the_tail_does_not_reach_a_segment() {
    let index = Index::new();
    add(&index, 0..FULL - 1);
    index.remove(3);
    add(&index, [FULL]);
    assert_eq!(sizes(&index), [SLOTS - 1]);
    assert_eq!(index.len(), SLOTS - 1);
}
