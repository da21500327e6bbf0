//! What credentials look like. One row per kind; the group `secret` (or the whole match) is what
//! gets masked.

use std::sync::OnceLock;

use regex::Regex;

use super::Severity;

/// One kind of credential.
pub(super) struct Kind {
    pub(super) id: &'static str,
    pub(super) name: &'static str,
    pub(super) severity: Severity,
    /// Hundredths.
    pub(super) confidence: u8,
    /// A string every match contains, so that most texts never meet the expression.
    pub(super) literal: &'static str,
    pub(super) regex: Regex,
    /// Whether the value must also look random and unlike a placeholder.
    pub(super) weigh: bool,
}

type Row = (&'static str, &'static str, Severity, u8, &'static str, &'static str, bool);

use Severity::{Critical, High, Low, Medium};

#[rustfmt::skip]
const ROWS: &[Row] = &[
    ("private-key", "private key", Critical, 95, "PRIVATE KEY",
     r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----(?P<secret>(?:\s|\\n|\\r|[A-Za-z0-9+/=:,.\-]|[A-Za-z-]+: )*?)(?:-----END|\z|[^A-Za-z0-9+/=:,.\-\s\\])", false),
    ("aws-access-key", "AWS access key id", High, 90, "A",
     r"\b(?P<secret>(?:AKIA|ASIA)[A-Z2-7]{16})\b", true),
    ("aws-secret-key", "AWS secret access key", Critical, 90, "ws",
     r#"(?i)aws[a-z0-9_.\- ]{0,25}secret[a-z0-9_.\- ]{0,20}["']?\s*(?:=|:|=>|:=)\s*["']?(?P<secret>[A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|\z)"#, true),
    ("github-token", "GitHub token", Critical, 97, "gh",
     r"\b(?P<secret>gh[pousr]_[A-Za-z0-9]{36,251})\b", true),
    ("github-fine-grained-token", "GitHub fine-grained token", Critical, 97, "github_pat_",
     r"\b(?P<secret>github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59})\b", true),
    ("gitlab-token", "GitLab token", Critical, 95, "glpat-",
     r"\b(?P<secret>glpat-[A-Za-z0-9_\-]{20,})", true),
    ("slack-token", "Slack token", High, 95, "xox",
     r"\b(?P<secret>xox[abeoprs]-(?:[0-9]+-)+[A-Za-z0-9\-]{10,})", true),
    ("slack-webhook", "Slack webhook address", High, 95, "hooks.slack.com",
     r"https://hooks\.slack\.com/services/(?P<secret>T[A-Z0-9]{7,}/B[A-Z0-9]{7,}/[A-Za-z0-9]{20,})", true),
    ("stripe-live-key", "Stripe live key", Critical, 97, "k_live_",
     r"\b(?P<secret>[sr]k_live_[A-Za-z0-9]{16,})\b", true),
    ("stripe-test-key", "Stripe test key", Low, 90, "k_test_",
     r"\b(?P<secret>[sr]k_test_[A-Za-z0-9]{16,})\b", true),
    ("google-api-key", "Google API key", High, 90, "AIza",
     r"\b(?P<secret>AIza[A-Za-z0-9_\-]{35})(?:[^A-Za-z0-9_\-]|\z)", true),
    ("google-client-secret", "Google OAuth client secret", High, 95, "GOCSPX-",
     r"\b(?P<secret>GOCSPX-[A-Za-z0-9_\-]{28})", true),
    ("npm-token", "npm token", Critical, 97, "npm_",
     r"\b(?P<secret>npm_[A-Za-z0-9]{36})\b", true),
    ("pypi-token", "PyPI token", Critical, 97, "pypi-",
     r"\b(?P<secret>pypi-AgEIcHlwaS5vcmc[A-Za-z0-9_\-]{50,})", true),
    ("openai-key", "OpenAI key", Critical, 95, "T3BlbkFJ",
     r"\b(?P<secret>sk-(?:[a-z]+-)?[A-Za-z0-9_\-]{16,}T3BlbkFJ[A-Za-z0-9_\-]{16,})", true),
    ("anthropic-key", "Anthropic key", Critical, 95, "sk-ant-",
     r"\b(?P<secret>sk-ant-[a-z0-9]+-[A-Za-z0-9_\-]{60,})", true),
    ("sendgrid-key", "SendGrid key", High, 97, "SG.",
     r"\b(?P<secret>SG\.[A-Za-z0-9_\-]{22}\.[A-Za-z0-9_\-]{43})", true),
    ("json-web-token", "signed JSON web token", Medium, 60, "eyJ",
     r"\b(?P<secret>eyJ[A-Za-z0-9_\-]{10,}\.eyJ[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]{20,})", true),
    ("connection-password", "password in a connection string", High, 80, "://",
     r#"\b[a-z][a-z0-9+.\-]{1,20}://[^\s:/@"'`<>{}$%]{1,60}:(?P<secret>[^\s:/@"'`<>{}$%]{6,80})@[A-Za-z0-9.\-]+"#, true),
    ("hardcoded-credential", "hard-coded credential", Medium, 70, "",
     r#"(?i)\b[a-z0-9_.\-]{0,40}(?:passw(?:or)?d|secret|api[_-]?key|apikey|auth[_-]?token|access[_-]?token|private[_-]?token|client[_-]?secret)["']?\s*(?::=|=>|=|:)\s*(?:"(?P<secret>[^"\s]{10,200})"|'(?P<single>[^'\s]{10,200})')"#, true),
];

/// Every kind, most specific first.
pub(super) fn kinds() -> &'static [Kind] {
    static KINDS: OnceLock<Vec<Kind>> = OnceLock::new();
    KINDS.get_or_init(|| ROWS.iter().filter_map(compile).collect())
}

fn compile(row: &Row) -> Option<Kind> {
    let (id, name, severity, confidence, literal, expression, weigh) = *row;
    let regex = Regex::new(expression).ok()?;
    Some(Kind { id, name, severity, confidence, literal, regex, weigh })
}

/// How many kinds are listed, whether or not their expression compiles.
pub(super) const LISTED: usize = ROWS.len();
