//! The client of a bucket's service, configured by the settings and the environment.

use std::{sync::Arc, time::Duration};

use object_store::{
    ObjectStore, Result, RetryConfig,
    aws::{AmazonS3Builder, AmazonS3ConfigKey},
    azure::{AzureConfigKey, MicrosoftAzureBuilder},
    client::ClientConfigKey,
    gcp::{GoogleCloudStorageBuilder, GoogleConfigKey},
    multipart::MultipartStore,
};

use super::{
    credentials::Called,
    http::Http,
    settings::{BlobSettings, Service, is_loopback},
};

/// The operations on a bucket.
pub(crate) trait Bucket: ObjectStore + MultipartStore {}

impl<T: ObjectStore + MultipartStore> Bucket for T {}

/// Requests are repeated by [`super::Blobs`], which knows whether an upload of its own was stored.
fn no_retries() -> RetryConfig {
    RetryConfig { max_retries: 0, retry_timeout: Duration::from_secs(0), ..RetryConfig::default() }
}

/// The client. May read the system's certificates.
pub(crate) fn bucket(settings: &BlobSettings) -> Result<Arc<dyn Bucket>> {
    match settings.service {
        Service::S3 => s3(settings),
        Service::GoogleCloud => google_cloud(settings),
        Service::Azure => azure(settings),
    }
}

/// Whether requests to the endpoint may go without encryption.
fn may_be_plain(settings: &BlobSettings, endpoint: Option<&str>) -> bool {
    let host = endpoint.and_then(|endpoint| endpoint.strip_prefix("http://"));
    let authority = host.map(|host| host.split('/').next().unwrap_or_default());
    settings.allow_http || authority.is_some_and(is_loopback)
}

fn s3(settings: &BlobSettings) -> Result<Arc<dyn Bucket>> {
    let mut builder = AmazonS3Builder::from_env()
        .with_bucket_name(&settings.bucket)
        // The answer to a removal of many reports errors in another form, and is not needed for one.
        .with_disable_bulk_delete(true)
        .with_retry(no_retries())
        .with_http_connector(Http);
    if let Some(endpoint) = &settings.endpoint {
        builder = builder
            .with_config(AmazonS3ConfigKey::S3Endpoint, endpoint)
            .with_virtual_hosted_style_request(false);
    }
    if let Some(region) = &settings.region {
        builder = builder.with_region(region);
    }
    if let Some(function) = &settings.credentials {
        builder = builder.with_credentials(Called::new(function));
    }
    let endpoint = builder
        .get_config_value(&AmazonS3ConfigKey::S3Endpoint)
        .or_else(|| builder.get_config_value(&AmazonS3ConfigKey::Endpoint));
    if may_be_plain(settings, endpoint.as_deref()) {
        builder = builder.with_allow_http(true);
    }
    Ok(Arc::new(builder.build()?))
}

fn google_cloud(settings: &BlobSettings) -> Result<Arc<dyn Bucket>> {
    let mut builder = GoogleCloudStorageBuilder::from_env()
        .with_bucket_name(&settings.bucket)
        .with_retry(no_retries())
        .with_http_connector(Http);
    if let Some(endpoint) = &settings.endpoint {
        builder = builder.with_base_url(endpoint);
    }
    if let Some(function) = &settings.credentials {
        builder = builder.with_credentials(Called::new(function));
    }
    if may_be_plain(settings, settings.endpoint.as_deref()) {
        let key = GoogleConfigKey::Client(ClientConfigKey::AllowHttp);
        builder = builder.with_config(key, "true");
    }
    Ok(Arc::new(builder.build()?))
}

fn azure(settings: &BlobSettings) -> Result<Arc<dyn Bucket>> {
    let mut builder = MicrosoftAzureBuilder::from_env()
        .with_container_name(&settings.bucket)
        .with_retry(no_retries())
        .with_http_connector(Http);
    if let Some(account) = &settings.account {
        builder = builder.with_account(account);
    }
    if let Some(endpoint) = &settings.endpoint {
        builder = builder.with_endpoint(endpoint.clone());
    }
    if let Some(function) = &settings.credentials {
        builder = builder.with_credentials(Called::new(function));
    }
    let endpoint = builder.get_config_value(&AzureConfigKey::Endpoint);
    if may_be_plain(settings, endpoint.as_deref()) {
        builder = builder.with_allow_http(true);
    }
    Ok(Arc::new(builder.build()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blobs::BlobOptions;

    #[tokio::test]
    async fn each_service_has_a_client() {
        for url in ["s3://bucket/a", "az://container/a"] {
            let account = url.starts_with("az").then(|| "agents".to_owned());
            let options = BlobOptions { account, ..BlobOptions::default() };
            assert!(bucket(&BlobSettings::parse(url, options).unwrap()).is_ok(), "{url}");
        }
        // The credentials of Google Cloud are looked for when the client is made.
        let settings = BlobSettings::parse("gs://bucket/a", BlobOptions::default()).unwrap();
        drop(bucket(&settings));
    }

    #[test]
    fn plain_requests_are_for_this_machine_or_asked_for() {
        let with = |allow_http| {
            let options = BlobOptions { allow_http, ..BlobOptions::default() };
            BlobSettings::parse("s3://bucket", options).unwrap()
        };
        assert!(may_be_plain(&with(false), Some("http://127.0.0.1:9000/x")));
        assert!(!may_be_plain(&with(false), Some("http://minio.example")));
        assert!(!may_be_plain(&with(false), Some("https://minio.example")));
        assert!(!may_be_plain(&with(false), None));
        assert!(may_be_plain(&with(true), None));
    }
}
