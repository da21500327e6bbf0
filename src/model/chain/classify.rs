//! What a failed call means. Providers' words are read for a few signs, and never passed on: they may quote the prompt.

use std::time::Duration;

use genai::{Error, webc};
use serde_json::Value;

use super::super::{FailureKind, ModelError};

/// The failure of a call to `model`.
pub(super) fn classify(model: &str, error: &Error) -> ModelError {
    match error {
        Error::HttpError { status, body, headers, .. } => {
            refused(model, status.as_u16(), body, headers)
        }
        Error::WebModelCall { webc_error, .. } | Error::WebAdapterCall { webc_error, .. } => {
            of_exchange(model, webc_error)
        }
        Error::WebStream { error, .. } => match error.downcast_ref::<Error>() {
            Some(inner) => classify(model, inner),
            None => match error.downcast_ref::<webc::StreamTimeout>() {
                Some(_) => {
                    ModelError::new(FailureKind::TimedOut, format!("{model} said nothing in time"))
                }
                None => of_transport(model, error.downcast_ref::<reqwest::Error>()),
            },
        },
        Error::ChatResponse { body, .. } => in_stream(model, body),
        Error::Resolver { .. } | Error::RequiresApiKey { .. } | Error::NoAuthData { .. } => {
            ModelError::new(FailureKind::Unauthorized, format!("{model}: its key is not set"))
        }
        Error::StreamParse { .. }
        | Error::ChatResponseGeneration { .. }
        | Error::NoChatResponse { .. }
        | Error::InvalidJsonResponseElement { .. } => {
            ModelError::new(FailureKind::Unavailable, format!("{model}: its answer cannot be read"))
        }
        _ => ModelError::new(FailureKind::Invalid, format!("{model}: the request cannot be made")),
    }
}

fn of_exchange(model: &str, error: &webc::Error) -> ModelError {
    match error {
        webc::Error::ResponseFailedStatus { status, body, headers } => {
            refused(model, status.as_u16(), body, headers)
        }
        webc::Error::Reqwest(error) => of_transport(model, Some(error)),
        // A cut body, or a proxy's page.
        _ => ModelError::new(FailureKind::Unavailable, format!("{model}: its answer is no JSON")),
    }
}

fn of_transport(model: &str, error: Option<&reqwest::Error>) -> ModelError {
    if error.is_some_and(reqwest::Error::is_timeout) {
        return ModelError::new(FailureKind::TimedOut, format!("{model} did not answer in time"));
    }
    let what = match error {
        Some(error) if error.is_connect() => "cannot be reached",
        _ => "broke the connection off",
    };
    ModelError::new(FailureKind::Unavailable, format!("{model} {what}"))
}

/// An answer with a status that is no success.
fn refused(model: &str, status: u16, body: &str, headers: &http::HeaderMap) -> ModelError {
    let kind = kind_of(status, &body.to_lowercase());
    let advice = match kind {
        FailureKind::Unauthorized => "; check its key",
        FailureKind::QuotaExhausted => "; its account has nothing left to spend",
        FailureKind::TooLong => "; the request is longer than it reads, lower model.context_tokens",
        _ => "",
    };
    let error =
        ModelError::new(kind, format!("{model} answered {status} ({}){advice}", kind.words()));
    match retry_after(headers) {
        Some(wait) if kind.is_worth_retrying() => error.after(wait),
        _ => error,
    }
}

/// Signs in a provider's words, in lower case.
const QUOTA: &[&str] =
    &["insufficient_quota", "quota exceeded for", "credit balance", "billing", "payment required"];
const PER_MINUTE: &[&str] = &["rate_limit", "rate limit", "perminute", "per minute"];
const TOO_LONG: &[&str] = &[
    "context_length",
    "context length",
    "context window",
    "prompt is too long",
    "too many tokens",
    "maximum number of tokens",
    "input is too long",
];

fn kind_of(status: u16, words: &str) -> FailureKind {
    let says = |signs: &[&str]| signs.iter().any(|sign| words.contains(sign));
    match status {
        402 => FailureKind::QuotaExhausted,
        429 if says(&["insufficient_quota"]) => FailureKind::QuotaExhausted,
        // Some speak of billing in every refusal: what counts by the minute passes by itself.
        429 if says(PER_MINUTE) => FailureKind::RateLimited,
        429 if says(QUOTA) => FailureKind::QuotaExhausted,
        429 => FailureKind::RateLimited,
        408 => FailureKind::TimedOut,
        400 | 403 if says(&["credit balance", "billing"]) => FailureKind::QuotaExhausted,
        400 if says(&["api key not valid", "api_key_invalid"]) => FailureKind::Unauthorized,
        401 | 403 => FailureKind::Unauthorized,
        413 => FailureKind::TooLong,
        400 | 422 if says(TOO_LONG) => FailureKind::TooLong,
        425 | 500.. => FailureKind::Unavailable,
        _ => FailureKind::Invalid,
    }
}

/// An error that came instead of the next part of a stream.
fn in_stream(model: &str, body: &Value) -> ModelError {
    let words = body.to_string().to_lowercase();
    let says = |sign: &str| words.contains(sign);
    let kind = if QUOTA.iter().any(|sign| says(sign)) {
        FailureKind::QuotaExhausted
    } else if says("rate_limit") || says("resource_exhausted") {
        FailureKind::RateLimited
    } else if says("authentication") || says("permission") {
        FailureKind::Unauthorized
    } else if TOO_LONG.iter().any(|sign| says(sign)) {
        FailureKind::TooLong
    } else if says("blockreason") || says("safety") || says("content_filter") {
        FailureKind::Refused
    } else if says("invalid_request") {
        FailureKind::Invalid
    } else {
        FailureKind::Unavailable
    };
    ModelError::new(kind, format!("{model} ended its answer with an error ({})", kind.words()))
}

/// The wait a server asks for: milliseconds, seconds, or a date.
fn retry_after(headers: &http::HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |name: &str| text(name)?.parse::<f64>().ok().filter(|n| (0.0..1e9).contains(n));
    if let Some(millis) = number("retry-after-ms") {
        return Some(Duration::from_secs_f64(millis / 1_000.0));
    }
    if let Some(seconds) = number("retry-after") {
        return Some(Duration::from_secs_f64(seconds));
    }
    let date = jiff::fmt::rfc2822::parse(text("retry-after")?).ok()?;
    let seconds = date.timestamp().as_second() - jiff::Timestamp::now().as_second();
    Some(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R3, R4: the same words of three providers mean the same.
    #[test]
    fn refusals_are_told_apart() {
        use FailureKind as K;
        for (status, words, kind) in [
            (429, "rate_limit_exceeded", K::RateLimited),
            (429, "{\"error\":{\"code\":\"insufficient_quota\"}}", K::QuotaExhausted),
            (
                429,
                "rate limit reached; to raise it, see your account's billing page",
                K::RateLimited,
            ),
            (429, "quota exceeded for metric: requestsperminuteperproject", K::RateLimited),
            (429, "quota exceeded for metric: requestsperday", K::QuotaExhausted),
            (400, "your credit balance is too low", K::QuotaExhausted),
            (402, "", K::QuotaExhausted),
            (401, "", K::Unauthorized),
            (403, "permission_denied", K::Unauthorized),
            (400, "api key not valid. please pass a valid api key.", K::Unauthorized),
            (400, "context_length_exceeded", K::TooLong),
            (400, "prompt is too long: 210000 tokens > 200000 maximum", K::TooLong),
            (400, "exceeds the maximum number of tokens allowed", K::TooLong),
            (413, "", K::TooLong),
            (400, "unknown field", K::Invalid),
            (404, "no such model", K::Invalid),
            (408, "", K::TimedOut),
            (500, "", K::Unavailable),
            (503, "overloaded", K::Unavailable),
            (529, "overloaded_error", K::Unavailable),
        ] {
            assert_eq!(kind_of(status, words), kind, "{status} {words}");
        }
    }

    #[test]
    fn waits_are_read_in_all_forms() {
        let headers = |name: &'static str, value: &str| {
            http::HeaderMap::from_iter([(
                http::HeaderName::from_static(name),
                http::HeaderValue::from_str(value).unwrap(),
            )])
        };
        assert_eq!(retry_after(&headers("retry-after", "7")), Some(Duration::from_secs(7)));
        assert_eq!(
            retry_after(&headers("retry-after-ms", "250")),
            Some(Duration::from_millis(250))
        );
        let past = "Wed, 21 Oct 2015 07:28:00 GMT";
        assert_eq!(retry_after(&headers("retry-after", past)), Some(Duration::ZERO));
        assert_eq!(retry_after(&headers("retry-after", "soon")), None);
    }
}
