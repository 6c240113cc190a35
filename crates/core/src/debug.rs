//! [`struct@Debug`]: the callback through which callers receive messages about findings that are
//! not errors.

use std::sync::Arc;

use serde_json::Value;

/// The caller's debug callback. Messages about an operation are sent before the operation
/// completes.
#[derive(Clone, Default)]
pub struct Debug(Option<Arc<Callback>>);

type Callback = dyn Fn(&str, Value) + Send + Sync;

impl Debug {
    /// Sends messages to `callback`.
    pub fn new(callback: impl Fn(&str, Value) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(callback)))
    }

    /// Sends a message; `data` is only called if there is a callback.
    pub fn say(&self, message: &str, data: impl FnOnce() -> Value) {
        if let Some(callback) = &self.0 {
            callback(message, data());
        }
    }
}
