//! What makes a value harmless, by what is done with it.

use std::sync::OnceLock;

use super::{
    call::Made,
    form::Param,
    model::{Meaning, harms},
    parameter::is_data,
    run::{Hit, Run, State},
    value::{Harms, Known, Value},
};

/// Calls that name a file, which may be checked before it is used.
const NAMES_FILE: &[&str] = &["new File", "new FileInfo", "new DirectoryInfo"];

impl<'t> Run<'_, 't> {
    /// The kinds of harm that are gone once the function that is passed was applied: `map(Integer::parseInt)`.
    pub(super) fn mapped(&self, made: &Made<'_, 't>) -> Harms {
        let of_kotlin = self.language == "Kotlin" && matches!(made.name, "let" | "joinToString");
        let maps = matches!(made.name, "map" | "flatMap" | "mapToInt" | "Select" | "array_map");
        if !maps && !of_kotlin {
            return 0;
        }
        // Of Kotlin it stands last.
        let function = if of_kotlin { made.args.last() } else { made.args.first() };
        let Some(function) = function.map(|a| &a.value) else { return 0 };
        if let Known::Function(at) = function.known {
            let followed = self.unit.functions.get(at);
            // What was kept in a variable was followed without what it is called with, where that counts as no data.
            let is_unknown = |p: &Param<'t>| {
                let name = p.target.name().unwrap_or_default();
                p.ty.is_none() && !is_data(name, None, self.language)
            };
            if followed.is_some_and(|f| !f.name.is_empty() && f.params.iter().any(is_unknown)) {
                return 0;
            }
            return match self.states.get(at) {
                Some(State::Done(summary)) if !summary.gives.is_tainted() => Harms::MAX,
                _ => 0,
            };
        }
        let path = function.path.as_deref().or(function.constant()).unwrap_or_default();
        // `strip_tags(...)` of PHP is the function itself.
        let path = path.trim_end_matches("()");
        let cleans = self.model.meanings(path).filter_map(|meaning| match meaning {
            Meaning::Clean(harms) => Some(*harms),
            _ => None,
        });
        cleans.fold(cleaned_by(&path.to_ascii_lowercase()), |all, harms| all | harms)
    }

    /// Of Go, a path that is cleaned from the root on goes up no further: `filepath.Clean("/" + name)`.
    pub(super) fn rooted(&self, made: &Made<'_, 't>) -> Harms {
        let path = made.args.first().and_then(|a| a.value.known_text()).unwrap_or_default();
        let rooted = self.language == "Go" && made.name == "Clean" && path.starts_with('/');
        if rooted { bit("path-traversal") } else { 0 }
    }

    /// What was found of a file that was named is less sure once the file is checked.
    pub(super) fn file_checked(&mut self, value: &Value) {
        // Only the file itself, or what was made of it: a check of the name alone may be for something else.
        let made: Vec<_> = value
            .taints()
            .iter()
            .filter_map(|t| Some((t.origin, t.steps.as_ref()?.line)))
            .collect();
        let named = |hit: &&mut Hit| {
            NAMES_FILE.contains(&&*hit.sink)
                && made.iter().any(|(origin, line)| *origin == hit.origin && *line >= hit.line)
        };
        self.hits.iter_mut().filter(named).for_each(|hit| hit.weak = true);
    }
}

/// A value that no longer does these kinds of harm.
pub(super) fn without(mut value: Value, harms: Harms) -> Value {
    value.spare(harms);
    value
}

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
    if has(&["escape", "encode", "htmlspecial", "htmlentit"]) && !has(&["unescape", "decode"])
        || matches!(name, "h" | "hsc" | "esc")
    {
        clean |= markup;
    }
    if has(&["url", "uri"]) && has(&["escape", "encode", "quote"]) {
        clean |= bit("request-forgery") | bit("open-redirect") | bit("header-injection");
    }
    if name.ends_with("_path") || name.ends_with("_url") {
        clean |= bit("open-redirect") | bit("request-forgery");
    }
    let of_sql = name.contains("sql") && name.contains("escape");
    let identifier = name.starts_with("id") && name.contains("escape");
    if of_sql || identifier || path == "q" || has(&["quote", "escape_string", "escapestring"]) {
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
        | "getservletpath" | "getcontextpath" | "getservername" | "hostname" | "originalurl"
        | "fullpath" => bit("open-redirect"),
        _ => 0,
    }
}

/// The host that a page was asked for at: no link makes that another's.
pub(super) fn own_host(value: &mut Value) {
    value.spare(bit("open-redirect"));
}

/// Of FastAPI, one segment of an address: there is no slash in it, however it is encoded.
pub(super) fn one_segment(value: &mut Value) {
    value.spare(bit("path-traversal"));
}

/// The fields of an address that come after its host: what they hold does not decide where it leads.
pub(super) fn past_host(field: &str, value: &mut Value) {
    const FIELDS: &[&str] =
        &["Path", "RawPath", "RawQuery", "Fragment", "pathname", "search", "searchParams"];
    if FIELDS.contains(&field) {
        value.spare(bit("open-redirect") | bit("request-forgery"));
    }
}

/// Whether the name of a function, in lower case, says that what it gives has been checked.
pub fn is_vouched_for(name: &str) -> bool {
    ["safe", "saniti", "valid", "trusted", "clean"].iter().any(|word| name.contains(word))
}

/// What a key says: a page that was left is gone back to, and no link makes that another's.
pub(super) fn from_key(key: &str, value: &mut Value) {
    // PHP itself names the file that was sent; the others are what parts of the server keep in Rack's environment.
    const OWN: &[&str] = &["warden", "omniauth.", "action_dispatch.", "rack.session", "devise."];
    if key == "tmp_name" || OWN.iter().any(|own| key.starts_with(own)) {
        value.each(|_| false);
    }
    if matches!(&*key.to_ascii_lowercase(), "referer" | "referrer" | "http_referer") {
        own_host(value);
    }
    answers(key, value);
}

/// Where CloudFormation waits for the answer of a resource.
pub(super) fn answers(key: &str, value: &mut Value) {
    if key == "ResponseURL" {
        value.spare(bit("request-forgery"));
    }
}

/// An operator that compares takes what it is given as a value, were it an object.
pub(super) fn operator(key: &str, value: &mut Value) {
    if matches!(key, "$eq" | "$in") {
        text(value);
    }
}

/// A text is no operator of a query.
pub(super) fn text(value: &mut Value) {
    value.spare(bit("nosql-injection"));
}

/// Whether what an expression matches is all but letters, digits, spaces, dashes and underscores: `/[^a-z_-]+/i`.
pub(super) fn leaves_words(pattern: &str) -> bool {
    let body = pattern.trim_start_matches(['/', '~', '#', '@', '!', '%']);
    let body = body.trim_end_matches(|c: char| c.is_ascii_lowercase());
    let body = body.trim_end_matches(['/', '~', '#', '@', '!', '%']).trim_end_matches(['+', '*']);
    let inner = body.strip_prefix("[^").and_then(|rest| rest.strip_suffix(']'));
    // `\W`: a pattern that ends in a letter has lost it with the flags.
    let Some(inner) = inner else { return matches!(body, "\\W" | "[\\W]" | "\\D") };
    let inner = inner.replace("\\w", "").replace("\\d", "").replace("\\-", "");
    // From a space to another character lie quotes and slashes.
    let from_space = inner.trim_end_matches('-').contains(" -");
    !from_space && inner.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ' '))
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
    // Once taken out, `../` may be left of `....//`.
    let once = matches!(part, "../" | "..\\");
    if part.contains("..") && !once || part == "/" {
        clean |= bit("path-traversal");
    }
    if part.contains(['\n', '\r']) || part.contains("\\n") || part.contains("\\r") {
        clean |= bit("log-injection") | bit("header-injection");
    }
    clean
}
