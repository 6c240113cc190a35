use base64::{Engine, engine::general_purpose::STANDARD};
use proptest::prelude::*;
use redaction::RedactionSession;
use serde_json::{Value, json};

use super::{
    GivenBytes, GivenPart, Placed,
    file::{self, owner_of},
    part::{digest_of, parts_of},
    take,
};

const MARKER: &str = "stored bytes 0123";

fn stored(result: &str, given: Option<GivenBytes>) -> (String, Option<Placed>) {
    let mut text = format!("head{result}").into_bytes();
    let mut pass = RedactionSession::new(None);
    let taken = take(&mut text, 4, given, &mut pass).unwrap();
    let placed = taken.and_then(|taken| taken.place(&mut text, 4, None)?.into_file("\"s\"", false));
    assert!(text.starts_with(b"head"));
    (String::from_utf8(text[4..].to_vec()).unwrap(), placed)
}

fn given(contents: &[&[u8]]) -> GivenBytes {
    let part = |contents: &&[u8]| GivenPart { contents: contents.to_vec(), media_type: None };
    GivenBytes { marker: MARKER.to_owned(), parts: contents.iter().map(part).collect() }
}

fn contents(placed: &Placed) -> Vec<u8> {
    file::read(placed.file.to_vec()).unwrap()
}

#[test]
fn base64_of_the_blocks_of_frameworks_is_stored_as_bytes() {
    let bytes: Vec<u8> = (0..=255).collect();
    let data = STANDARD.encode(&bytes);
    let url = format!("data:image/png;base64,{data}");
    let blocks = [
        (json!([{ "type": "image", "data": data, "mimeType": "image/png" }]), json!([0, "data"])),
        (
            json!([{ "type": "resource", "resource": { "uri": "a", "mimeType": "a/b", "blob": data } }]),
            json!([0, "resource", "blob"]),
        ),
        (
            json!({ "source": { "type": "base64", "media_type": "image/png", "data": data } }),
            json!(["source", "data"]),
        ),
        (
            json!({ "type": "image", "source_type": "base64", "data": data, "mime_type": "a/b" }),
            json!(["data"]),
        ),
        (json!({ "type": "file-data", "data": data, "mediaType": "a/b" }), json!(["data"])),
        (json!({ "type": "image_url", "image_url": { "url": url } }), json!(["image_url", "url"])),
        (json!({ "type": "input_file", "file_data": url }), json!(["file_data"])),
        (json!(url), json!([])),
    ];
    for (block, path) in blocks {
        let (text, placed) = stored(&block.to_string(), None);
        let placed = placed.unwrap_or_else(|| panic!("{block}"));
        let parts = parts_of(placed.token.as_bytes());
        assert_eq!(parts.len(), 1, "{block}");
        assert_eq!(serde_json::from_str::<Value>(parts[0].path.get()).unwrap(), path);
        assert_eq!(contents(&placed), bytes);
        assert_eq!(parts[0].prefix.is_some(), block.to_string().contains("data:image/png"));
        assert!(!text.contains(&data), "{text}");
        assert!(text.contains(&digest_of(&bytes)), "{text}");
        assert_eq!(owner_of(&placed.file).as_deref(), Some("s"));
    }
}

#[test]
fn other_texts_stay() {
    let data = STANDARD.encode([0xff; 60]);
    let unusual = [
        json!({ "type": "image", "data": data }),
        json!({ "mimeType": "a/b", "text": data }),
        json!({ "mimeType": "no type", "data": data }),
        // A form of base64 that encoding would not reproduce.
        json!({ "mimeType": "a/b", "data": data.replace('=', "") + "-_" }),
        json!({ "mimeType": "a/b", "data": "/7+A" }),
        json!({ "mimeType": "a/b", "data": [data] }),
        json!({ "mimeType": "a/b", "inner": { "data": data } }),
        json!(format!("see data:image/png;base64,{data}")),
        json!({ "type": "bytes", "sha256": "0".repeat(64), "size": 1 }),
    ];
    for value in unusual {
        let (text, placed) = stored(&value.to_string(), None);
        assert_eq!(text, value.to_string());
        assert!(placed.is_none(), "{value}");
    }
}

#[test]
fn images_have_dimensions() {
    let mut gif = b"GIF89a".to_vec();
    gif.extend_from_slice(&[3, 0, 2, 0, 0xf7, 0, 0, 0xff]);
    let (text, placed) = stored(&format!("\"{MARKER} 0\""), Some(given(&[&gif])));
    let part = &placed.unwrap().parts[0];
    assert!(part.is_whole());
    assert_eq!(part.description(), "14 bytes of image/gif, 3 x 2 pixels");
    assert!(text.contains("\"width\":3,\"height\":2"), "{text}");
}

#[test]
fn a_marker_counts_once_and_only_with_a_part() {
    let result = format!("[\"{MARKER} 1\",\"{MARKER} 0\",\"{MARKER} 0\",\"{MARKER} 2\"]");
    let (text, placed) = stored(&result, Some(given(&[b"\xff0", b"\xff1"])));
    let placed = placed.unwrap();
    assert_eq!(contents(&placed), b"\xff1\xff0");
    let result: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(result[0]["size"], 2);
    assert_eq!(result[2], format!("{MARKER} 0"));
    assert_eq!(result[3], format!("{MARKER} 2"));
}

#[test]
fn bytes_whose_place_is_gone_are_not_stored() {
    let (text, placed) = stored("[1]", Some(given(&[b"\xff"])));
    assert_eq!(text, "[1]");
    assert!(placed.is_none());
}

#[test]
fn paths_are_those_of_the_text() {
    let result =
        format!(r#"{{"a":[1,{{"b":2}},[],{{"c\n'":"{MARKER} 0"}}],"":{{"\ud800":"{MARKER} 1"}}}}"#);
    let (_, placed) = stored(&result, Some(given(&[b"\xff", b"\xfe"])));
    let parts = placed.unwrap().parts;
    assert_eq!(parts[0].path.get(), r#"["a",3,"c\n'"]"#);
    assert_eq!(parts[0].normalised_path().as_deref(), Some(r"$['a'][3]['c\n\'']"));
    assert_eq!(parts[1].path.get(), r#"["","\ud800"]"#);
    assert_eq!(parts[1].normalised_path(), None);
}

proptest! {
    #[test]
    fn any_bytes_come_back(
        parts in prop::collection::vec(any::<Vec<u8>>(), 1..5),
        session in ".*",
        is_text_only in any::<bool>(),
    ) {
        let session = json_text::string_token(&session);
        let file = file::write(&session, &parts, is_text_only);
        prop_assert_eq!(is_text_only && !file.is_ascii() && session.is_ascii(), false);
        prop_assert_eq!(owner_of(&file), json_text::decode_string(session.as_bytes()).map(|id| id.into_owned()));
        prop_assert_eq!(file::read(file), Some(parts.concat()));
    }

    #[test]
    fn base64_is_written_as_it_was(text in "[A-Za-z0-9+/=]{0,120}|[A-Za-z0-9+/]{64,68}={0,2}") {
        let (stored_text, placed) =
            stored(&json!({ "mimeType": "a/b", "data": text }).to_string(), None);
        match placed {
            Some(placed) => prop_assert_eq!(STANDARD.encode(contents(&placed)), text),
            None => prop_assert!(stored_text.contains(&text)),
        }
    }

    #[test]
    fn any_file_and_any_member_are_judged_without_panic(bytes in any::<Vec<u8>>()) {
        let _ = (owner_of(&bytes), parts_of(&bytes), file::read(bytes));
    }
}
