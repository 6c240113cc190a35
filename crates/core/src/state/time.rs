//! The clock.

use chrono::Utc;

/// Now, in ms since 1970.
pub(super) fn now() -> i64 {
    Utc::now().timestamp_millis()
}
