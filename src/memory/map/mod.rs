//! The files of a workspace, what they define, and which of it matters.
