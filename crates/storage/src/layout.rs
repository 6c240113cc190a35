//! The names of all files on disk, except those of the state store, whose caller chooses the database's name and whose
//! other files are SQLite's. Other modules create and recognise reserved names, suffixes and temporary names through
//! this one.
//!
//! ```text
//! <contextDir>/
//! ├── [<session>-]<tool>_<arguments hash: 12 hex>_<epoch ms>_<counter>_<16 hex>.json   a context
//! ├── <the same>.bin              the bytes of that context's result, where it has any; written before it, removed after it
//! ├── .<16 hex>-<counter>.tmp     a context or a spool while the holder of the lease `.<16 hex>.lease` writes it
//! ├── .<16 hex>.lease             locked while its process lives, lists the sessions it keeps
//! ├── .<16 hex>.session           a session that its caller named, until it ends; the hex is a digest of the name
//! ├── .handles                    a cache: which file each handle means, in rows of one size
//! ├── .vectors/<16 hex>.index     a cache: vectors of texts by the embedding model with that hash
//! ├── .answer-key                 the random key of the signatures in the context tools' answers; never removed
//! └── ..answer-key.<16 hex>.tmp   a temporary file that will be renamed to `.answer-key`
//!
//! .wink/
//! ├── context.jsonl               a log, one record per line
//! ├── context.jsonl.lock          locked by a process that changes the log; empty, never removed
//! ├── context.jsonl.compaction.lock  locked by the process that compacts the log in the background; empty, never removed
//! ├── context.jsonl.index         a cache: the offsets of records
//! ├── context.jsonl.vectors/      caches of vectors, as in a context directory
//! └── .context.jsonl.<16 hex>.tmp a temporary file that will replace one of them
//!
//! <context store>/
//! ├── <agent>/[<session>/]<UTC time>-<slug>[-<number>].md   an entry
//! ├── .context-store.lock         locked by a process that changes an entry; empty, never removed
//! ├── .context-store.journal      a pending change of several entries
//! ├── .context-store.index        a cache: metadata of the entries
//! ├── .context-store.vectors/     caches of vectors, as in a context directory
//! └── .<name>.<16 hex>.tmp        a temporary file that will replace one of these, in the same directory
//!
//! <root of repository memories>/repos/<repository's hash: 64 hex>/
//! ├── memory.json                 conventions, decisions, notes
//! ├── memory.json.lock            locked by a process that changes them; empty, never removed
//! ├── summaries.jsonl             summaries of steps, one per line
//! ├── summaries.jsonl.lock        locked by a process that changes them; empty, never removed
//! ├── .vectors/                   caches of vectors, as in a context directory
//! ├── indexes/
//! │   ├── symbols-<16 hex>.index  a cache: definitions and references in the workspace with that hash
//! │   └── .<name>.<16 hex>.tmp    a temporary file that will replace it
//! └── .<name>.<16 hex>.tmp        a temporary file that will replace one of these files
//! ```
//!
//! Text from callers (tools, sessions) enters a name shortened and as ASCII letters, digits and `_` only, in sessions
//! also `-` except as the first character. It can therefore neither lead to another directory nor equal a reserved
//! name. The 64 random bits decide identity; names do not rely on letter case.

use std::{fmt::Write, path::Path};

use sha2::{Digest, Sha256};

/// Maximum length of a file name in bytes, below the limit of every common file system.
const MAX_NAME: usize = 199;
/// Maximum length of the session in a name, in bytes.
const MAX_SESSION: usize = 64;
/// The end of the names of contexts.
pub const CONTEXT_SUFFIX: &str = ".json";
/// Not longer than the suffix of a context, so that the name stays within its limit.
const BYTES_SUFFIX: &str = ".bin";
const TEMPORARY_SUFFIX: &str = ".tmp";
const LEASE_SUFFIX: &str = ".lease";
const LOCK_SUFFIX: &str = ".lock";
const COMPACTION_SUFFIX: &str = ".compaction";
const INDEX_SUFFIX: &str = ".index";
const VECTORS_SUFFIX: &str = ".vectors";
const SESSION_SUFFIX: &str = ".session";
/// The cache of handles: which file of a context directory each handle refers to.
pub const HANDLES: &str = ".handles";
/// The key with which tools for models sign their answers.
pub const ANSWER_KEY: &str = ".answer-key";
/// The suffix of the entries of a context store.
pub const ENTRY_SUFFIX: &str = ".md";
/// The lock file of a context store, locked by a process that changes an entry.
pub const STORE_LOCK: &str = ".context-store.lock";
/// The journal of a change of several entries of a context store.
pub const STORE_JOURNAL: &str = ".context-store.journal";
/// The index of a context store: a cache of the metadata of its entries.
pub const STORE_INDEX: &str = ".context-store.index";
/// The base of the names of a context store's further caches.
pub const STORE: &str = ".context-store";
/// The directory of the memories of repositories.
pub const REPOSITORIES: &str = "repos";
/// Conventions, decisions and notes about a repository.
pub const MEMORY: &str = "memory.json";
/// Summaries of the steps of runs in a repository.
pub const SUMMARIES: &str = "summaries.jsonl";
/// The directory of caches about a repository.
pub const INDEXES: &str = "indexes";
const ARGUMENTS_HASH: usize = 12;
const RANDOM: usize = 16;

/// The parts of a context's file name.
#[derive(Debug, Clone, Copy)]
pub struct ContextName<'a> {
    /// The session, if the caller named it.
    pub session: Option<&'a str>,
    /// The tool's name from the caller, unchanged.
    pub tool: &'a str,
    /// First 12 hex digits of the arguments' hash.
    pub arguments_hash: &'a str,
    /// Time of the call, ms since 1970.
    pub timestamp: i64,
    /// The number of the call within its manager.
    pub counter: u64,
    /// 64 random bits.
    pub random: u64,
}

/// The file name of a context.
#[must_use]
pub fn context(name: &ContextName<'_>) -> String {
    let tail = format!(
        "_{}_{}_{}_{:016x}{CONTEXT_SUFFIX}",
        name.arguments_hash,
        name.timestamp.max(0),
        name.counter,
        name.random
    );
    let mut text = name.session.map(session_prefix).unwrap_or_default();
    let room = MAX_NAME.saturating_sub(text.len() + tail.len());
    let tool: String = plain(name.tool).take(room).collect();
    text.push_str(if tool.is_empty() { "tool" } else { &tool });
    text.push_str(&tail);
    text
}

/// The prefix of the names of a named session's contexts. Several sessions may have the same prefix; the record in the
/// file decides.
#[must_use]
pub fn session_prefix(session: &str) -> String {
    let readable = session.chars().zip(plain(session)).enumerate();
    let readable = readable.map(|(index, (character, plain))| match character {
        '-' if index > 0 => '-',
        _ => plain,
    });
    readable.take(MAX_SESSION).chain(['-']).collect()
}

/// Whether a context's name has the prefix of a named session, also in the form of earlier versions, which wrote `-` in
/// a session as `_`.
#[must_use]
pub fn may_be_of_session(name: &str, session: &str) -> bool {
    session_prefixes(session).iter().any(|prefix| name.starts_with(prefix))
}

/// The prefixes of the names of a named session's contexts: that of this version, then that of earlier ones, if it differs.
#[must_use]
pub fn session_prefixes(session: &str) -> Vec<String> {
    let former: String = plain(session).take(MAX_SESSION).chain(['-']).collect();
    let mut prefixes = vec![session_prefix(session), former];
    prefixes.dedup();
    prefixes
}

fn plain(text: &str) -> impl Iterator<Item = char> {
    text.chars().map(|character| if character.is_ascii_alphanumeric() { character } else { '_' })
}

/// The parts of a context's file name that can be parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextStamp {
    /// Time of the call, ms since 1970.
    pub timestamp: i64,
    /// The manager's counter.
    pub counter: u64,
    /// 64 random bits.
    pub random: u64,
}

/// The hash of the arguments in the file name of a context.
#[must_use]
pub fn arguments_hash(name: &str) -> Option<&str> {
    parse_context(name)?;
    name.rsplit('_').nth(3)
}

/// Recognises the file name of a context.
#[must_use]
pub fn parse_context(name: &str) -> Option<ContextStamp> {
    let mut parts = name.strip_suffix(CONTEXT_SUFFIX)?.rsplitn(5, '_');
    let random = parts.next().filter(|part| is_hex(part, RANDOM));
    let counter = parts.next().and_then(number);
    let timestamp = parts.next().and_then(number);
    let hash = parts.next().filter(|part| is_hex(part, ARGUMENTS_HASH));
    let tool = parts.next().filter(|part| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
    });
    hash?;
    tool?;
    Some(ContextStamp {
        timestamp: i64::try_from(timestamp?).ok()?,
        counter: counter?,
        random: u64::from_str_radix(random?, 16).ok()?,
    })
}

/// The file name of the bytes of a context's result.
#[must_use]
pub fn bytes_of(context: &str) -> String {
    format!("{}{BYTES_SUFFIX}", context.strip_suffix(CONTEXT_SUFFIX).unwrap_or(context))
}

/// The file name of the context whose bytes are in the file with this name.
#[must_use]
pub fn parse_bytes(name: &str) -> Option<String> {
    let context = format!("{}{CONTEXT_SUFFIX}", name.strip_suffix(BYTES_SUFFIX)?);
    parse_context(&context).is_some().then_some(context)
}

fn number(text: &str) -> Option<u64> {
    // `parse` would accept a leading `+`.
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

fn is_hex(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// A new random name for an owner: the stem of a lease and of the temporary files written under it.
#[must_use]
pub fn new_owner() -> String {
    format!("{:016x}", random())
}

/// 64 random bits.
#[must_use]
pub fn random() -> u64 {
    // Rotated, so that the version and variant bits of one half are combined with random bits of the other.
    let (high, low) = uuid::Uuid::new_v4().as_u64_pair();
    high.rotate_left(32) ^ low
}

/// The file name of a lease.
#[must_use]
pub fn lease(owner: &str) -> String {
    format!(".{owner}{LEASE_SUFFIX}")
}

/// The file name of a session that the caller named.
#[must_use]
pub fn session(id: &str) -> String {
    format!(".{}{SESSION_SUFFIX}", short_digest(id.as_bytes()))
}

/// Whether a name is the file name of a named session.
#[must_use]
pub fn is_session(name: &str) -> bool {
    name.strip_prefix('.')
        .and_then(|rest| rest.strip_suffix(SESSION_SUFFIX))
        .is_some_and(|digest| is_hex(digest, RANDOM))
}

/// The first 64 bits of a SHA-256, in hex.
fn short_digest(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().take(RANDOM / 2).fold(String::new(), |mut hash, byte| {
        // Writing to a string does not fail.
        let _ = write!(hash, "{byte:02x}");
        hash
    })
}

/// The owner of a lease, from its file name.
#[must_use]
pub fn parse_lease(name: &str) -> Option<&str> {
    name.strip_prefix('.')?.strip_suffix(LEASE_SUFFIX).filter(|owner| is_hex(owner, RANDOM))
}

/// The temporary name under which the owner writes a file.
#[must_use]
pub fn temporary(owner: &str, counter: u64) -> String {
    format!(".{owner}-{counter}{TEMPORARY_SUFFIX}")
}

/// The owner of a temporary file, from its name.
#[must_use]
pub fn parse_temporary(name: &str) -> Option<&str> {
    let (owner, counter) =
        name.strip_prefix('.')?.strip_suffix(TEMPORARY_SUFFIX)?.split_once('-')?;
    number(counter)?;
    Some(owner).filter(|owner| is_hex(owner, RANDOM))
}

/// The lock file for changes of `name`.
#[must_use]
pub fn lock(name: &str) -> String {
    format!("{name}{LOCK_SUFFIX}")
}

/// The lock file for background compaction of `name`.
#[must_use]
pub fn compaction_lock(name: &str) -> String {
    format!("{name}{COMPACTION_SUFFIX}{LOCK_SUFFIX}")
}

/// The index file of `name`, with the offsets of records.
#[must_use]
pub fn index(name: &str) -> String {
    format!("{name}{INDEX_SUFFIX}")
}

/// The index file of the symbols of a workspace. Work trees of one repository may share a directory; each has its own
/// file.
#[must_use]
pub fn symbols(workspace: &Path) -> String {
    let hash = short_digest(workspace.as_os_str().as_encoded_bytes());
    format!("symbols-{hash}{INDEX_SUFFIX}")
}

/// Whether a name is that of a symbol index.
#[must_use]
pub fn is_symbols(name: &str) -> bool {
    name.strip_prefix("symbols-")
        .and_then(|rest| rest.strip_suffix(INDEX_SUFFIX))
        .is_some_and(|hash| is_hex(hash, 16))
}

/// The directory of the caches of vectors of `name`; without a name, of everything beside it.
#[must_use]
pub fn vectors(name: &str) -> String {
    format!("{name}{VECTORS_SUFFIX}")
}

/// The file of the vectors of an embedding model, in such a directory.
#[must_use]
pub fn vectors_of(model: &str) -> String {
    format!("{}{INDEX_SUFFIX}", short_digest(model.as_bytes()))
}

/// Whether a name is that of a file of vectors.
#[must_use]
pub fn is_vectors(name: &str) -> bool {
    name.strip_suffix(INDEX_SUFFIX).is_some_and(|hash| is_hex(hash, RANDOM))
}

/// Whether a name is a temporary name for replacing a file of vectors.
#[must_use]
pub fn is_vectors_replacement(candidate: &str) -> bool {
    let name = candidate.get(1..1 + RANDOM + INDEX_SUFFIX.len()).unwrap_or_default();
    is_vectors(name) && is_replacement(candidate, name)
}

/// A new temporary name for a file that will replace `name`.
#[must_use]
pub fn replacement(name: &str) -> String {
    format!(".{name}.{:016x}{TEMPORARY_SUFFIX}", random())
}

/// Whether `candidate` is a temporary name for replacing `name`.
#[must_use]
pub fn is_replacement(candidate: &str, name: &str) -> bool {
    candidate
        .strip_prefix('.')
        .and_then(|rest| rest.strip_prefix(name))
        .and_then(|rest| rest.strip_prefix('.'))
        .and_then(|rest| rest.strip_suffix(TEMPORARY_SUFFIX))
        .is_some_and(|random| is_hex(random, RANDOM))
}

/// The file name of an entry. `compact_time` is like `20260221T143022`; `number`, from 2 on, distinguishes entries with
/// the same time and slug.
#[must_use]
pub fn entry(compact_time: &str, slug: &str, number: u32) -> String {
    let suffix = if number < 2 { String::new() } else { format!("-{number}") };
    format!("{compact_time}-{slug}{suffix}{ENTRY_SUFFIX}")
}

/// Whether a name is a temporary name for replacing `memory.json`.
#[must_use]
pub fn is_memory_replacement(candidate: &str) -> bool {
    is_replacement(candidate, MEMORY)
}

/// Whether a name is a temporary name for replacing a file of a context store: an entry, the journal or the index.
#[must_use]
pub fn is_store_replacement(candidate: &str) -> bool {
    is_replacement(candidate, STORE_JOURNAL)
        || is_replacement(candidate, STORE_INDEX)
        || is_entry_replacement(candidate)
}

fn is_entry_replacement(candidate: &str) -> bool {
    let name = candidate.strip_prefix('.').and_then(|rest| rest.strip_suffix(TEMPORARY_SUFFIX));
    let name = name.and_then(|rest| rest.rsplit_once('.')).map_or("", |(name, _)| name);
    name.len() > ENTRY_SUFFIX.len()
        && name.ends_with(ENTRY_SUFFIX)
        && is_replacement(candidate, name)
}

#[cfg(test)]
mod tests;
