//! Which findings are about the same harm, and as one. Tools name a weakness by its number, and not all
//! of them by the same one; some name none, and are known by their words.

use std::mem;

use crate::{
    analysis::{Finding, Source},
    workflows::review::rule_book::cwe_in,
};

/// A kind of harm: the weaknesses that it is known as (CWE), and words for it.
type Harm = (&'static [u32], &'static [&'static str]);

/// Where secrets stand among the kinds of harm.
const SECRETS: usize = 0;

/// Every kind of harm that has more than one name. Words are in small letters, one blank between two.
const HARMS: &[Harm] = &[
    (
        &[798, 259, 256, 257, 260, 321, 522, 540],
        &[
            "secret",
            "secrets",
            "credential",
            "credentials",
            "hardcoded password",
            "hard coded password",
            "password string",
            "password default",
            "api key",
            "private key",
            "access token",
        ],
    ),
    (&[89, 564, 943], &["sql injection", "sqli", "hardcoded sql", "nosql injection"]),
    (&[77, 78, 88], &["command injection", "shell injection", "shell true"]),
    (&[94, 95, 96, 1336], &["code injection", "template injection", "eval injection"]),
    (&[79, 80, 83, 87, 116], &["xss", "cross site scripting"]),
    (&[22, 23, 35, 36, 73], &["path traversal", "path injection", "directory traversal"]),
    (&[502], &["deserialization", "deserialisation", "pickle", "yaml load"]),
    (&[918], &["ssrf", "server side request forgery"]),
    (&[601], &["open redirect", "url redirection"]),
    (&[611, 776, 827], &["xxe", "external entity", "external entities"]),
    (&[90], &["ldap injection"]),
    (&[643], &["xpath injection"]),
    (&[93, 113, 117], &["log injection", "header injection", "response splitting"]),
    (&[185, 400, 730, 1333], &["redos", "regex injection"]),
    (
        &[326, 327, 328, 759, 760, 916],
        &["weak hash", "insecure hash", "md5", "sha1", "weak cipher"],
    ),
    (&[330, 331, 335, 338], &["insecure random", "weak random", "pseudo random"]),
    (
        &[295, 297, 296, 599],
        &["certificate validation", "certificate verification", "verify false"],
    ),
    (&[347], &["jwt verification"]),
    (&[377, 378, 379], &["insecure temporary file", "mktemp"]),
    (&[276, 732], &["file permissions", "world writable"]),
    (&[489, 215], &["debug true", "debug enabled"]),
    (&[352], &["csrf", "cross site request forgery"]),
];

/// Whether a finding of another tool and this one are about the same harm at the same place.
pub(in crate::workflows::review) fn same_harm(a: &Finding, b: &Finding) -> bool {
    let meet = a.path == b.path && a.side == b.side;
    let meet = meet && a.start_line <= b.end_line && b.start_line <= a.end_line;
    let of_tool = a.source == Source::Tool || b.source == Source::Tool;
    if !meet || !of_tool || a.is_whole_file() || b.is_whole_file() {
        return false;
    }
    let weaknesses = [cwe_in(&a.body), cwe_in(&b.body)];
    if same_weakness(weaknesses) {
        return true;
    }
    let harm = |f: &Finding, cwe| harm_of(cwe, &format!("{} {}", f.rule, f.title));
    harm(a, weaknesses[0]).is_some_and(|of_a| harm(b, weaknesses[1]) == Some(of_a))
}

/// Whether two findings of ours about one line name the same weakness, or are both about a secret.
pub(in crate::workflows::review) fn same_cause(a: &Finding, b: &Finding) -> bool {
    let found = |f: &Finding| matches!(f.source, Source::Rule | Source::Flow | Source::Secret);
    let weaknesses = [cwe_in(&a.body), cwe_in(&b.body)];
    let secrets = |cwe: &Option<u32>| cwe.is_some_and(|cwe| HARMS[SECRETS].0.contains(&cwe));
    found(a) && found(b) && (same_weakness(weaknesses) || weaknesses.iter().all(secrets))
}

fn same_weakness([a, b]: [Option<u32>; 2]) -> bool {
    a.is_some() && a == b
}

/// Takes `other`, which says the same, into `kept`. A finding of ours speaks for one of another tool: it
/// knows what to do about it.
pub(in crate::workflows::review) fn merge_into(kept: &mut Finding, mut other: Finding) {
    let of_tool = |f: &Finding| f.source == Source::Tool;
    if kept.rule == other.rule || !of_tool(kept) && !of_tool(&other) {
        return;
    }
    let severity = kept.severity.max(other.severity);
    let confidence = kept.confidence.max(other.confidence);
    if of_tool(kept) && !of_tool(&other) {
        mem::swap(kept, &mut other);
    }
    (kept.severity, kept.confidence) = (severity, confidence);
    if kept.flow.is_empty() {
        kept.flow = other.flow;
    }
    kept.body.push_str(&format!("\n\nAlso found by `{}`.", other.rule));
}

/// Whether a result is about a credential in a text, which it may quote.
pub(super) fn is_secret(cwe: Option<u32>, about: &str) -> bool {
    harm_of(cwe, about) == Some(SECRETS)
}

/// Whether words are about a harm that is known.
pub(super) fn is_known(about: &str) -> bool {
    harm_of(None, about).is_some()
}

/// The kind of harm of a weakness, or else of the words about it.
fn harm_of(cwe: Option<u32>, about: &str) -> Option<usize> {
    let known = |cwe| HARMS.iter().position(|(weaknesses, _)| weaknesses.contains(&cwe));
    cwe.and_then(known).or_else(|| {
        let words = about.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let words: Vec<String> = words.map(str::to_lowercase).collect();
        let about = format!(" {} ", words.join(" "));
        let says = |name: &str| about.contains(&format!(" {name} "));
        HARMS.iter().position(|(_, names)| names.iter().any(|name| says(name)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harm_is_known_by_numbers_or_words() {
        let sql = harm_of(Some(89), "");
        assert!(sql.is_some());
        for about in ["python.lang.sql-injection", "SQL injection, perhaps", "hardcoded_sql"] {
            assert_eq!(harm_of(None, about), sql, "{about}");
        }
        assert_eq!(harm_of(Some(564), "secret"), sql);
        assert_eq!(harm_of(None, "call with shell=True"), harm_of(Some(78), ""));
        assert_eq!(harm_of(Some(703), "sql injection"), sql);
        assert_eq!(harm_of(None, "secretary of the mysql injectionist"), None);
        assert!(is_secret(None, "generic-api-key"));
        assert!(is_secret(Some(259), "Possible"));
        assert!(!is_secret(Some(89), "secret"));
    }
}
