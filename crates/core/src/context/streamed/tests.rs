use std::{path::Path, sync::Arc};

use proptest::prelude::*;
use storage::{Durability, LocalDisk};

use super::{
    super::{
        ManagerOptions, Retention,
        bytes::{GivenPart, parts_of},
        manager::Manager,
        record,
        save_request::SaveRequest,
    },
    *,
};
use crate::Debug;

fn manager(directory: &Path, max_result_bytes: usize) -> Arc<Manager> {
    let directory = directory.to_str().unwrap().to_owned();
    let options = ManagerOptions {
        prefix: format!("{directory}/"),
        directory,
        session: "s".to_owned(),
        session_is_named: false,
        resumes: false,
        persist_threshold: 0,
        persist_all: true,
        memory_budget: 0,
        index_budget: usize::MAX,
        retention: Retention {
            max_age: i64::MAX,
            max_files: usize::MAX,
            max_bytes: u64::MAX,
            max_result_bytes,
            keep_paused: 0,
            max_paused_bytes: u64::MAX,
            max_live_bytes: u64::MAX,
            max_live_files: usize::MAX,
        },
        durability: Durability::Full,
        trust: crate::Trust::default(),
    };
    Manager::new(options, Arc::new(LocalDisk), Debug::default())
}

fn request(result: Encoded) -> SaveRequest {
    SaveRequest {
        tool_name: "t".to_owned(),
        arguments: encoded("{\"b\":1,\"a\":2}"),
        result,
        timestamp: 1_700_000_000_000,
        task: None,
        query: None,
        details: None,
        redaction: None,
    }
}

fn encoded(json: &str) -> Encoded {
    Encoded::Text(json.encode_utf16().collect())
}

/// The text of a file up to its result, without the random part of its name.
async fn stored(
    manager: &Manager,
    pieces: Vec<Piece>,
    envelope: Option<Envelope>,
) -> (String, String) {
    let stream = manager.stream(None, usize::MAX);
    for piece in pieces {
        stream.write(piece).await.unwrap();
    }
    let sequence = manager.begin_save();
    let saved = manager
        .store_streamed(sequence, request(encoded("null")), &stream, envelope)
        .await
        .unwrap();
    (std::fs::read_to_string(&saved.stored.path).unwrap(), saved.stored.handle)
}

async fn whole(manager: &Manager, result: &str) -> (String, String) {
    let saved = manager.store(manager.begin_save(), request(encoded(result))).await.unwrap();
    (std::fs::read_to_string(&saved.stored.path).unwrap(), saved.stored.handle)
}

fn only_temporaries(directory: &Path) -> usize {
    let names = std::fs::read_dir(directory).unwrap();
    names
        .filter(|name| name.as_ref().unwrap().path().extension().is_some_and(|end| end == "tmp"))
        .count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_stream_has_the_record_of_the_whole_value(
        text in "(?s).{0,200}",
        size in 1_usize..40,
        elements in prop::collection::vec("[a-z\"é]{0,9}|[0-9]", 0..8),
        is_within in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let manager = manager(folder.path(), 1 << 20);
        tokio::runtime::Runtime::new().unwrap().block_on(async {
            let envelope = is_within.then(|| Envelope { object: "{\"url\":\"u\"}".to_owned(), member: "body".to_owned() });
            let around = |json: &str| if is_within { format!("{{\"url\":\"u\",\"body\":{json}}}") } else { json.to_owned() };
            let pieces = || text.as_bytes().chunks(size).map(|piece| Piece::Bytes(piece.to_vec()));
            let token = json_text::string_token(&text);
            let expected = whole(&manager, &around(&token)).await;
            assert_eq!(stored(&manager, pieces().collect(), envelope.clone()).await, expected);

            let values: Vec<String> = elements.iter().map(|text| json_text::string_token(text)).collect();
            let mut batches: Vec<Piece> = if text.is_empty() { Vec::new() } else { pieces().collect() };
            let array = |values: &[String]| format!("[{}]", values.join(","));
            batches.push(Piece::Elements { array: encoded("[]"), bytes: None });
            batches.extend(values.chunks(3).map(|batch| Piece::Elements { array: encoded(&array(batch)), bytes: None }));
            let all: Vec<String> = Some(token).filter(|_| !text.is_empty()).into_iter().chain(values).collect();
            let expected = whole(&manager, &around(&array(&all))).await;
            assert_eq!(stored(&manager, batches, envelope).await, expected);
        });
        prop_assert_eq!(only_temporaries(folder.path()), 0);
    }
}

#[tokio::test]
async fn bytes_in_elements_and_before_them_are_in_the_file_of_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let manager = manager(folder.path(), 1 << 20);
    let part = |contents: &[u8]| GivenPart { contents: contents.to_vec(), media_type: None };
    let marked = |number: usize, contents: &[u8]| Piece::Elements {
        array: encoded(&format!("[1,{{\"a\":\"stored bytes {number:04} 0\"}}]")),
        bytes: Some(GivenBytes {
            marker: format!("stored bytes {number:04}"),
            parts: vec![part(contents)],
        }),
    };
    let pieces =
        vec![Piece::Bytes(b"\xff\xfe".to_vec()), marked(1, b"\xffone"), marked(2, b"\xfftwo")];
    let (record, _) = stored(&manager, pieces, None).await;
    let head = record::parse_head(record.as_bytes()).unwrap();
    let parts = parts_of(&record.as_bytes()[head.bytes.unwrap()]);
    let paths: Vec<&str> = parts.iter().map(|part| part.path.get()).collect();
    assert_eq!(paths, ["[0]", "[2,\"a\"]", "[4,\"a\"]"]);
    let path = manager.list(None).await.unwrap();
    drop(path);
    let file = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| std::fs::read(path).unwrap().ends_with(b"\n\xff\xfe\xffone\xfftwo"));
    assert!(file.is_some(), "the bytes are there in the order of the parts");
}

#[tokio::test]
async fn what_does_not_fit_is_left_out_and_the_record_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let manager = manager(folder.path(), 100);
    for (piece, expected) in [
        (Piece::Bytes("\"é".repeat(60).into_bytes()), "\"é".repeat(24) + "\""),
        (Piece::Bytes(vec![0xff; 90]), String::new()),
    ] {
        let stream = manager.stream(None, 1000);
        let is_full = stream.write(piece).await.unwrap();
        let sequence = manager.begin_save();
        let saved = manager.store_streamed(sequence, request(encoded("null")), &stream, None).await;
        if expected.is_empty() {
            assert!(is_full && saved.is_err_and(|error| error.code == Code::TooLarge));
            continue;
        }
        let record = std::fs::read(saved.unwrap().stored.path).unwrap();
        let head = record::parse_head(&record).unwrap();
        assert!(is_full && head.cut.is_some());
        let result = record::check(&record).unwrap();
        assert!(result.len() <= 100, "{}", result.len());
        assert_eq!(json_text::decode_string(&record[result]).unwrap(), expected);
    }
}

#[tokio::test]
async fn a_stream_that_is_given_up_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let manager = manager(folder.path(), 1000);
    let stream = manager.stream(None, 1000);
    stream.write(Piece::Bytes(b"text".to_vec())).await.unwrap();
    assert_eq!(only_temporaries(folder.path()), 1);
    stream.discard();
    assert_eq!(only_temporaries(folder.path()), 0);
    assert!(stream.write(Piece::Bytes(b"text".to_vec())).await.is_err());
    let sequence = manager.begin_save();
    assert!(
        manager.store_streamed(sequence, request(encoded("null")), &stream, None).await.is_err()
    );
}
