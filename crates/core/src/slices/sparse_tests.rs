//! Slices of blocks are those of the whole text, and damaged tables are refused.

use proptest::prelude::*;
use tasks::Cancelled;

use super::{
    Part, Request, Slice, Stored,
    blocks::{Blocks, BlocksWriter, MIN_RESULT, remove_blocks},
    read,
    sparse::{Sliced, SparseRequest},
};

/// The bytes of a result without its quotes.
fn content(token: &[u8], blocks: &Blocks) -> Vec<u8> {
    let quotes = usize::from(blocks.is_string());
    token[quotes..token.len() - quotes].to_vec()
}

/// The slice as a reader of blocks gets it.
fn sparse(token: &[u8], blocks: &Blocks, request: &Request) -> Slice {
    let content = content(token, blocks);
    let sparse = SparseRequest::new(request, blocks).unwrap();
    let window = |blocks_wanted: std::ops::Range<usize>| {
        let (start, end) = (blocks_wanted.start, blocks_wanted.end);
        let stored = &content[blocks.place(start).stored..blocks.place(end).stored];
        sparse.window(start, blocks.text(start, end, stored).unwrap())
    };
    match sparse.slice(&window(sparse.needs())).unwrap() {
        Sliced::Done(slice) => slice,
        Sliced::LacksEnd(slice, block) => {
            sparse.with_end(slice, &window(block..block + 1)).unwrap()
        }
    }
}

/// Pieces of JSON strings: characters of all lengths, escapes, pairs and halves of surrogates, line ends.
fn escaped() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "a",
        "bc def",
        "é",
        "€",
        "😀",
        "\\n",
        "\\r\\n",
        "\\\"",
        "\\\\",
        "\\t",
        "\\u00e9",
        "\\u20ac",
        "\\u000a",
        "\\ud83d\\ude00",
        "\\ud83d",
        "\\ude00",
        "\\u0041",
        "/",
        "\\/",
    ]);
    prop::collection::vec(piece, 0..120).prop_map(|pieces| format!("\"{}\"", pieces.concat()))
}

/// Other JSON, with line ends between tokens.
fn other() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec!["1,", "\n", "\"é€\",", "\r\n", "\"x\\ny\",", "[],"]);
    prop::collection::vec(piece, 0..60).prop_map(|pieces| format!("[{}0]", pieces.concat()))
}

fn parts() -> impl Strategy<Value = Option<Part>> {
    let bound = || prop::option::of(0_usize..300);
    prop_oneof![
        (0_u8..1).prop_map(|_| None),
        (0_usize..300, bound()).prop_map(|(from, to)| Some(Part::Bytes { from, to })),
        (1_usize..80, prop::option::of(0_usize..80))
            .prop_map(|(from, to)| Some(Part::Lines { from, to })),
    ]
}

fn same(one: &Slice, other: &Slice) -> bool {
    format!("{one:?}") == format!("{other:?}")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn slices_of_blocks_are_those_of_the_whole_text(
        token in prop_oneof![3 => escaped(), 1 => other()],
        part in parts(),
        max_bytes in 4_usize..200,
        least in 1_usize..60,
        piece in 1_usize..40,
    ) {
        let token = token.as_bytes();
        let blocks = BlocksWriter::of_pieces(least, token.chunks(piece));
        prop_assume!(blocks.len() > 0);
        prop_assert_eq!(blocks.stored(), token.len());
        let request = Request { json_path: None, part, max_bytes };
        let text = std::str::from_utf8(token).unwrap();
        let whole = read(Stored::Json(text), &request, &Cancelled::default()).unwrap();
        let slice = sparse(token, &blocks, &request);
        prop_assert!(same(&slice, &whole), "{slice:?}\n{whole:?}");
        let mut record = br#"{"toolName":"t","result":"#.to_vec();
        record.extend_from_slice(token);
        let plain = [record.as_slice(), b"}"].concat();
        blocks.append_to(&mut record);
        record.push(b'}');
        let (found, taken) = Blocks::at_end_of(&record).unwrap();
        prop_assert_eq!(&found, &blocks);
        prop_assert_eq!(taken, record.len() - plain.len() + 1);
        remove_blocks(&mut record);
        prop_assert_eq!(record, plain);
    }

    #[test]
    fn a_changed_byte_is_noticed(
        token in escaped(), least in 1_usize..60, at in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        let blocks = BlocksWriter::of_pieces(least, std::iter::once(token.as_bytes()));
        prop_assume!(blocks.len() > 0);
        let mut stored = content(token.as_bytes(), &blocks);
        let slot = at.get_mut(&mut stored);
        prop_assume!(*slot != byte);
        *slot = byte;
        prop_assert_eq!(blocks.text(0, blocks.len(), &stored), None);
        let mut record = b"{\"result\":1".to_vec();
        blocks.append_to(&mut record);
        record.push(b'}');
        let length = record.len();
        let slot = at.get_mut(&mut record[11..]);
        prop_assume!(*slot != byte);
        *slot = byte;
        prop_assert!(Blocks::at_end_of(&record).is_none_or(|(found, _)| found == blocks && record.len() == length));
    }

    #[test]
    fn any_end_of_a_record_is_judged(bytes in any::<Vec<u8>>(), digits in "[0-9,\\[\\]]{0,60}") {
        let _ = Blocks::at_end_of(&bytes);
        let record = format!("{{\"result\":1,\"resultBlocks\":[{digits}]}}");
        prop_assert!(Blocks::at_end_of(record.as_bytes()).is_none());
    }
}

#[test]
fn a_result_that_looks_like_the_member_has_no_table() {
    for record in [
        r#"{"toolName":"t","result":"x\",\"resultBlocks\":[1]"}"#,
        r#"{"toolName":"t","result":{"a":1,"resultBlocks":[1,2]}}"#,
        r#"{"toolName":"t","result":["resultBlocks",[1]]}"#,
    ] {
        assert!(Blocks::at_end_of(record.as_bytes()).is_none(), "{record}");
        let mut kept = record.as_bytes().to_vec();
        remove_blocks(&mut kept);
        assert_eq!(kept, record.as_bytes());
    }
}

#[test]
fn long_results_have_tables_of_bounded_size() {
    assert!(Blocks::of(&vec![b'1'; MIN_RESULT - 1]).is_none());
    let line = "a line of text\\n";
    for length in [MIN_RESULT, 20_000_000] {
        let token = format!("\"{}\"", line.repeat(length / line.len() + 1));
        let blocks = Blocks::of(token.as_bytes()).unwrap();
        assert!(blocks.len() <= 1001 && blocks.member().len() < super::MAX_MEMBER);
        let request = Request {
            json_path: None,
            part: Some(Part::Lines { from: length / 20, to: None }),
            max_bytes: 1000,
        };
        let needs = SparseRequest::new(&request, &blocks).unwrap().needs();
        assert!(needs.len() <= 3, "{needs:?}");
        let whole = read(Stored::Json(&token), &request, &Cancelled::default()).unwrap();
        assert!(same(&sparse(token.as_bytes(), &blocks, &request), &whole));
    }
}
