//! What makes a value harmless, by what is done with it.

use std::sync::OnceLock;

use super::{
    model::harms,
    value::{Harms, Value},
};

/// The kind of harm of this name, as a set.
pub(super) fn bit(harm: &str) -> Harms {
    harms().iter().position(|h| h.id == harm).map_or(0, |at| 1 << at)
}

/// The kinds of harm that a function of this path, in small letters, is for.
pub(super) fn cleaned_by(path: &str) -> Harms {
    let (object, name) = path.rsplit_once('.').unwrap_or(("", path));
    static MARKUP: OnceLock<Harms> = OnceLock::new();
    let markup = *MARKUP.get_or_init(|| {
        bit("cross-site-scripting") | bit("xpath-injection") | bit("template-injection")
    });
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    if has(&["sanit", "whitelist", "allowlist", "purify", "strip_tags", "striptags"]) {
        return Harms::MAX;
    }
    let mut clean = 0;
    if has(&["escape", "encode", "htmlspecial", "htmlentit"]) && !has(&["unescape", "decode"]) {
        clean |= markup;
    }
    if has(&["url", "uri"]) && has(&["escape", "encode", "quote"]) {
        clean |= bit("request-forgery") | bit("open-redirect") | bit("header-injection");
    }
    if name.ends_with("_path") || name.ends_with("_url") {
        clean |= bit("open-redirect") | bit("request-forgery");
    }
    let of_sql = name.contains("sql") && name.contains("escape");
    if of_sql || has(&["quote", "escape_string", "escapestring"]) {
        clean |= bit("sql-injection") | bit("shell-injection");
    }
    if name.starts_with("db_") && has(&["input", "qstr", "prep", "escape"]) {
        clean |= bit("sql-injection");
    }
    // `Dba::escape`, `connection.escape`: for the statements of that connection.
    let of_database = ["db", "sql", "database", "conn", "pool"].iter().any(|w| object.contains(w));
    if of_database && has(&["escape"]) {
        clean |= bit("sql-injection");
    }
    if has(&["shell"]) && has(&["escape", "quote"]) {
        clean |= bit("shell-injection");
    }
    if has(&["ldap", "filter"]) && has(&["escape", "encode"]) {
        clean |= bit("ldap-injection");
    }
    if has(&["regex", "regexp"]) && has(&["escape", "quote"]) {
        clean |= bit("regex-injection");
    }
    if has(&["basename", "secure_filename", "getfilename", "filename_safe", "extension", "extname"])
    {
        clean |= bit("path-traversal");
    }
    if has(&["hash", "digest", "md5", "sha1", "sha256", "encrypt", "hmac"]) {
        return Harms::MAX;
    }
    clean
}

/// The kinds of harm that this source does not do: the host and the path of a page are asked for again, no link makes
/// them another's.
pub(super) fn of_source(label: &str) -> Harms {
    let name = label.trim_end_matches([')', '(', ']']).rsplit(['.', '[']).next();
    match &*name.unwrap_or(label).to_ascii_lowercase() {
        "http_host" | "server_name" | "host" | "request_uri" | "getrequesturi"
        | "getservletpath" | "getcontextpath" | "getservername" => bit("open-redirect"),
        _ => 0,
    }
}

/// Whether the name of a function, in lower case, says that what it gives has been checked.
pub(super) fn is_vouched_for(name: &str) -> bool {
    ["safe", "saniti", "valid", "trusted", "clean"].iter().any(|word| name.contains(word))
}

/// What a key says: a page that was left is gone back to, and no link makes that another's.
pub(super) fn from_key(key: &str, value: &mut Value) {
    // PHP itself names the file that was sent.
    if key == "tmp_name" {
        value.each(|_| false);
    }
    if matches!(&*key.to_ascii_lowercase(), "referer" | "referrer" | "http_referer") {
        value.each(|t| {
            t.clean |= bit("open-redirect");
            true
        });
    }
}

/// An operator that compares takes what it is given as a value, were it an object.
pub(super) fn operator(key: &str, value: &mut Value) {
    if matches!(key, "$eq" | "$in") {
        value.each(|t| {
            t.clean |= bit("nosql-injection");
            true
        });
    }
}

/// The kinds of harm that a text without `part` no longer does.
pub(super) fn cleaned_without(part: &str) -> Harms {
    let mut clean = 0;
    if part.contains(['\'', '"']) {
        clean |= bit("sql-injection") | bit("xpath-injection") | bit("ldap-injection");
    }
    if part.contains(['<', '&']) {
        clean |= bit("cross-site-scripting");
    }
    if part.contains("..") || part == "/" {
        clean |= bit("path-traversal");
    }
    if part.contains(['\n', '\r']) || part.contains("\\n") || part.contains("\\r") {
        clean |= bit("log-injection") | bit("header-injection");
    }
    clean
}
