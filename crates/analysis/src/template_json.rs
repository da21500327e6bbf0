//! Templates of infrastructure in JSON (CloudFormation, IAM, ARM, Kubernetes, OpenAPI), read as YAML, which rules are written
//! for: what stands on a line in the one stands on it in the other.

use std::{borrow::Cow, fmt::Write};

use serde::de::IgnoredAny;

/// What only templates hold.
const SIGNS: &[&str] =
    &["\"AWS::", "\"Microsoft.", "\"apiVersion\"", "\"Statement\"", "\"openapi\"", "\"swagger\""];

/// Whether a text that may be JSON is such a template.
pub(super) fn is_template(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_start().starts_with('{')
        && SIGNS.iter().any(|sign| text.contains(sign))
}

/// `text` in YAML's block style; as it is where it is no template in JSON, or not one value to a line.
pub(super) fn as_yaml(text: &str) -> Cow<'_, str> {
    if !is_template(text) {
        return Cow::Borrowed(text);
    }
    let mut yaml = String::with_capacity(text.len());
    // Whether each open bracket is a list's.
    let mut open: Vec<bool> = Vec::new();
    for line in text.trim_start_matches('\u{feff}').split('\n') {
        let Some(written) = Line::of(line, open.last() == Some(&true)) else { return text.into() };
        match written.bracket {
            Some('{' | '[') => open.push(written.bracket == Some('[')),
            Some(_) => _ = open.pop(),
            None => {}
        }
        // Writing to a string cannot fail.
        _ = writeln!(yaml, "{:1$}{2}", "", written.indent, written.text);
    }
    yaml.pop();
    yaml.into()
}

struct Line {
    indent: usize,
    text: String,
    /// The one that it leaves open, or closes.
    bracket: Option<char>,
}

impl Line {
    /// `line` in a list, or elsewhere; `None` where it is no line of JSON written for people.
    fn of(line: &str, in_list: bool) -> Option<Self> {
        let code = line.trim();
        let indent = line.len() - line.trim_start().len();
        let code = code.strip_suffix(',').unwrap_or(code).trim_end();
        let is_value = |value: &str| serde_json::from_str::<IgnoredAny>(value).is_ok();
        let line = |text: String, bracket| Some(Self { indent, text, bracket });
        match code {
            "" => return line(String::new(), None),
            "{" | "[" => {
                return line(if in_list { "-" } else { "" }.to_owned(), code.chars().next());
            }
            "}" | "]" => return line(String::new(), code.chars().next()),
            _ if in_list => return line(format!("- {code}"), None).filter(|_| is_value(code)),
            _ => {}
        }
        let (key, value) = member(code)?;
        let plain = |c: char| c.is_alphanumeric() || "_-./:$".contains(c);
        let name = key.get(1..key.len() - 1)?;
        let is_plain = name.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '$')
            && name.chars().all(plain)
            && !name.ends_with(':');
        let key = if is_plain { name } else { key };
        match value {
            "{" | "[" => line(format!("{key}:"), value.chars().next()),
            _ => line(format!("{key}: {value}"), None).filter(|_| is_value(value)),
        }
    }
}

/// The two sides of `"key": value`.
fn member(code: &str) -> Option<(&str, &str)> {
    let mut escaped = false;
    let end = code.char_indices().skip(1).find(|(_, c)| {
        let ends = *c == '"' && !escaped;
        escaped = *c == '\\' && !escaped;
        ends
    });
    let (key, value) = code.strip_prefix('"').and(end).map(|(at, _)| code.split_at(at + 1))?;
    Some((key, value.trim_start().strip_prefix(':')?.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stay_where_they_are() {
        let json = "{\n  \"Resources\": {\n    \"A\": {\n      \"Type\": \"AWS::S3::Bucket\",\n      \"Tags\": [\n        {\n          \"Key\": \"a\"\n        },\n        \"b\"\n      ],\n      \"*\": { \"Ref\": \"X\" }\n    }\n  }\n}\n";
        let yaml = "\n  Resources:\n    A:\n      Type: \"AWS::S3::Bucket\"\n      Tags:\n        -\n          Key: \"a\"\n\n        - \"b\"\n\n      \"*\": { \"Ref\": \"X\" }\n\n\n\n";
        let read = as_yaml(json);
        let trimmed: Vec<&str> = read.split('\n').map(str::trim_end).collect();
        assert_eq!(trimmed, yaml.split('\n').collect::<Vec<_>>());
    }

    #[test]
    fn what_is_not_written_for_people_stays_as_it_is() {
        for json in
            ["{\"a\": \"AWS::\", \"b\": {\n}}\n", "{\n  \"a\": 1\n}\n", "AWS::", "{\n\"AWS::\n"]
        {
            assert_eq!(as_yaml(json), json);
        }
    }
}
