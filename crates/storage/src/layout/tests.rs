use super::*;
use proptest::prelude::*;

fn name<'a>(session: Option<&'a str>, tool: &'a str) -> ContextName<'a> {
    ContextName {
        session,
        tool,
        arguments_hash: "0123456789ab",
        timestamp: 1_700_000_000_123,
        counter: 7,
        random: 0xabc,
    }
}

#[test]
fn shows_tool_hash_time_and_counter() {
    assert_eq!(
        context(&name(None, "read-file")),
        "read_file_0123456789ab_1700000000123_7_0000000000000abc.json"
    );
    assert_eq!(
        context(&name(Some("session-1"), "grep")),
        "session-1-grep_0123456789ab_1700000000123_7_0000000000000abc.json"
    );
    assert!(context(&name(None, "")).starts_with("tool_0123456789ab_"));
}

#[test]
fn session_ids_stay_readable() {
    for (session, prefix) in [
        ("session-abc123", "session-abc123-"),
        ("Agent_7--b", "Agent_7--b-"),
        ("-rf", "_rf-"),
        ("-", "_-"),
        ("a b/ü", "a_b__-"),
    ] {
        assert_eq!(session_prefix(session), prefix, "{session}");
        let made = context(&name(Some(session), "grep"));
        assert!(made.starts_with(prefix) && may_be_of_session(&made, session), "{made}");
    }
    let former = "session_1-grep_0123456789ab_1700000000123_7_0000000000000abc.json";
    assert!(may_be_of_session(former, "session-1") && parse_context(former).is_some());
    assert!(!may_be_of_session(former, "session") && !may_be_of_session(former, "other-1"));
    assert_eq!(session_prefix(&"-x".repeat(100)).len(), MAX_SESSION + 1);
}

#[test]
fn recognises_nothing_foreign() {
    for foreign in [
        "package.json",
        "read_file_a1b2c3.json",
        "_0123456789ab_1_7_0000000000000abc.json",
        "x_0123456789ab_+1_7_0000000000000abc.json",
        "x_0123456789ab_1_7_0000000000000ABC.json",
        "x_0123456789ab_1_7_0000000000000abc.json.bak",
        "x y_0123456789ab_1_7_0000000000000abc.json",
    ] {
        assert_eq!(parse_context(foreign), None, "{foreign}");
    }
    assert_eq!(parse_lease(".lease"), None);
    assert_eq!(parse_temporary("notes.tmp"), None);
    assert_eq!(parse_temporary(".0123456789abcdef-x.tmp"), None);
}

#[test]
fn recognises_its_own_leases_and_temporary_files() {
    let owner = new_owner();
    assert_eq!(parse_lease(&lease(&owner)), Some(owner.as_str()));
    assert_eq!(parse_temporary(&temporary(&owner, 12)), Some(owner.as_str()));
}

#[test]
fn recognises_what_was_to_replace_a_file() {
    let made = replacement("context.jsonl");
    assert!(is_replacement(&made, "context.jsonl"));
    assert_eq!(parse_temporary(&made), None);
    for foreign in ["context.jsonl", ".context.jsonl.tmp", ".context.jsonl.x.tmp", ".a.tmp"] {
        assert!(!is_replacement(foreign, "context.jsonl"), "{foreign}");
    }
    assert!(!is_replacement(&made, "context"), "a file with a longer name has its own");
    for name in ["20260221T143022-auth.md", "notes.md", STORE_JOURNAL, STORE_INDEX] {
        assert!(is_store_replacement(&replacement(name)), "{name}");
    }
    let of_lock = replacement(STORE_LOCK);
    for foreign in [
        made.as_str(),
        of_lock.as_str(),
        ".a.md",
        "a.md",
        ".a.md.0123.tmp",
        "a.md.0123456789abcdef.tmp",
        "..md.0123456789abcdef.tmp",
        ".context-store.journal.0123456789abcdef.tmp",
    ] {
        assert!(!is_store_replacement(foreign), "{foreign}");
    }
    assert!(is_memory_replacement(&replacement(MEMORY)));
    for foreign in [made.as_str(), "memory.json.0123456789abcdef.tmp", ".memory.json.tmp"] {
        assert!(!is_memory_replacement(foreign), "{foreign}");
    }
}

#[test]
fn each_workspace_has_a_cache_of_its_own() {
    let made = symbols(Path::new("/home/a/project"));
    assert_eq!(made, symbols(Path::new("/home/a/project")));
    assert_ne!(made, symbols(Path::new("/home/a/project2")));
    assert!(is_symbols(&made) && !is_symbols("symbols-x.index") && !is_symbols("symbols"));
    let hash = made.strip_prefix("symbols-").and_then(|rest| rest.strip_suffix(".index"));
    assert!(hash.is_some_and(|hash| is_hex(hash, RANDOM)), "{made}");
}

#[test]
fn entries_of_one_second_are_numbered() {
    assert_eq!(entry("20260221T143022", "auth", 1), "20260221T143022-auth.md");
    assert_eq!(entry("20260221T143022", "auth", 2), "20260221T143022-auth-2.md");
}

proptest! {
    #[test]
    fn any_tool_and_session_make_a_safe_name(
        tool in any::<String>(),
        session in proptest::option::of(any::<String>()),
        timestamp in any::<i64>(),
        counter in any::<u64>(),
        random in any::<u64>(),
    ) {
        let made = context(&ContextName {
            session: session.as_deref(), tool: &tool, arguments_hash: "00ff00ff00ff",
            timestamp, counter, random,
        });
        prop_assert!(made.len() < 200);
        prop_assert!(made.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b)));
        prop_assert!(!made.starts_with('.') && made.matches('.').count() == 1);
        prop_assert_eq!(
            parse_context(&made),
            Some(ContextStamp { timestamp: timestamp.max(0), counter, random })
        );
    }

    #[test]
    fn any_name_is_judged_without_panic(text in any::<String>()) {
        let _ = (parse_context(&text), parse_lease(&text), parse_temporary(&text));
    }
}

#[test]
fn bytes_have_the_name_of_their_context() {
    let name = context(&name(Some("s"), &"t".repeat(500)));
    let bytes = bytes_of(&name);
    assert!(bytes.len() <= MAX_NAME, "{bytes}");
    assert_eq!(parse_bytes(&bytes), Some(name.clone()));
    assert_eq!(parse_context(&bytes), None);
    for other in [name.as_str(), "photo.bin", ".bin", ".json.bin"] {
        assert_eq!(parse_bytes(other), None, "{other}");
    }
}
