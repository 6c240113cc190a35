//! Checks of the context store's files that must hold for any text.

use agent_context_core::store::{Change, Document, EntryType, NewEntry};

/// Any text is parsed without loss or refused. Changes are read back, and the rest is unchanged. Any text can be a part
/// of a new file.
///
/// # Panics
/// When a check fails.
pub fn check_document(text: &str) {
    check_parts(text);
    for text in [
        text.to_owned(),
        format!("---\n{text}\n---\n{text}"),
        format!("---\ntype: finding\n{text}"),
    ] {
        if let Ok(document) = Document::parse(&text) {
            assert_eq!(document.to_text(), text, "lost something");
            check_changes(document);
        }
    }
}

fn check_changes(mut document: Document) {
    let (content, changes) = (document.content().into_owned(), document.changelog());
    let change = Change {
        timestamp: "2026-02-21T14:30:22Z".to_owned(),
        agent: content.clone(),
        description: content.clone(),
    };
    let links: Vec<String> =
        document.links().iter().cloned().chain(["a/b.md".to_owned()]).collect();
    document.set_type(EntryType::Reference);
    document.set_tags(links.clone());
    document.set_links(links.clone());
    document.add_change(&change);
    let mut document = reread(&document);
    assert_eq!(document.entry_type(), EntryType::Reference);
    assert_eq!((document.tags(), document.links()), (links.as_slice(), links.as_slice()));
    assert_eq!(document.content(), content);
    assert_eq!(document.changelog().len(), changes.len() + 1);
    let content = format!("{content}```\n## Changelog\n{content}");
    document.set_content(&content);
    let document = reread(&document);
    assert_eq!(document.content(), content);
    assert_eq!(document.changelog().len(), changes.len() + 1);
}

fn check_parts(text: &str) {
    let list = vec![text.to_owned(), "null".to_owned(), text.to_owned()];
    let document = Document::new(NewEntry {
        agent: text,
        session_id: text,
        timestamp: 0,
        entry_type: EntryType::Artifact,
        tags: list.clone(),
        links: list.clone(),
        content: text,
    });
    let document = reread(&document);
    let told = Some(text).filter(|text| !text.is_empty());
    assert_eq!((document.agent(), document.session_id()), (told, told));
    assert_eq!((document.tags(), document.links()), (list.as_slice(), list.as_slice()));
    assert_eq!(document.content(), text);
    assert!(document.changelog().is_empty());
}

fn reread(document: &Document) -> Document {
    let text = document.to_text();
    let read = Document::parse(&text).unwrap_or_else(|problem| panic!("{problem:?} in {text:?}"));
    assert_eq!(read.to_text(), text, "lost something");
    read
}
