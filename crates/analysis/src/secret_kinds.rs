//! What credentials look like: kinds written here, and a pack of formats taken over as data
//! (`secret_pack.tsv`, its licence beside it). The group `secret`, else the first group, else the
//! whole match is what gets masked.

use std::{borrow::Cow, sync::OnceLock};

use aho_corasick::{AhoCorasick, MatchKind};
use regex::bytes::{Regex, RegexBuilder};

use super::Severity;

/// One kind of credential.
pub(super) struct Kind {
    pub(super) id: &'static str,
    pub(super) name: String,
    pub(super) severity: Severity,
    /// Hundredths.
    pub(super) confidence: u8,
    /// Whether the value must also look random and unlike a placeholder.
    pub(super) weigh: bool,
    /// Whether the name before the value is all there is to tell it by.
    pub(super) generic: bool,
    /// Whether the value must hold digits: the vendor's name before it and its length tell no more
    /// than that it could be one.
    pub(super) digits: bool,
    /// Whether the place tells it, where the name of a secret or a word may stand as well.
    pub(super) by_place: bool,
    /// The least entropy of a value, in bits per byte.
    pub(super) entropy: f64,
    pub(super) expression: Cow<'static, str>,
    regex: OnceLock<Option<Regex>>,
}

impl Kind {
    /// Its expression, compiled when a text first needs it; absent when it is none, which a test
    /// rules out.
    pub(super) fn regex(&self) -> Option<&Regex> {
        // Of bytes: `[^ ]{6,80}` of all of Unicode takes eighty times two hundred states, and a word
        // boundary of Unicode makes an expression slow over any text that is not all ASCII.
        let compiled = || RegexBuilder::new(&self.expression).unicode(false).build().ok();
        self.regex.get_or_init(compiled).as_ref()
    }
}

type Row = (&'static str, &'static str, Severity, u8, &'static str, &'static str, bool);

use Severity::{Critical, High, Low, Medium};

#[rustfmt::skip]
const ROWS: &[Row] = &[
    ("private-key", "private key", Critical, 95, "PRIVATE KEY",
     r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----(?P<secret>(?:\s|\\+(?:[nrt/]|u000[aAdD])|[A-Za-z0-9+/=:,.\-]|[A-Za-z-]+: )*?)(?:-----END|\z|\\+(?:[^nrtu/\\]|u0{0,2}[^0]|u000[^aAdD]|u0{0,3}\z|\z)|[^A-Za-z0-9+/=:,.\-\s\\])", false),
    ("aws-access-key", "AWS access key id", High, 90, "akia|asia",
     r"\b(?P<secret>(?:AKIA|ASIA)[A-Z2-7]{16})\b", true),
    ("aws-secret-key", "AWS secret access key", Critical, 90, "aws",
     r#"(?i)aws[a-z0-9_.\- ]{0,25}secret[a-z0-9_.\- ]{0,20}["']?\s*(?:=|:|=>|:=)\s*["']?(?P<secret>[A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|\z)"#, true),
    ("github-token", "GitHub token", Critical, 97, "ghp_|gho_|ghu_|ghs_|ghr_",
     r"\b(?P<secret>gh[pousr]_[A-Za-z0-9]{36,251})\b", true),
    ("github-fine-grained-token", "GitHub fine-grained token", Critical, 97, "github_pat_",
     r"\b(?P<secret>github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59})\b", true),
    ("gitlab-token", "GitLab token", Critical, 95, "glpat-",
     r"\b(?P<secret>glpat-[A-Za-z0-9_\-]{20,})", true),
    ("slack-token", "Slack token", High, 95, "xox",
     r"\b(?P<secret>xox[abeoprs]-(?:[0-9]{8,14}-){1,3}[A-Za-z0-9]{18,})", true),
    ("slack-webhook", "Slack webhook address", High, 95, "hooks.slack.com",
     r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>T[A-Z0-9]{7,}/[A-Z0-9]{7,}/[A-Za-z0-9/]{20,}|[A-Za-z0-9+/]{43,56})", true),
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
    ("kubernetes-secret", "value of a Kubernetes secret", High, 70, "kind:",
     r#"(?im)^[ \t]*kind:[ \t]*["']?secret["']?[ \t]*\r?\n(?:[^\n]*\n){0,30}?[ \t]*data:[ \t]*\r?\n(?P<secret>[ \t]+(?:#[^\n]*|[a-z0-9_.\-]+:[ \t]*["']?[a-z0-9+/=]*["']?[ \t]*)(?:\r?\n[ \t]+(?:#[^\n]*|[a-z0-9_.\-]+:[ \t]*["']?[a-z0-9+/=]*["']?[ \t]*))*)|^[ \t]*data:[ \t]*\r?\n(?P<single>[ \t]+(?:#[^\n]*|[a-z0-9_.\-]+:[ \t]*["']?[a-z0-9+/=]*["']?[ \t]*)(?:\r?\n[ \t]+(?:#[^\n]*|[a-z0-9_.\-]+:[ \t]*["']?[a-z0-9+/=]*["']?[ \t]*))*)\r?\n[ \t]*kind:[ \t]*["']?secret["']?[ \t]*\r?$"#, false),
    ("curl-password", "password on a command line of curl", High, 70, "curl",
     r#"\bcurl\b(?:[^\n\\]|\\[^\n]|\\\r?\n)*?\s(?:-u|--user)[ =]?["']?[A-Za-z0-9_.@+\-]{1,80}:(?P<secret>[^\s"':$<{]{3,120})"#, true),
    ("curl-header", "credential in a header of curl", High, 70, "curl",
     r#"(?i)\bcurl\b(?:[^\n\\]|\\[^\n]|\\\r?\n)*?\s(?:-H|--header)[ =]*["'](?:authorization:[ ]*(?:(?:basic|bearer|token)[ ]+)?|(?:x-)?(?:[a-z]+-){0,3}(?:api-?)?(?:key|token|secret|auth)[ ]*:[ ]*)(?P<secret>[a-z0-9+/=._~\-]{8,800})["']"#, true),
    ("connection-string-password", "password in a connection string", High, 80, "password=|pwd=|password =|pwd =",
     r#"(?i)\b(?:server|host|data source|user id|uid|user|database|initial catalog)[ ]*=[^;\n"'=]{1,100};(?:[^;\n"']{0,100};){0,8}[ ]*(?:password|pwd)[ ]?=[ ]*(?P<secret>[^;"'\s<>{}$%*]{4,128})"#, true),
    ("connection-password", "password in a connection string", High, 80, "://",
     r#"\b[a-z][a-z0-9+.\-]{1,20}://[^\s:/@"'`<>{}$%]{1,60}:(?P<secret>[^\s:/@"'`<>{}$%]{6,80})@[A-Za-z0-9.\-]+"#, true),
    ("bearer-token", "token in an authorization header", High, 70, "bearer",
     r#"(?i)["'`](?:authorization:[ ]*)?bearer[ ]+(?P<secret>[a-z0-9+/=._~\-]{20,800})["'`]"#, true),
    ("hardcoded-credential", "hard-coded credential", Medium, 70, "passw|_pass|-pass|passphrase|secret|key|token|pwd|psk|pepper",
     r#"(?i)(?:passw(?:or)?d|[_-]pass|\bpwd|[_.-]pwd|dbpwd|\bpsk|(?-i:[a-z]Pwd)|passphrase|secret(?:[_-]key[_-]base)?|api[_-]?key|apikey|auth[_-]?token|access[_-]?token|private[_-]?token|client[_-]?secret|pepper|(?:access|auth|encryption|jwt|master|secret|session|signing)[_-]?key)(?:\\?["']?\]?(?:\s*\{[^{}"'\n]{0,60}\})?(?:\s*:\s*&?(?:'static )?[a-z]+)?\s*(?::=|=>|=|:)|["']\s*,)\s*(?:\[\]byte\(|b|Buffer\.from\()?(?:"?\\{0,3}"(?P<secret>[^"\s]{8,}?)\\{0,3}"|'(?P<single>[^'\s]{8,})')"#, true),
    ("assigned-token", "value of a name that speaks of a token or key", Medium, 60, "token|credential|key|auth",
     r#"(?i)(?:token|credentials?|[a-z]key|[_-]key|[_-]auth)["']?\]?\s*(?::=|=>|=|:)\s*(?:"(?P<secret>[a-z0-9+/_=\-]{20,})"|'(?P<single>[a-z0-9+/_=\-]{20,})')"#, true),
    ("token-in-settings", "value of a name that speaks of a secret", Medium, 60, "passw|secret|token|key|pepper",
     r#"(?im)(?:passw(?:or)?d|secret|token|[a-z]key|[_.-]key|key_base|pepper)[ \t]*[=:][ \t]*(?P<secret>[a-z0-9+/_=\-]{20,})[ \t]*\r?$"#, true),
    ("password-in-settings", "password in settings", High, 70, "pass|pwd|psk|secret|masterauth",
     r#"(?im)(?:passw(?:or)?d|passphrase|passcode|pwd|psk|secret|(?:\b|[_.-]|db|smtp|mail|sql|user|ftp|ldap|key)pass)[ \t]*[=:][ \t]*(?P<secret>[a-z0-9!+=?_\-][^\s"'`\\]{6,62}[^\s"'`\\,;{(:>?])[ \t]*(?:[ \t][#;][^\n]*)?\r?$|\b(?:requirepass|masterauth)[ \t]+(?P<single>[a-z0-9!+=?_\-][^\s"'`\\]{7,63})[ \t]*\r?$"#, true),
];

/// Of these, the name before the value is all there is to tell it by, and a longer value is data.
const NAMED: &[&str] =
    &["hardcoded-credential", "assigned-token", "token-in-settings", "password-in-settings"];
pub(super) const LONGEST_NAMED: usize = 200;

/// Rows that would also match what a more specific kind names.
const GENERIC: usize = 9;

const PACK: &str = include_str!("secret_pack.tsv");

/// Every kind, and what tells which of them can occur in a text.
pub(super) struct Kinds {
    /// Most specific first.
    pub(super) all: Vec<Kind>,
    words: Option<AhoCorasick>,
    /// The kinds of each word.
    of_word: Vec<Vec<usize>>,
}

/// Every kind.
pub(super) fn kinds() -> &'static Kinds {
    static KINDS: OnceLock<Kinds> = OnceLock::new();
    KINDS.get_or_init(|| {
        let specific = &ROWS[..ROWS.len() - GENERIC];
        let pack = PACK.lines().filter_map(packed);
        let generic = &ROWS[ROWS.len() - GENERIC..];
        Kinds::new(specific.iter().map(row).chain(pack).chain(generic.iter().map(row)).collect())
    })
}

impl Kinds {
    fn new(found: Vec<(Kind, Vec<&'static str>)>) -> Self {
        let (mut words, mut of_word): (Vec<&str>, Vec<Vec<usize>>) = Default::default();
        let mut all = Vec::new();
        for (index, (kind, needs)) in found.into_iter().enumerate() {
            for word in needs {
                match words.iter().position(|w| *w == word) {
                    Some(known) => of_word[known].push(index),
                    None => {
                        words.push(word);
                        of_word.push(vec![index]);
                    }
                }
            }
            all.push(kind);
        }
        let mut automaton = AhoCorasick::builder();
        automaton.ascii_case_insensitive(true).match_kind(MatchKind::Standard);
        Self { all, words: automaton.build(words).ok(), of_word }
    }

    /// The kinds `text` may hold, most specific first.
    pub(super) fn possible(&self, text: &str) -> Vec<(usize, &Kind)> {
        let mut seen = vec![false; self.all.len()];
        let words = self.words.iter().flat_map(|w| w.find_overlapping_iter(text));
        for index in words.flat_map(|found| &self.of_word[found.pattern().as_usize()]) {
            seen[*index] = true;
        }
        self.all.iter().enumerate().filter(|(index, _)| seen[*index]).collect()
    }
}

fn row(row: &Row) -> (Kind, Vec<&'static str>) {
    let (id, name, severity, confidence, words, expression, weigh) = *row;
    let generic = NAMED.contains(&id);
    let kind = Kind {
        id,
        name: name.to_owned(),
        severity,
        confidence,
        weigh,
        generic,
        digits: false,
        by_place: false,
        entropy: match id {
            "assigned-token" | "token-in-settings" => 3.7,
            "bearer-token" => 3.5,
            "curl-header" => 2.7,
            _ if generic => 3.3,
            _ => 0.0,
        },
        expression: Cow::Borrowed(expression),
        regex: OnceLock::new(),
    };
    (kind, words.split('|').collect())
}

/// A line of the pack.
fn packed(line: &'static str) -> Option<(Kind, Vec<&'static str>)> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [id, told_by, entropy, words, expression] = fields[..] else { return None };
    let words: Vec<&str> = words.split('|').collect();
    let digits = told_by == "named";
    let expression =
        if digits { Cow::Owned(named(&words, expression)) } else { Cow::Borrowed(expression) };
    // What only tells who asks opens little by itself.
    let public = id.ends_with("-id") || id.contains("-public-") || id.contains("-pub-");
    let kind = Kind {
        id,
        name: id.replace('-', " "),
        severity: if public { Low } else { High },
        confidence: if told_by == "format" { 90 } else { 70 },
        weigh: true,
        generic: false,
        digits,
        by_place: told_by == "place",
        entropy: entropy.parse().ok()?,
        expression,
        regex: OnceLock::new(),
    };
    Some((kind, words))
}

/// The expression of a value that is assigned to a name with one of `words` in it.
fn named(words: &[&str], value: &str) -> String {
    let words: Vec<String> = words.iter().map(|word| regex::escape(word)).collect();
    let words = words.join("|");
    format!(
        r#"(?i)(?:{words})[ \t0-9A-Za-z_.\-]{{0,20}}[\s'"]{{0,3}}(?:=|>|:{{1,3}}=|\|\||:|=>|\?=|,)[`'"\s=]{{0,12}}({value})(?:\\?['"`]|[\s;,)]|\\[nr]|\z)"#
    )
}

/// How many kinds are listed, whether or not they can be used.
pub(super) fn listed() -> usize {
    ROWS.len() + PACK.lines().filter(|line| !line.starts_with('#')).count()
}
