//! Adds the terms of context files to the index of a database. Saves do not: the first search that needs them does, for
//! the files of all sessions, and later ones for the files that are new.

use std::{path::Path, sync::Arc};

use storage::{Coverage, FileError, FileKind, FileTerms, FileWithoutTerms, TermsOfFile};
use text_index::Analysed;

use super::{
    beginnings::Beginnings,
    directory_index::{DirectoryIndex, is_own, sequence_of},
    facets,
    file_head::{NoHead, skipped},
    file_text::{FileText, READ},
    session::Session,
    stored_text::StoredText,
};

/// The files that are looked for at once.
const FILES: usize = 1000;
/// The files that may be unreadable, such as those in a bucket that this process does not use, before the search does without
/// the index.
const UNREADABLE: usize = 8;
/// The bytes of terms that are added at once.
const BYTES: usize = 1024 * 1024;

/// Adds the terms of all files that have none. Contexts of other sessions that are read for that are offered to the index.
///
/// # Errors
/// The file system's.
pub(super) async fn add_missing(
    session: &Arc<Session>,
    terms: &dyn FileTerms,
    index: &DirectoryIndex,
) -> std::result::Result<(), FileError> {
    let directory = session.directory.path();
    let file_system = session.directory.file_system.as_ref();
    let root = file_system.canonical(directory).await?;
    let mut unreadable = 0;
    loop {
        let missing = terms.missing(directory, FileKind::Contexts, FILES).await?;
        let count = missing.len();
        if count > 0 && index.refuses_terms() {
            // Before files are read for nothing.
            add(terms, index, directory, Vec::new()).await?;
        }
        let entries = missing.iter().map(|file| &file.entry);
        let mut beginnings = Beginnings::new(file_system, &root, entries, READ);
        let (mut read, mut bytes, mut added) = (Vec::new(), 0, 0);
        for file in missing {
            // Lets other tasks run; a cancelled search stops here.
            tokio::task::yield_now().await;
            let name = file.entry.name.clone();
            let found = match terms_of(session, index, &mut beginnings, file).await {
                Ok(Some(found)) => found,
                Ok(None) => continue,
                Err(error) if unreadable < UNREADABLE => {
                    unreadable += 1;
                    skipped(&session.debug, &session.directory.path_of(&name), &error.to_string());
                    continue;
                }
                Err(error) => return Err(error),
            };
            bytes += found.terms.iter().map(String::len).sum::<usize>();
            read.push(found);
            if bytes > BYTES {
                added += add(terms, index, directory, std::mem::take(&mut read)).await?;
                bytes = 0;
            }
        }
        if !read.is_empty() {
            added += add(terms, index, directory, read).await?;
        }
        // Files that cannot be read now are tried again by the next search.
        if count < FILES || added == 0 {
            return Ok(());
        }
    }
}

async fn add(
    terms: &dyn FileTerms,
    index: &DirectoryIndex,
    directory: &Path,
    files: Vec<TermsOfFile>,
) -> std::result::Result<u64, FileError> {
    let added = terms.add(directory, files).await;
    index.note_refusal(added.is_err());
    added
}

/// The terms of a file; `None` if it was removed.
async fn terms_of(
    session: &Arc<Session>,
    index: &DirectoryIndex,
    beginnings: &mut Beginnings<'_>,
    FileWithoutTerms { entry, id }: FileWithoutTerms,
) -> std::result::Result<Option<TermsOfFile>, FileError> {
    let is_own = is_own(session, &entry.name);
    if is_own && let Some(text) = in_memory(session, &entry.name) {
        return Ok(Some(of_text(id, &text)));
    }
    let text = match FileText::read(beginnings, &entry).await {
        Ok(text) => text,
        Err(NoHead::Unreadable(error)) if error.is_not_found() => return Ok(None),
        Err(NoHead::Unreadable(error)) => return Err(error),
        Err(NoHead::NoRecord(reason)) => {
            skipped(&session.debug, &session.directory.path_of(&entry.name), reason.reason());
            let (terms, lengths) = (Vec::new(), Vec::new());
            return Ok(Some(TermsOfFile { id, coverage: Coverage::None, terms, lengths }));
        }
    };
    let terms = of_text(id, &text);
    if !is_own {
        index.offer(&entry, text);
    }
    Ok(Some(terms))
}

/// A context of this session whose record is in memory.
fn in_memory(session: &Session, name: &str) -> Option<FileText> {
    let pointer = session.pointers.get(sequence_of(session, name)?)?;
    let text = StoredText::of_held(session.pointers.cached(name)?)?;
    Some(FileText::of_stored(pointer, &text))
}

fn of_text(id: u128, text: &FileText) -> TermsOfFile {
    let analysed = text.with_document(|document| Analysed::new(0, document));
    TermsOfFile {
        id,
        coverage: if text.is_partial { Coverage::Part } else { Coverage::Whole },
        terms: analysed
            .terms()
            .map(str::to_owned)
            .chain(facets::of_pointer(&text.pointer))
            .collect(),
        lengths: analysed.lengths().to_vec(),
    }
}
