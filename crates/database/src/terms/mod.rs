//! Terms of documents in rows with a full-text index, which narrows a search to candidates.
//!
//! The terms are those of the caller's own analysis, never of the server's. They become lexemes behind a [`Tag`], by which the
//! collections of one table are told apart within the index: no extension is needed, and a search reads only the
//! posting lists of its collection. Rows are a cache: searches write them, writers of documents do not.
//!
//! | module | contents |
//! |---|---|
//! | `lexemes` | the texts of vectors and queries |
//! | `candidates` | the statements that find the best candidates and similar terms, and their answers |

mod candidates;
mod lexemes;

pub use candidates::{AskedTerm, Candidates, asked, beginning};
pub use lexemes::Tag;
