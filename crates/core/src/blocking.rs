//! Runs blocking and long work off the runtime's worker threads: the functions of the crate
//! [`tasks`], for work that returns this crate's error type.

use tasks::Cancelled;

use crate::error::{Error, Result};

impl From<tasks::Interrupted> for Error {
    fn from(error: tasks::Interrupted) -> Self {
        Self::internal(error.to_string())
    }
}

/// [`tasks::run_blocking`] for work that can fail.
///
/// # Errors
/// Those of the work; `Internal` if it panicked.
pub async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce(&Cancelled) -> Result<T> + Send + 'static,
) -> Result<T> {
    tasks::run_blocking(work).await?
}

/// [`tasks::run_long`] for work that can fail.
///
/// # Errors
/// Those of the work; `Internal` if the runtime shut down before the work began.
pub async fn run_long<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    tasks::run_long(bytes, work).await?
}

#[cfg(test)]
mod tests {
    use tasks::LONG;

    use super::*;
    use crate::error::Code;

    #[tokio::test]
    async fn a_panic_of_the_work_is_an_internal_error() {
        let error = run_blocking(|_| -> Result<()> { panic!("as a test") }).await.unwrap_err();
        assert_eq!(error.code, Code::Internal);
        assert!(error.to_string().ends_with("; please report it"), "{error}");
    }

    #[tokio::test]
    async fn an_error_of_long_work_is_returned() {
        let failed = || Err::<(), _>(Error::new(Code::TooLarge, "too large"));
        for bytes in [0, LONG + 1, 16 * LONG + 1] {
            assert_eq!(run_long(bytes, failed).await.unwrap_err().code, Code::TooLarge);
        }
    }
}
