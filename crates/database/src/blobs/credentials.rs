//! Credentials that a function of the caller gives: asked for when they are needed, and kept until they expire.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use async_trait::async_trait;
use object_store::{
    CredentialProvider, aws::AwsCredential, azure::AzureCredential, gcp::GcpCredential,
};
use serde::Deserialize;
use tokio::sync::Mutex;

use crate::settings::Credentials;

/// How long credentials without an expiration are used.
const DEFAULT_LIFETIME: Duration = Duration::from_secs(300);
/// How long before their expiration credentials are renewed.
const MARGIN: Duration = Duration::from_secs(60);

/// What the caller's function gives, as JSON.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Given {
    access_key_id: Option<String>,
    secret_access_key: Option<String>,
    session_token: Option<String>,
    token: Option<String>,
    /// In ms since 1970.
    expiration: Option<u64>,
}

/// The function failed, or gave nothing that the service takes.
#[derive(Debug, thiserror::Error)]
#[error("the function credentials failed: {0}")]
pub(super) struct NoCredentials(String);

/// A kind of credentials.
trait Kind: Sized + fmt::Debug + Send + Sync + 'static {
    /// The credentials in what was given, or which members are missing.
    fn of(given: Given) -> Result<Self, &'static str>;
}

impl Kind for AwsCredential {
    fn of(given: Given) -> Result<Self, &'static str> {
        let (Some(key_id), Some(secret_key)) = (given.access_key_id, given.secret_access_key)
        else {
            return Err("it must return accessKeyId and secretAccessKey");
        };
        Ok(Self { key_id, secret_key, token: given.session_token })
    }
}

impl Kind for GcpCredential {
    fn of(given: Given) -> Result<Self, &'static str> {
        given.token.map(|bearer| Self { bearer }).ok_or("it must return token")
    }
}

impl Kind for AzureCredential {
    fn of(given: Given) -> Result<Self, &'static str> {
        given.token.map(Self::BearerToken).ok_or("it must return token")
    }
}

/// The credentials of the caller's function.
pub(super) struct Called<T> {
    function: Arc<dyn Credentials>,
    known: Mutex<Option<(Arc<T>, Instant)>>,
}

impl<T> fmt::Debug for Called<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Called")
    }
}

impl<T> Called<T> {
    pub fn new(function: &Arc<dyn Credentials>) -> Arc<Self> {
        Arc::new(Self { function: Arc::clone(function), known: Mutex::default() })
    }
}

fn lifetime(expiration: Option<u64>) -> Duration {
    let Some(expiration) = expiration else { return DEFAULT_LIFETIME };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Duration::from_millis(expiration).saturating_sub(now).saturating_sub(MARGIN)
}

#[async_trait]
impl<T: Kind> CredentialProvider for Called<T> {
    type Credential = T;

    async fn get_credential(&self) -> object_store::Result<Arc<T>> {
        let mut known = self.known.lock().await;
        if let Some((credential, until)) = known.as_ref()
            && Instant::now() < *until
        {
            return Ok(Arc::clone(credential));
        }
        let failed = |reason: String| object_store::Error::Generic {
            store: "credentials",
            source: Box::new(NoCredentials(reason)),
        };
        let text = self.function.password().await.map_err(failed)?;
        // The parser's error could quote a secret.
        let given: Given = serde_json::from_str(&text)
            .map_err(|_| failed("it returned no credentials".to_owned()))?;
        let until = Instant::now() + lifetime(given.expiration);
        let credential = T::of(given).map_err(|reason| failed(reason.to_owned()))?;
        let credential = Arc::new(credential);
        *known = Some((Arc::clone(&credential), until));
        Ok(credential)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::settings::Password;

    struct Function {
        answer: &'static str,
        calls: AtomicUsize,
    }

    impl Credentials for Function {
        fn identity(&self) -> u64 {
            1
        }

        fn password(&self) -> Password {
            self.calls.fetch_add(1, Ordering::Relaxed);
            Box::pin(std::future::ready(Ok(self.answer.to_owned())))
        }
    }

    async fn calls_of_two<T: Kind>(answer: &'static str) -> Result<usize, String> {
        let function = Arc::new(Function { answer, calls: AtomicUsize::new(0) });
        let called = Called::<T>::new(&(Arc::clone(&function) as Arc<dyn Credentials>));
        for _ in 0..2 {
            called.get_credential().await.map_err(|error| error.to_string())?;
        }
        Ok(function.calls.load(Ordering::Relaxed))
    }

    #[tokio::test]
    async fn credentials_are_kept_until_they_expire() {
        let lasting = r#"{"accessKeyId":"a","secretAccessKey":"b","expiration":9999999999999}"#;
        assert_eq!(calls_of_two::<AwsCredential>(lasting).await, Ok(1));
        let expired =
            r#"{"accessKeyId":"a","secretAccessKey":"b","sessionToken":"c","expiration":1}"#;
        assert_eq!(calls_of_two::<AwsCredential>(expired).await, Ok(2));
        assert_eq!(calls_of_two::<GcpCredential>(r#"{"token":"a"}"#).await, Ok(1));
        assert_eq!(calls_of_two::<AzureCredential>(r#"{"token":"a"}"#).await, Ok(1));
    }

    #[tokio::test]
    async fn missing_members_are_named_and_values_are_not_quoted() {
        let error =
            calls_of_two::<AwsCredential>(r#"{"accessKeyId":"letmein"}"#).await.unwrap_err();
        assert!(error.contains("secretAccessKey") && !error.contains("letmein"), "{error}");
        let error = calls_of_two::<GcpCredential>(r#"{"token":["letmein"]}"#).await.unwrap_err();
        assert!(error.contains("no credentials") && !error.contains("letmein"), "{error}");
    }
}
