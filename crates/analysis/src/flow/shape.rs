//! Whether a value from outside does harm at a sink, by the text it is put into: a value after the
//! host of an address, or a name of a column, is not what a value in quotes is.

use std::ops::Range;

use super::{
    form::Function,
    model::{Harm, Model, Reach, Sink, harms},
    run::{Hit, Run},
    shell,
    value::{HOLE, Known, Origin, TAINTED, Taint, Value},
};

impl<'t> Run<'_, 't> {
    /// Reports what of a value does the harm of a sink.
    pub(super) fn check(&mut self, sink: usize, value: &Value, lines: (u32, u32), callee: &str) {
        self.check_in(sink, value, lines, callee, false);
    }

    /// The same; `markup` says that tags stand beside the value, which makes a page of it whatever else the file sends.
    pub(super) fn check_in(
        &mut self,
        sink: usize,
        value: &Value,
        lines: (u32, u32),
        callee: &str,
        markup: bool,
    ) {
        let model = self.model;
        let Some(spec) = model.sinks.get(sink).filter(|_| value.is_tainted()) else { return };
        let text = self.text;
        let has = |words: &[String]| words.iter().any(|word| text.contains(word.as_str()));
        if !spec.only.is_empty() && !has(&spec.only) {
            return;
        }
        let in_page = markup || value.holds_tag();
        if self.says(&spec.unless, lines.0)
            && !(in_page && harm_of(model, sink) == "cross-site-scripting")
        {
            return;
        }
        if spec.markup && !value.holds_tag() {
            return;
        }
        let Some(harm) = harms().get(spec.harm) else { return };
        let value = match &value.known {
            // Data for programs; options, of which those that count have a name.
            Known::Map(_) if matches!(&*harm.id, "cross-site-scripting" | "request-forgery") => {
                return;
            }
            // What is formatted is a list of its own.
            Known::List(parts) if harm.id == "cross-site-scripting" && self.language != "Java" => {
                parts.first().unwrap_or(value)
            }
            // `[$this, 'run']`: of a method of its own, only the name could be chosen.
            Known::List(parts)
                if harm.id == "code-injection"
                    && parts.first().is_some_and(|of| of.path.as_deref() == Some("$this")) =>
            {
                parts.get(1).unwrap_or(value)
            }
            // Of a statement in parts, what is to be put in stands apart from the text, which has a name.
            Known::Map(_) if harm.id == "sql-injection" && self.language == "JavaScript" => {
                return;
            }
            // What a builder compares with is passed beside the statement.
            Known::Map(_) | Known::List(_)
                if harm.id == "sql-injection" && self.language == "Php" =>
            {
                return;
            }
            // Of a condition with placeholders only the first is a statement.
            Known::List(parts) if harm.id == "sql-injection" && self.language == "Ruby" => {
                parts.first().unwrap_or(value)
            }
            _ => value,
        };
        for taint in value.taints() {
            let reach = self.reach(taint.origin);
            let whole = harm.composed && reach < Reach::Request && !taint.composed;
            let is_param = matches!(taint.origin, Origin::Param(..));
            if is_param && whole && taint.clean & (1 << spec.harm) == 0 {
                let hit = hit(spec.harm, taint, lines, callee);
                self.hit(Hit { whole: Some(sink), ..hit });
            }
            let told = spec.text && self.is_called_text(taint.origin);
            let least = if told { Reach::Parameter } else { spec.from.unwrap_or(harm.from) };
            // What callers pass may come from a request.
            let reach = if is_param { reach.max(least) } else { reach };
            if whole
                || taint.clean & (1 << spec.harm) != 0
                || reach < least
                || harm.id == "sql-injection" && self.is_own_sql(taint.origin)
                || harm.id == "request-forgery" && self.is_in_browser(taint.origin)
                // The script of a page runs what its own page passes to it.
                || harm.id == "code-injection" && is_param && self.language == "JavaScript" && self.text.contains("document.")
                || harm.id == "shell-injection" && !taint.composed && self.is_list(taint.origin)
                || !self.does_harm(spec, harm, value, taint, reach)
            {
                continue;
            }
            let hit = hit(spec.harm, taint, lines, callee);
            self.hit(Hit { least, ..hit });
        }
    }

    fn does_harm(
        &self,
        sink: &Sink,
        harm: &Harm,
        value: &Value,
        taint: &Taint,
        reach: Reach,
    ) -> bool {
        if harm.id == "open-redirect" && self.is_path_of_host(taint.origin, value) {
            return false;
        }
        if harm.id == "nosql-injection" && self.is_text_compared(taint, value) {
            return false;
        }
        if harm.id != "sql-injection" {
            return does_harm(&harm.id, value, taint)
                || harm.id == "cross-site-scripting"
                    && reach == Reach::Request
                    && self.text.contains("\"text/html");
        }
        // Of Rails, a table of fields: their names are fixed, their values are quoted.
        if sink.fragment && is_called(value, &[".permit()", ".to_h()", ".slice()"]) {
            return false;
        }
        let upper = value.known_text().map(str::to_ascii_uppercase);
        let words = |text: &&String| text.contains(|c: char| c.is_ascii_alphabetic());
        match upper.as_ref().filter(words) {
            Some(_) if sink.fragment && reach == Reach::Request => true,
            Some(text) => {
                let statement = sink.fragment || is_statement(text, reach);
                statement && (reach == Reach::Request || holds_value(text))
            }
            // Of a value alone only the place says that it is SQL.
            None => reach == Reach::Request && !taint.vague && (sink.fragment || self.speaks_sql()),
        }
    }

    /// Whether the file says one of these words where it counts for a line: outside of functions, in the line's own, or in one
    /// that this names.
    fn says(&self, words: &[String], line: u32) -> bool {
        let in_text = |text: &str| words.iter().any(|word| text.contains(word.as_str()));
        if !in_text(self.text) {
            return false;
        }
        let of = |span: Range<usize>| self.text.get(span).unwrap_or_default();
        let before = usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX);
        let mut lines = self.text.split_inclusive('\n');
        let start: usize = lines.by_ref().take(before).map(str::len).sum();
        let end = start + lines.next().map_or(0, str::len);
        let tops = || self.unit.functions.iter().filter(|function| !function.nested);
        let own = tops().find(|f| f.span.start < end && start < f.span.end);
        let Some(own) = own else { return true };
        let mut past = 0;
        let outside = tops().any(|function| {
            let gap = past..function.span.start.max(past);
            past = past.max(function.span.end);
            in_text(of(gap))
        });
        let counts = |other: &Function<'_>| {
            let named = || !other.name.is_empty() && of(own.span.clone()).contains(other.name);
            in_text(of(other.span.clone())) && (other.span == own.span || named())
        };
        outside || in_text(of(past..self.text.len())) || tops().any(counts)
    }

    /// Whether the file has to do with SQL at all.
    fn speaks_sql(&self) -> bool {
        const WORDS: &[&str] = &[
            "SELECT ",
            "select ",
            "INSERT ",
            "insert into",
            "UPDATE ",
            "DELETE ",
            "sql",
            "Sql",
            "SQL",
            "cursor",
            "jdbc",
            "Statement",
            "PDO",
            "pdo",
            "sequelize",
            "knex",
            "Connection",
        ];
        WORDS.iter().any(|word| self.text.contains(word))
    }

    /// Reports the text of a statement with a value from outside in quotes, wherever it is used.
    pub(super) fn statement(&mut self, value: &Value, line: u32) {
        let Some(text) = value.known_text().filter(|_| value.is_tainted()) else { return };
        if !text.contains("'\u{2}") && !text.contains("'%\u{2}") {
            return;
        }
        let upper = text.to_ascii_uppercase();
        let whole =
            [("SELECT ", "FROM"), ("INSERT ", "INTO"), ("UPDATE ", "SET"), ("DELETE ", "FROM")];
        let start = upper.trim_start();
        let is_whole =
            |(verb, then): &(&str, &str)| start.starts_with(verb) && start.contains(then);
        let Some(harm) = harms().iter().position(|h| h.id == "sql-injection") else { return };
        if !whole.iter().any(is_whole) || !holds_value(&upper) {
            return;
        }
        for taint in value.taints().iter().filter(|t| t.clean & (1 << harm) == 0) {
            if self.reach(taint.origin) < Reach::Parameter || self.is_own_sql(taint.origin) {
                continue;
            }
            let found = hit(harm, taint, (line, line), "an SQL statement");
            self.hit(Hit { text_only: true, ..found });
        }
    }

    /// What a function gives may do harm by itself, where its marks say so.
    pub(super) fn returned(&mut self, line: u32, value: &Value) {
        let Some(at) = self.frame().function else { return };
        let Some(function) = self.unit.functions.get(at) else { return };
        // A value of its own may be an object, which is written as data.
        let text = self.language == "Python" || value.taints().iter().any(|t| t.composed);
        let plain = text && !matches!(value.known, Known::List(_) | Known::Map(_));
        if !value.is_tainted() || !plain {
            return;
        }
        let model = self.model;
        for (mark, sink) in &model.returns {
            let leads = value.known_text().is_some_and(|text| text.starts_with("redirect:"));
            let fits = match harm_of(model, *sink) {
                "open-redirect" => leads,
                // The name of a view.
                "template-injection" => {
                    let is_view = !function.marks.iter().any(|m| m.contains("ResponseBody"));
                    is_view && !leads && value.known_text().is_some()
                }
                _ => true,
            };
            if fits && function.marks.iter().any(|m| super::parameter::is_marked(m, mark)) {
                self.check(*sink, value, (line, line), "return");
            }
        }
    }
}

/// A value that reaches a sink.
fn hit(harm: usize, taint: &Taint, lines: (u32, u32), callee: &str) -> Hit {
    Hit {
        harm,
        origin: taint.origin,
        way: taint.way(),
        line: lines.0,
        end: lines.1,
        sink: callee.to_owned(),
        weak: taint.weak,
        vague: taint.vague,
        text_only: false,
        whole: None,
        least: Reach::Local,
    }
}

/// The kind of harm of a sink.
fn harm_of(model: &Model, sink: usize) -> &'static str {
    let harm = model.sinks.get(sink).and_then(|sink| harms().get(sink.harm));
    harm.map_or("", |harm| &harm.id)
}

fn does_harm(harm: &str, value: &Value, taint: &Taint) -> bool {
    let text = value.known_text();
    match harm {
        // A list is for the router, which makes the address.
        // What a whole request was made into is rather found than sent.
        "open-redirect" => {
            !taint.vague && !matches!(value.known, Known::List(_)) && address(text, true)
        }
        // What is read from a stream is no address.
        "request-forgery" => {
            address(text, false) && !is_called(value, &["InputStream()", "Reader()"])
        }
        "cross-site-scripting" => !is_json(text) && (!taint.vague || has_markup(text)),
        "shell-injection" => shell::command(value),
        _ => true,
    }
}

/// Whether what a value is called ends so.
fn is_called(value: &Value, ends: &[&str]) -> bool {
    value.path.as_deref().is_some_and(|path| ends.iter().any(|end| path.ends_with(end)))
}

fn has_markup(text: Option<&str>) -> bool {
    text.is_some_and(|text| text.contains('<'))
}

/// Whether a text is data for programs, by its start.
fn is_json(text: Option<&str>) -> bool {
    let text = text.map(|text| text.split_whitespace().collect::<String>());
    text.is_some_and(|text| ["{\"", "[\"", "[{\""].iter().any(|start| text.starts_with(start)))
}

/// Whether the first thing from outside in an address decides where it leads.
fn address(text: Option<&str>, local: bool) -> bool {
    let Some(text) = text else { return true };
    let before = text.split(TAINTED).next().unwrap_or_default();
    let rest = before.split_once("://").map_or(before, |(_, rest)| rest);
    let past_host = rest.trim_start_matches('/').contains(['/', '?', '#']) && !rest.is_empty();
    let on_site = local && before.starts_with('/') && !before.starts_with("//") && before.len() > 1;
    let after_base = before.starts_with(HOLE);
    !(past_host || on_site || after_base || before.starts_with(['?', '#']))
}

/// Whether a text is a statement, or a part of one.
fn is_statement(upper: &str, reach: Reach) -> bool {
    const STARTS: &[&str] = &[
        "SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "CREATE", "DROP", "ALTER", "EXEC",
        "CALL", "WITH", "MERGE", "TRUNCATE", "GRANT", "FROM ", "{CALL", "{ CALL", "(SELECT",
        "SHOW", "USE ",
    ];
    const INSIDE: &[&str] =
        &[" WHERE ", " FROM ", " LIKE ", " VALUES", "ORDER BY ", " AND ", " OR ", " IN (", " SET "];
    let start = upper.trim_start_matches(|c: char| c.is_whitespace() || c == HOLE);
    let compares = reach == Reach::Request && (start.contains("='") || start.contains("= "));
    STARTS.iter().any(|word| start.starts_with(word))
        || INSIDE.iter().any(|word| upper.contains(word))
        || compares
}

/// Whether anything from outside stands where a value does.
fn holds_value(upper: &str) -> bool {
    let mut before = String::new();
    for part in upper.split_inclusive(TAINTED) {
        let Some(part) = part.strip_suffix(TAINTED) else { continue };
        before.push_str(part);
        if is_value_place(&before) {
            return true;
        }
        before.push(HOLE);
    }
    false
}

fn is_value_place(before: &str) -> bool {
    let bare = before.trim_end();
    let quoted = bare.ends_with('\'') || bare.ends_with("'%") || bare.ends_with("\\'");
    if quoted {
        return true;
    }
    let bare = bare.trim_end_matches(['"', '%']).trim_end();
    let after = ["=", "<", ">", " LIKE", " BETWEEN", " LIMIT", " OFFSET", " AND", " HAVING"];
    let listed = bare.ends_with(['(', ',']);
    after.iter().any(|word| bare.ends_with(word))
        || listed && ["VALUES", " IN (", " IN("].iter().any(|word| bare.contains(word))
        || bare.ends_with("WHERE")
}
