//! What errors of a bucket mean.

use std::error::Error as _;

use object_store::Error;

use super::credentials::NoCredentials;

/// What an error means for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The service cannot be reached, is overloaded, or did not say what happened: repeat.
    Repeat,
    /// The object is not there.
    Missing,
    /// The bucket is not there.
    NoBucket,
    /// The credentials are missing or refused.
    Access,
    /// The service lacks an operation.
    Unsupported,
    /// The service does not accept the request.
    Refused,
}

/// How the text of an error begins a status with the body of the answer: the type of the error is private.
const STATUS: &str = "Server returned non-2xx status code: ";
/// How it begins the body of an answer that reports an error with a status of success.
const BODY: &str = "Server returned error response: ";
/// How it begins the error of a connection.
const CONNECTION: &str = "HTTP error: ";
const REDIRECT: &str = "Received redirect without LOCATION";

/// The answer of a service.
struct Answer<'a> {
    status: u16,
    code: &'a str,
    message: &'a str,
}

/// The answer in the text of an error, as far as there was one.
fn answer(text: &str) -> Option<Answer<'_>> {
    let (status, body) = match (text.split_once(STATUS), text.split_once(BODY)) {
        (Some((_, answer)), _) => answer.split_once(": ").unwrap_or((answer, "")),
        (None, Some((_, body))) => ("200", body),
        (None, None) => return None,
    };
    let status = status.get(..3)?.parse().ok()?;
    let (code, message) = code_and_message(body);
    Some(Answer { status, code, message })
}

fn is_about_credentials(error: &Error) -> bool {
    error.source().is_some_and(|source| source.is::<NoCredentials>())
}

/// The text between two others.
fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(before)?;
    Some(rest.split_once(after)?.0)
}

/// The code and the message in the body of an error. The rest of it may name keys.
fn code_and_message(body: &str) -> (&str, &str) {
    let code = between(body, "<Code>", "</Code>").or_else(|| between(body, "\"reason\": \"", "\""));
    let message =
        between(body, "<Message>", "</Message>").or_else(|| between(body, "\"message\": \"", "\""));
    let message = message.and_then(|message| message.lines().next());
    (code.unwrap_or_default(), message.unwrap_or_default())
}

/// What an error means.
pub(super) fn meaning(error: &Error) -> Meaning {
    if is_about_credentials(error) {
        return Meaning::Access;
    }
    let text = error.to_string();
    let answer = answer(&text);
    let code = answer.as_ref().map_or("", |answer| answer.code);
    match error {
        Error::NotFound { .. } if ["NoSuchBucket", "ContainerNotFound"].contains(&code) => {
            Meaning::NoBucket
        }
        Error::NotFound { .. } => Meaning::Missing,
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => Meaning::Access,
        Error::NotSupported { .. } | Error::NotImplemented { .. } => Meaning::Unsupported,
        // 409 and 412: another request of this process for the same object is being carried out.
        Error::AlreadyExists { .. } | Error::Precondition { .. } => Meaning::Repeat,
        Error::Generic { .. } => match (answer.map(|answer| answer.status), code) {
            (None, _) if text.contains(REDIRECT) => Meaning::Refused,
            // The bucket is looked for before the object.
            (Some(404), "NoSuchBucket" | "ContainerNotFound") => Meaning::NoBucket,
            (Some(404), _) => Meaning::Missing,
            (Some(501), _) => Meaning::Unsupported,
            (Some(401 | 403), _)
            | (Some(400), "ExpiredToken" | "InvalidToken" | "TokenRefreshRequired") => {
                Meaning::Access
            }
            (None | Some(200..=299 | 408 | 409 | 412 | 425 | 429 | 500..), _)
            | (Some(400), "RequestTimeout") => Meaning::Repeat,
            _ => Meaning::Refused,
        },
        _ => Meaning::Refused,
    }
}

/// Whether credentials were looked for at an address within a cloud, and nothing answered there.
pub(super) fn is_without_credentials(error: &Error) -> bool {
    let text = error.to_string();
    matches!(error, Error::Generic { .. })
        && ["169.254.169.254", "169.254.170.2", "metadata.google.internal"]
            .iter()
            .any(|address| text.contains(address))
}

/// The error in one line, without what could be secret.
pub(super) fn describe(error: &Error) -> String {
    if is_about_credentials(error) {
        return error.source().map(ToString::to_string).unwrap_or_default();
    }
    let text = error.to_string();
    if let Some(Answer { status, code, message }) = answer(&text) {
        return format!("{status} {code} {message}").trim_end().to_owned();
    }
    match (text.split_once(CONNECTION), error) {
        (Some((_, reason)), _) => reason.to_owned(),
        (None, Error::Generic { source, .. }) => source.to_string(),
        (None, _) => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_of_errors_give_their_code_and_message_only() {
        let s3 = "<?xml?><Error><Code>InvalidAccessKeyId</Code><Message>The key is unknown.</Message><AWSAccessKeyId>letmein</AWSAccessKeyId></Error>";
        assert_eq!(code_and_message(s3), ("InvalidAccessKeyId", "The key is unknown."));
        let azure = "<Error><Code>ContainerNotFound</Code><Message>It is not there.\nRequestId:1</Message></Error>";
        assert_eq!(code_and_message(azure), ("ContainerNotFound", "It is not there."));
        let google = r#"{ "error": { "message": "No such object", "errors": [ { "reason": "notFound" } ] } }"#;
        assert_eq!(code_and_message(google), ("notFound", "No such object"));
        assert_eq!(code_and_message("nothing"), ("", ""));
    }

    #[test]
    fn errors_have_a_meaning() {
        let generic = |text: &str| Error::Generic { store: "S3", source: text.into() };
        assert_eq!(meaning(&generic("connection reset")), Meaning::Repeat);
        assert_eq!(describe(&generic("connection reset")), "connection reset");
        let missing = Error::NotFound { path: "a".to_owned(), source: "gone".into() };
        assert_eq!(meaning(&missing), Meaning::Missing);
        let denied = Error::PermissionDenied { path: "a".to_owned(), source: "no".into() };
        assert_eq!(meaning(&denied), Meaning::Access);
        let conflict = Error::AlreadyExists { path: "a".to_owned(), source: "409".into() };
        assert_eq!(meaning(&conflict), Meaning::Repeat);
        let busy =
            format!("PUT - {STATUS}503 Service Unavailable: <Error><Code>SlowDown</Code></Error>");
        assert_eq!(
            (meaning(&generic(&busy)), describe(&generic(&busy)).as_str()),
            (Meaning::Repeat, "503 SlowDown")
        );
        let expired = format!("PUT - {STATUS}400 Bad Request: <Code>ExpiredToken</Code>");
        assert_eq!(meaning(&generic(&expired)), Meaning::Access);
        let malformed = format!("PUT - {STATUS}400 Bad Request: ");
        assert_eq!(
            (meaning(&generic(&malformed)), describe(&generic(&malformed)).as_str()),
            (Meaning::Refused, "400")
        );
        let connection = format!("GET https://a/b in 1ms - {CONNECTION}client error: refused");
        assert_eq!(describe(&generic(&connection)), "client error: refused");
        assert!(is_without_credentials(&generic("GET http://169.254.169.254/latest: timed out")));
    }
}
