//! What the place that a value comes from says about it: a table's name that the caller wrote, a path of the request, a
//! source of the browser.

use super::{
    clean::bit,
    model::Reach,
    run::Run,
    value::{Known, Origin, TAINTED, Taint, Value},
};

impl Run<'_, '_> {
    /// Whether a source is one of a browser's, which asks servers with its user's rights anyway.
    pub(super) fn is_in_browser(&self, origin: Origin) -> bool {
        let Some(label) = self.label(origin) else { return false };
        // A component that says so runs in the browser alone.
        let page = self.text.starts_with("'use client'") || self.text.starts_with("\"use client\"");
        page || ["location.", "document.", "window."].iter().any(|start| label.starts_with(start))
    }

    /// Whether a parameter is, by its name, plain text: no markup that the caller made.
    pub(super) fn is_called_text(&self, origin: Origin) -> bool {
        const NAMES: &[&str] = &[
            "text",
            "msg",
            "message",
            "title",
            "name",
            "username",
            "nickname",
            "comment",
            "term",
            "searchterm",
            "query",
            "keyword",
            "subject",
            "reason",
            "bio",
            "userinput",
            "input",
        ];
        let Origin::Param(at, number) = origin else { return false };
        let param = self.unit.functions.get(at).and_then(|f| f.params.get(number));
        let name = param.and_then(|p| p.target.name()).unwrap_or_default();
        let plain = name.bytes().filter(u8::is_ascii_alphabetic).map(|b| b.to_ascii_lowercase());
        let plain: Vec<u8> = plain.collect();
        NAMES.iter().any(|known| known.as_bytes() == plain.as_slice())
    }

    /// Whether a parameter is a list of arguments, by its type: no shell reads them.
    pub(super) fn is_list(&self, origin: Origin) -> bool {
        let Origin::Param(at, number) = origin else { return false };
        let param = self.unit.functions.get(at).and_then(|f| f.params.get(number));
        let ty = param.and_then(|p| p.ty).unwrap_or_default().to_ascii_lowercase();
        ty.starts_with("list") || ty.starts_with("array") || ty.contains("[]") || ty.contains("...")
    }

    /// Whether a parameter is, by its name, a part of SQL that the caller wrote.
    pub(super) fn is_own_sql(&self, origin: Origin) -> bool {
        const WORDS: &[&str] = &[
            "table",
            "tbl",
            "column",
            "placeholder",
            "schema",
            "clause",
            "field",
            "where",
            "prefix",
            "sql",
            "condition",
            "marks",
            "order",
            "index",
            "suffix",
            "database",
            "dbname",
        ];
        let name = match origin {
            Origin::Param(at, number) => {
                let param = self.unit.functions.get(at).and_then(|f| f.params.get(number));
                param.and_then(|p| p.target.name()).unwrap_or_default()
            }
            Origin::Source(at) => match self.sources.get(at) {
                Some(source) if source.reach == Reach::Parameter => source.label.as_str(),
                _ => return false,
            },
        };
        let name = name.to_ascii_lowercase();
        WORDS.iter().any(|word| name.contains(word))
    }

    /// How far somebody else decides what comes from there.
    pub(super) fn reach(&self, origin: Origin) -> Reach {
        match origin {
            Origin::Param(..) => Reach::Parameter,
            Origin::Source(at) => self.sources.get(at).map_or(Reach::Local, |s| s.reach),
        }
    }

    /// Whether a value is compared as it came: a text, and no object with an operator in it.
    pub(super) fn is_text_compared(&self, taint: &Taint, value: &Value) -> bool {
        let fields = match &value.known {
            Known::Map(fields) => Some(fields),
            _ => None,
        };
        // What stands there is run.
        let code = fields.is_some_and(|fields| fields.contains_key("$where"));
        // In Go, what a request gives is a text; only what was decoded from one is more.
        let text = self.language == "Go" && fields.is_some()
            || self.label(taint.origin).is_some_and(|label| label.contains(".params"));
        text && !taint.composed && !code
    }

    /// What the text calls a source.
    fn label(&self, origin: Origin) -> Option<&str> {
        let Origin::Source(at) = origin else { return None };
        self.sources.get(at).map(|source| source.label.as_str())
    }

    /// Whether a value is the path of a request, which begins with a slash, behind a scheme and a host.
    pub(super) fn is_path_of_host(&self, origin: Origin, value: &Value) -> bool {
        let Some(label) = self.label(origin) else { return false };
        let before = value.known_text().and_then(|text| text.split(TAINTED).next());
        let host = before.and_then(|before| before.split_once("://")).map(|(_, host)| host);
        let own = value.taints().first().is_some_and(|t| t.clean & bit("open-redirect") != 0);
        const PATHS: &str =
            ".path .originalUrl .fullpath REQUEST_URI REQUEST_PATH .url .URL .RequestURI";
        // `${url.pathname}?${…}`
        let query =
            |text: &str| text.split(TAINTED).nth(1).is_some_and(|rest| rest.starts_with('?'));
        own && before == Some("") && value.known_text().is_some_and(query)
            || host.is_some_and(|host| own || !host.is_empty())
                && PATHS.split(' ').any(|end| label.contains(end))
    }
}
