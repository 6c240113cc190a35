//! Converts errors to JSON, from which `lib/arguments/errors.ts` builds `Error` objects.

use agent_context_core::Error;
use serde_json::{Value, json};
use storage::Origin;

/// The members that JavaScript needs to build its `Error`.
pub fn to_json(error: &Error) -> Value {
    let cause = error.cause.as_ref().map(|cause| match &cause.origin {
        Origin::System(system) => json!({
            "message": cause.to_string(),
            "errno": system.raw_os_error(),
            "syscall": cause.operation,
            "path": cause.path,
        }),
        Origin::Injected { handle, .. } => json!({ "handle": handle }),
    });
    let mut json = json!({ "code": error.code.as_str(), "message": error.message, "cause": cause });
    if let (true, Some(members)) = (error.may_exist(), json.as_object_mut()) {
        members.insert("mayExist".to_owned(), Value::Bool(true));
    }
    json
}
