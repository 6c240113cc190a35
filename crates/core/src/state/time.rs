//! The current time.

use chrono::Utc;

/// The current time, ms since 1970.
pub(super) fn now() -> i64 {
    Utc::now().timestamp_millis()
}
