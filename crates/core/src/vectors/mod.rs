//! Vectors of texts from the caller's embedding model, by a digest of the text, in memory and in a cache file per model.
//!
//! Vectors are quantised: 8 bits a number. The cache has a fixed capacity; the least recently used vectors are evicted
//! first. A vector is only found under the name of the model that computed it. Vectors of a model without a name stay
//! in memory, and belong to the object that got them.
//!
//! | module | contents |
//! |---|---|
//! | `quantised` | a vector of 8-bit numbers, and the cosine of two |
//! | `table` | the vectors of one model in memory |
//! | `file` | the same on disk, shared by processes |

mod file;
mod quantised;
mod table;

#[cfg(test)]
mod tests;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};
use storage::{Disk, FileResult, Registry, layout};
use text_index::nearness;

use self::{file::CacheFile, table::Table};
use crate::{blocking::run_blocking, debug::Debug};

pub use quantised::Quantised;

/// The capacity of a model's vectors in memory and on disk, in bytes.
const CAPACITY: usize = 64 * 1024 * 1024;
/// The longest text that is embedded, in characters.
const MAX_TEXT: usize = 2000;
/// Vectors whose cosines are computed with the lock held.
const BATCH: usize = 4096;

/// Identifies a text: the first 128 bits of its SHA-256.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct TextDigest(u128);

impl TextDigest {
    /// The digest of a text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let digest = Sha256::digest(text);
        Self(u128::from_le_bytes(digest.first_chunk().copied().unwrap_or_default()))
    }
}

/// The text of a document that is embedded: its parts on lines, cut at 2000 characters.
#[must_use]
pub fn embedded_text(parts: &[&str]) -> String {
    let mut text = String::new();
    for part in parts.iter().filter(|part| !part.is_empty()) {
        if !text.is_empty() {
            text.push('\n');
        }
        // A character has at most four bytes.
        text.push_str(part.get(..part.floor_char_boundary(4 * MAX_TEXT)).unwrap_or_default());
    }
    if let Some((end, _)) = text.char_indices().nth(MAX_TEXT) {
        text.truncate(end);
    }
    text.truncate(text.trim_end().len());
    text
}

/// The vectors of one model, which several objects of the process may use.
#[derive(Clone)]
pub struct Vectors {
    shared: Arc<Shared>,
    debug: Debug,
}

struct Shared {
    table: Mutex<Table>,
    file: Option<Mutex<CacheFile>>,
}

/// The query of a search: its vector, and the vectors of the documents.
#[derive(Clone)]
pub struct Embedded {
    vectors: Vectors,
    query: Arc<Quantised>,
}

static OPEN: Registry<(u64, PathBuf), Shared> = Registry::new();

impl Vectors {
    /// The vectors of a model. With a name, and on a disk, they are also in a file in `directory`, which is created in
    /// its existing parent when needed, and all users in the process share them. Touches no file yet.
    #[must_use]
    pub fn open(
        disk: Option<Arc<dyn Disk>>,
        directory: &Path,
        model: Option<&str>,
        debug: Debug,
    ) -> Self {
        let shared = match (disk, model) {
            (Some(disk), Some(model)) => {
                let path = directory.join(layout::vectors_of(model));
                let file = || CacheFile::new(Arc::clone(&disk), directory, model);
                let open = || Arc::new(Shared::new(CAPACITY, Some(file())));
                OPEN.get_or_insert_with((disk.scope(), path), open)
            }
            _ => Arc::new(Shared::new(CAPACITY, None)),
        };
        Self { shared, debug }
    }

    /// Loads the vectors that were saved by this or another process since the last call.
    pub async fn refresh(&self) {
        self.with_file(|table, file| file.load(table)).await;
    }

    /// Adds the vectors of texts, one after the other in `numbers`, and saves them. If their number of dimensions differs from that
    /// of the vectors before, they replace them all.
    pub async fn add(&self, texts: Vec<String>, numbers: Vec<f32>) {
        let dimensions = (numbers.len() / texts.len().max(1)).max(1);
        let mut added = Vec::with_capacity(texts.len());
        for (text, numbers) in texts.iter().zip(numbers.chunks_exact(dimensions)) {
            if let Some(vector) = Quantised::of(numbers) {
                let text = TextDigest::of(text);
                self.shared.table().insert(text, &vector);
                added.push(text);
            }
        }
        self.with_file(|table, file| file.save(table, added)).await;
    }

    /// Runs blocking work on the file, if there is one. A failure is only reported, because the file is a cache.
    async fn with_file(
        &self,
        work: impl FnOnce(&Mutex<Table>, &mut CacheFile) -> FileResult<()> + Send + 'static,
    ) {
        if self.shared.file.is_none() {
            return;
        }
        let shared = Arc::clone(&self.shared);
        let done = run_blocking(move |_| {
            Ok(shared.file.as_ref().map(|file| {
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                work(&shared.table, &mut file)
            }))
        });
        let problem = match done.await {
            Ok(None | Some(Ok(()))) => return,
            Ok(Some(Err(error))) => format!("{}: {error}", error.path.display()),
            Err(error) => error.to_string(),
        };
        self.debug.say("The file of vectors cannot be used", || json!({ "error": problem }));
    }

    /// The number of vectors that fit.
    #[must_use]
    pub fn room(&self) -> usize {
        self.shared.table().room()
    }

    /// Whether a text has a vector.
    #[must_use]
    pub fn has(&self, text: TextDigest) -> bool {
        self.shared.table().touch(text)
    }

    /// Those of the texts that have no vector: each once, at most `limit`. Only as many texts are considered as vectors
    /// fit.
    pub fn missing(&self, texts: impl Iterator<Item = String>, limit: usize) -> Vec<String> {
        let mut seen = FxHashSet::default();
        let is_missing = |text: &String| {
            let text = TextDigest::of(text);
            !self.has(text) && seen.insert(text)
        };
        texts.take(self.room()).filter(is_missing).take(limit).collect()
    }

    /// A query with its vector; `None` if the vector is not valid.
    #[must_use]
    pub fn query(&self, vector: &[f32]) -> Option<Embedded> {
        let query = Arc::new(Quantised::of(vector)?);
        Some(Embedded { vectors: self.clone(), query })
    }
}

impl Shared {
    fn new(capacity: usize, file: Option<CacheFile>) -> Self {
        Self { table: Mutex::new(Table::new(capacity)), file: file.map(Mutex::new) }
    }

    // A poisoned lock is safe to use: at worst, a text has no vector.
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Embedded {
    /// The cosine between the query and each text that has a vector, as far as the text is known. `None` if none has.
    /// Vectors with another number of dimensions are from another model under the same name, and are removed.
    #[must_use]
    pub fn cosines(
        &self,
        texts: impl IntoIterator<Item = Option<TextDigest>>,
    ) -> Option<Vec<Option<f32>>> {
        self.drop_other_dimensions();
        let mut texts = texts.into_iter().peekable();
        let mut cosines = Vec::with_capacity(texts.size_hint().0);
        while texts.peek().is_some() {
            let mut table = self.vectors.shared.table();
            table.tick();
            // All places first: the processor overlaps look-ups that no computation separates.
            let batch = texts.by_ref().take(BATCH);
            let places: Vec<Option<usize>> = batch.map(|text| table.place(text?)).collect();
            cosines.extend(places.into_iter().map(|place| table.cosine(&self.query, place?)));
        }
        cosines.iter().any(Option::is_some).then_some(cosines)
    }

    /// How near each text is to the query, see [`text_index::nearness`]; `None` if no text has a vector.
    #[must_use]
    pub fn nearness(
        &self,
        texts: impl IntoIterator<Item = Option<TextDigest>>,
    ) -> Option<Vec<f32>> {
        self.cosines(texts).map(|cosines| nearness(&cosines))
    }

    fn drop_other_dimensions(&self) {
        let wanted = self.query.numbers().len();
        let mut table = self.vectors.shared.table();
        let found = table.dimensions();
        if found != 0 && found != wanted {
            table.clear();
            drop(table);
            self.vectors.debug.say(
                "The vectors of texts are not as long as the query's: they will be computed again",
                || json!({ "length": found, "queryLength": wanted }),
            );
        }
    }
}
