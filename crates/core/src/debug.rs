//! The caller's debug callback.

use std::sync::Arc;

use serde_json::Value;

/// The caller's debug callback. Messages about one operation arrive before it is complete.
#[derive(Clone, Default)]
pub struct Debug(Option<Arc<Callback>>);

type Callback = dyn Fn(&str, Value) + Send + Sync;

impl Debug {
    /// Sends messages to `callback`.
    pub fn new(callback: impl Fn(&str, Value) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(callback)))
    }

    /// Sends a message; `data` is made only when somebody listens.
    pub fn say(&self, message: &str, data: impl FnOnce() -> Value) {
        if let Some(callback) = &self.0 {
            callback(message, data());
        }
    }
}
