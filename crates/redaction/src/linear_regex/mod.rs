//! JavaScript regular expressions of callers, matched in linear time.
//!
//! The `regex` crate promises linear time for the first match of a text, not for all of them. This engine
//! finds all matches in a bounded number of steps for each byte, and fails where it would need more.
//!
//! A *position* is a place in an expression that takes a character. A position is *live* at a place of a
//! text when a match can be completed from there. A reverse scan computes the live positions, and a forward
//! scan follows the preferred live position, so that it never backtracks.
//!
//! | module | contents |
//! |---|---|
//! | `expression` | [`LinearRegex`]: a compiled expression |
//! | `program`, `assertions` | its states, and what they assert about places |
//! | `set`, `characters` | sets of positions, and the positions that take a character |
//! | `epsilon_closure` | what is reachable without taking a character |
//! | `reverse_scan`, `transitions`, `context` | predecessors and successors of positions |
//! | `search`, `forward_scan` | the two scans of a text |

mod assertions;
mod characters;
mod context;
#[cfg(test)]
mod cost_tests;
mod epsilon_closure;
mod expression;
mod forward_scan;
mod program;
mod reverse_scan;
mod search;
mod set;
#[cfg(test)]
mod tests;
mod transitions;

pub use expression::LinearRegex;
pub use search::TooManySteps;
