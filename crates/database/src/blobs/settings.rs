//! Which bucket is used, and how.

use std::{fmt, net::IpAddr, sync::Arc};

use crate::settings::{Credentials, InvalidSettings, invalid};

/// The service of a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Service {
    S3,
    GoogleCloud,
    Azure,
}

/// The options of [`BlobSettings::parse`].
#[derive(Default)]
pub struct BlobOptions {
    /// The address of the service, in place of the provider's.
    pub endpoint: Option<String>,
    /// The region of an S3 bucket.
    pub region: Option<String>,
    /// The storage account of an Azure container.
    pub account: Option<String>,
    /// Whether an endpoint on another machine may be used without encryption.
    pub allow_http: bool,
    /// Gives credentials as JSON (see [`super::credentials`]); without it, those of the environment are used.
    pub credentials: Option<Arc<dyn Credentials>>,
}

/// Valid settings of a bucket.
pub struct BlobSettings {
    pub(crate) service: Service,
    pub(crate) bucket: String,
    /// Without `/` at its ends; empty for none.
    pub(crate) prefix: String,
    pub(crate) endpoint: Option<String>,
    pub(crate) region: Option<String>,
    pub(crate) account: Option<String>,
    pub(crate) allow_http: bool,
    pub(crate) credentials: Option<Arc<dyn Credentials>>,
}

impl fmt::Debug for BlobSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("BlobSettings").field("place", &self.place()).finish_non_exhaustive()
    }
}

impl BlobSettings {
    /// Reads a URL such as `s3://bucket/prefix`, `gs://bucket/prefix` or `az://container/prefix`.
    ///
    /// # Errors
    /// If the URL or an option is invalid.
    pub fn parse(url: &str, options: BlobOptions) -> Result<Self, InvalidSettings> {
        let BlobOptions { endpoint, region, account, allow_http, credentials } = options;
        let (scheme, rest) = url.split_once("://").unwrap_or_default();
        let service = match scheme {
            "s3" => Service::S3,
            "gs" => Service::GoogleCloud,
            "az" => Service::Azure,
            _ => return Err(invalid("url", "must begin with s3://, gs:// or az://")),
        };
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let is_bucket = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if bucket.is_empty() || !bucket.bytes().all(is_bucket) {
            let expectation = "must name a bucket of letters, digits, -, _ and . after the scheme, and nothing else but a prefix";
            return Err(invalid("url", expectation));
        }
        let prefix = prefix.trim_matches('/');
        let is_segment = |segment: &str| {
            !["", ".", ".."].contains(&segment)
                && segment.bytes().all(|byte| is_bucket(byte) || b"=+@".contains(&byte))
        };
        if !prefix.is_empty() && !prefix.split('/').all(is_segment) {
            let expectation =
                "must have a prefix of letters, digits, -, _, ., =, + and @, separated by single /";
            return Err(invalid("url", expectation));
        }
        if let Some(endpoint) = &endpoint {
            check_endpoint(endpoint, allow_http)?;
        }
        if region.is_some() && service != Service::S3 {
            return Err(invalid("region", "must be given for s3:// only"));
        }
        if account.is_some() && service != Service::Azure {
            return Err(invalid("account", "must be given for az:// only"));
        }
        let (bucket, prefix) = (bucket.to_owned(), prefix.to_owned());
        Ok(Self { service, bucket, prefix, endpoint, region, account, allow_http, credentials })
    }

    /// The bucket and the prefix: `s3://bucket/prefix`. Contains no credentials.
    #[must_use]
    pub fn place(&self) -> String {
        let bucket = self.bucket_url();
        if self.prefix.is_empty() { bucket } else { format!("{bucket}/{}", self.prefix) }
    }

    /// The bucket: `s3://bucket`.
    pub(crate) fn bucket_url(&self) -> String {
        let scheme = match self.service {
            Service::S3 => "s3",
            Service::GoogleCloud => "gs",
            Service::Azure => "az",
        };
        format!("{scheme}://{}", self.bucket)
    }

    /// By which stores of one process share a bucket's connections.
    pub(crate) fn identity(&self) -> String {
        let callback = self.credentials.as_ref().map(|credentials| credentials.identity());
        let Self { endpoint, region, account, allow_http, .. } = self;
        format!(
            "{}\0{endpoint:?}\0{region:?}\0{account:?}\0{allow_http}\0{callback:?}",
            self.place()
        )
    }
}

/// Refuses an endpoint that is no address, or that would send data without encryption to another machine.
pub(crate) fn check_endpoint(endpoint: &str, allow_http: bool) -> Result<(), InvalidSettings> {
    let (scheme, rest) = endpoint.split_once("://").unwrap_or_default();
    let (authority, _) = rest.split_once('/').unwrap_or((rest, ""));
    if authority.is_empty() || authority.contains('@') || !["http", "https"].contains(&scheme) {
        return Err(invalid("endpoint", "must begin with https:// or http://, followed by a host"));
    }
    if scheme == "http" && !allow_http && !is_loopback(authority) {
        let expectation =
            "must begin with https://, unless allowHttp is true or the host is this machine";
        return Err(invalid("endpoint", expectation));
    }
    Ok(())
}

/// Whether `host:port` is this machine.
pub(crate) fn is_loopback(authority: &str) -> bool {
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.rsplit_once(':').map_or(authority, |(host, _)| host),
    };
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<BlobSettings, InvalidSettings> {
        BlobSettings::parse(url, BlobOptions::default())
    }

    #[test]
    fn a_url_names_a_bucket_and_a_prefix() {
        let settings = parse("s3://my-bucket/a/b=1/").unwrap();
        assert_eq!((settings.service, settings.bucket.as_str()), (Service::S3, "my-bucket"));
        assert_eq!(
            (settings.prefix.as_str(), settings.place().as_str()),
            ("a/b=1", "s3://my-bucket/a/b=1")
        );
        assert_eq!(parse("gs://bucket").unwrap().place(), "gs://bucket");
        assert_eq!(parse("az://container/x").unwrap().service, Service::Azure);
    }

    #[test]
    fn invalid_urls_are_refused_without_quoting_them() {
        for url in [
            "",
            "bucket",
            "http://bucket",
            "s3://",
            "s3:///a",
            "s3://key:letmein@bucket/a",
            "s3://b/a//b",
            "s3://b/../a",
            "s3://b/a?letmein=1",
            "s3://b/a b",
        ] {
            let error = parse(url).unwrap_err();
            assert_eq!(error.option, "url", "{url}");
            assert!(!error.to_string().contains("letmein"), "{error}");
        }
    }

    #[test]
    fn only_endpoints_on_this_machine_are_plain_unless_asked() {
        let with = |endpoint: &str, allow_http| {
            let endpoint = Some(endpoint.to_owned());
            let options = BlobOptions { endpoint, allow_http, ..BlobOptions::default() };
            BlobSettings::parse("s3://bucket", options).map(drop).map_err(|error| error.option)
        };
        for local in ["http://127.0.0.1:9000", "http://localhost:9000/", "http://[::1]:9000"] {
            assert_eq!(with(local, false), Ok(()), "{local}");
        }
        assert_eq!(with("https://minio.example", false), Ok(()));
        for remote in
            ["http://minio.example:9000", "http://localhost.example", "http://127.0.0.1.example"]
        {
            assert_eq!(with(remote, false), Err("endpoint"), "{remote}");
            assert_eq!(with(remote, true), Ok(()));
        }
        for wrong in
            ["minio.example", "ftp://minio.example", "https://", "https://me:letmein@minio.example"]
        {
            assert_eq!(with(wrong, true), Err("endpoint"), "{wrong}");
        }
    }

    #[test]
    fn options_of_another_service_are_refused() {
        let region = BlobOptions { region: Some("eu-west-1".to_owned()), ..BlobOptions::default() };
        assert_eq!(BlobSettings::parse("gs://bucket", region).unwrap_err().option, "region");
        let account = BlobOptions { account: Some("agents".to_owned()), ..BlobOptions::default() };
        assert_eq!(BlobSettings::parse("s3://bucket", account).unwrap_err().option, "account");
    }
}
