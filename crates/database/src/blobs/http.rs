//! The HTTP client of object storage: HTTP/1.1, with TLS by rustls and the system's certificates.

use std::{error::Error, io, time::Duration};

use async_trait::async_trait;
use http_body_util::BodyExt;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector as Connector},
    rt::{TokioExecutor, TokioTimer},
};
use object_store::{
    ClientConfigKey, ClientOptions,
    client::{
        HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody,
        HttpResponse, HttpResponseBody, HttpService,
    },
};

use crate::transport::system_verified;

/// How long an idle connection is kept: services close theirs after 20 s or more.
const IDLE: Duration = Duration::from_secs(15);
const CONNECT: Duration = Duration::from_secs(5);

/// Makes clients. Reads the system's certificates.
#[derive(Debug)]
pub(crate) struct Http;

impl HttpConnector for Http {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let generic = |source: Box<dyn Error + Send + Sync>| object_store::Error::Generic {
            store: "HTTP",
            source,
        };
        let config = system_verified().map_err(|error| generic(error.into()))?;
        let mut connector = Connector::new();
        connector.enforce_http(false);
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(CONNECT));
        let builder = HttpsConnectorBuilder::new().with_tls_config(config);
        let is_plain_allowed = options.get_config_value(&ClientConfigKey::AllowHttp);
        let builder = match is_plain_allowed.as_deref() {
            Some("true") => builder.https_or_http(),
            _ => builder.https_only(),
        };
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .build(builder.enable_http1().wrap_connector(connector));
        Ok(HttpClient::new(Service(client)))
    }
}

#[derive(Debug, Clone)]
struct Service(Client<HttpsConnector<Connector>, HttpRequestBody>);

#[async_trait]
impl HttpService for Service {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let answer = self.0.request(request).await.map_err(|error| {
            let kind =
                if error.is_connect() { HttpErrorKind::Connect } else { HttpErrorKind::Request };
            HttpError::new(kind, Described::of(&error))
        })?;
        let (parts, body) = answer.into_parts();
        let body =
            body.map_err(|error| HttpError::new(HttpErrorKind::Interrupted, Described::of(&error)));
        Ok(HttpResponse::from_parts(parts, HttpResponseBody::new(body)))
    }
}

/// An error with its causes in one line: the client's own text says only in which step it happened.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Described(String);

impl Described {
    fn of(error: &(dyn Error + 'static)) -> Self {
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(error) = source {
            // The system's text is enough: it is the last one.
            if let Some(error) = error.downcast_ref::<io::Error>() {
                return Self(error.to_string());
            }
            text = format!("{text}: {error}");
            source = error.source();
        }
        Self(text)
    }
}
