//! Whether a value looks random enough to be a secret, or is a stand-in for one.

use std::ops::Range;

use super::super::secret_kinds::Kind;
use base64::{
    Engine as _,
    prelude::{BASE64_STANDARD as STANDARD, BASE64_URL_SAFE_NO_PAD as URL_SAFE_NO_PAD},
};

/// So many characters in order are no chance.
const COUNTED: usize = 8;

/// What is named so is as long and as random, and secret to nobody.
pub(super) const NO_SECRETS: &[&str] = &[
    "version",
    "commit",
    "_sha",
    "_rev",
    "checksum",
    "integrity",
    "sha1",
    "sha256",
    "digest",
    "md5",
    "public",
    "existingsecret",
    "secretname",
    "secret_name",
    "secretref",
];

/// What a vendor's name may be followed by that tells who asks and opens nothing.
pub(super) const CLIENT_IDS: &[&str] = &["client_id", "client-id", "client.id", "clientid"];

/// Shannon entropy in bits per byte.
pub(super) fn entropy(text: &str) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in text.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let total = f64::from(u32::try_from(text.len()).unwrap_or(u32::MAX));
    let share = |n: &u32| f64::from(*n) / total;
    counts.iter().filter(|n| **n > 0).map(share).map(|p| -p * p.log2()).sum()
}

/// Whether a value of settings, too even for the usual entropy, is hexadecimal and named as a secret.
pub(super) fn is_hex_secret(kind: &Kind, name: &str, value: &str) -> bool {
    const NAMES: &[&str] = &[
        "secret", "master", "pepper", "api", "private", "encrypt", "signing", "session", "access",
        "auth", "jwt", "passw", "crypt",
    ];
    kind.id == "token-in-settings"
        && value.len() >= 32
        && value.bytes().all(|b| b.is_ascii_hexdigit())
        && entropy(value) >= 3.0
        && NAMES.iter().any(|word| name.contains(word))
}

/// Whether a JSON web token says that it was good for hours, has ended long ago, or comes from a sample.
pub(super) fn is_spent(token: &str) -> bool {
    const DEMO: &[&str] = &["supabase-demo"];
    const A_DAY: i64 = 24 * 60 * 60;
    // The first of January 2025, in seconds: a date of its own, so that a review says the same on every day.
    const LONG_AGO: i64 = 1_735_689_600;
    let claims = token.split('.').nth(1).and_then(|it| URL_SAFE_NO_PAD.decode(it).ok());
    let claims = claims.and_then(|it| serde_json::from_slice::<serde_json::Value>(&it).ok());
    claims.is_some_and(|claims| {
        let number = |name: &str| claims.get(name).and_then(serde_json::Value::as_i64);
        let hours = number("iat").zip(number("exp")).is_some_and(|(iat, exp)| exp - iat <= A_DAY);
        let ended = number("exp").is_some_and(|exp| exp < LONG_AGO);
        hours
            || ended
            || claims.get("iss").and_then(|it| it.as_str()).is_some_and(|it| DEMO.contains(&it))
    })
}

/// Whether its format says that a value is made to be seen by everybody.
pub(super) fn is_public(value: &str) -> bool {
    ["pk_live_", "pk_test_", "pub_live_", "phc_"].iter().any(|start| value.starts_with(start))
}

/// Whether a value is the key that every visitor of a page gets to be asked by reCAPTCHA; the secret one looks alike.
pub(super) fn is_site_key(name: &str, value: &str) -> bool {
    let secret = ["secret", "private"].iter().any(|word| name.contains(word));
    name.contains("recaptcha") && !secret && value.len() == 40 && value.starts_with("6L")
}

/// Whether a value is an address of a blockchain, names a migration (`0004_add_tokens`), is a pattern, or the
/// hash of a password.
pub(super) fn is_reference(value: &str) -> bool {
    let hex = |text: &str| text.bytes().all(|b| b.is_ascii_hexdigit());
    let address = value.strip_prefix("0x").is_some_and(|rest| rest.len() == 40 && hex(rest));
    let migration = value.split_once('_').is_some_and(|(number, words)| {
        number.len() == 4
            && digits(number) == 4
            && words.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
    });
    let pattern = ["(?=", "(?!", "(?:", "(?i"].iter().any(|it| value.contains(it));
    address
        || migration
        || pattern
        || ["pbkdf2_", "argon2", "bcrypt_"].iter().any(|it| value.starts_with(it))
}

/// Letters and digits both: words, paths and names of keys seldom are.
pub(super) fn mixed(text: &str) -> bool {
    digits(text) >= 2 && text.bytes().any(|b| b.is_ascii_alphabetic()) && !text.contains("://")
}

pub(super) fn digits(text: &str) -> usize {
    text.bytes().filter(u8::is_ascii_digit).count()
}

/// Stand-ins, references to a variable, and the vendors' own documentation examples.
pub(super) fn placeholder(text: &str) -> bool {
    const WORDS: &[&str] = &[
        "example",
        "sample",
        "dummy",
        "placeholder",
        "changeme",
        "change_me",
        "change-me",
        "your_",
        "your-",
        "yourpass",
        "xxxx",
        "****",
        "....",
        "redacted",
        "insert",
        "fake",
        "mock",
        "notreal",
        "not_a_real",
        "test_key",
        "todo",
        "0000000",
        "1234567",
        "abcdef",
        "password",
        "secret_here",
        "required|",
        "nullable|",
        "|string",
        "process.env",
        "os.environ",
        "getenv",
    ];
    let low = text.to_ascii_lowercase();
    let reference = ["${", "{{", "<", "$(", "%(", "%{", "#{", "{", "$", "@", "env."];
    WORDS.iter().any(|w| low.contains(w))
        || reference.iter().any(|r| low.starts_with(r))
        || low.contains("${")
        || low.contains("{{")
        || distinct(&low) <= 4
        || counts_on(&low)
}

/// Whether a value only says what should stand in its place.
pub(super) fn is_role(text: &str) -> bool {
    const ROLES: &[&str] =
        &["pass", "passwd", "secret", "token", "user", "key", "test", "apikey", "api_key"];
    ROLES.contains(&text.to_ascii_lowercase().as_str())
}

/// Whether letters or digits follow each other in their order, as nobody's dice would have it.
fn counts_on(text: &str) -> bool {
    let next = |pair: &[u8]| pair[0].is_ascii_alphanumeric() && pair[0] + 1 == pair[1];
    let pairs: Vec<bool> = text.as_bytes().windows(2).map(next).collect();
    pairs.windows(COUNTED - 1).any(|run| run.iter().all(|next| *next))
}

fn distinct(text: &str) -> usize {
    let mut seen = [false; 256];
    text.bytes().for_each(|b| seen[usize::from(b)] = true);
    seen.iter().filter(|s| **s).count()
}

/// The values of a mapping in YAML, a line each; `range` is where its lines stand in `text`.
pub(super) fn values(text: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let mut at = range.start;
    let mut found = Vec::new();
    for line in text[range].split_inclusive('\n') {
        if let Some((name, value)) = line.split_once(':') {
            let start = at + name.len() + 1;
            let trimmed = value.trim().trim_matches(['"', '\'']);
            let start = start + value.find(trimmed).unwrap_or_default();
            let base64 = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=');
            if trimmed.len() >= 10 && trimmed.bytes().all(base64) {
                found.push(start..start + trimmed.len());
            }
        }
        at += line.len();
    }
    found
}

/// Whether a value in base64 is one line that stands for a secret, as in the output of a chart, or settings that speak of none.
pub(super) fn encodes_placeholder(value: &str) -> bool {
    const WORDS: &[&str] = &["supersecret", "notavalid"];
    const TELL: &[&str] =
        &["pass", "pwd", "secret", "token", "key", "cred", "auth", "private", "@", "://"];
    let decoded = STANDARD.decode(value).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    decoded.is_some_and(|text| {
        let low = text.to_ascii_lowercase();
        let holds = |words: &[&str]| words.iter().any(|word| low.contains(word));
        match text.trim_end().lines().count() {
            1 => holds(WORDS),
            _ => text.contains(": ") && !holds(TELL),
        }
    })
}

/// Longest part of a name, in bytes, that is looked for before the word that tells a secret.
const MAX_NAME_PREFIX: usize = 60;

/// Where the name begins that has its telling word at `at`.
pub(super) fn name_start(text: &str, at: usize) -> usize {
    let part = |b: &&u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    let before = text.as_bytes().get(..at).unwrap_or_default();
    at - before.iter().rev().take(MAX_NAME_PREFIX).take_while(part).count()
}

/// Whether a name begins its line, as in settings: after nothing, a dash or a word that sets it.
pub(super) fn is_setting(text: &str, start: usize) -> bool {
    let before = text.get(..start).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default().trim();
    matches!(line, "" | "-" | "export" | "set" | "ENV" | "ARG")
}
