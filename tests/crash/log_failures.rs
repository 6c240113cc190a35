//! Logs whose calls fail.
