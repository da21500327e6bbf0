//! JSON out of what models write: with fences and remarks around it, with commas too many, or cut off in the middle.

use serde_json::Value;

/// The first JSON object or list in `text`. If it was `cut` off, what is whole of it.
///
/// # Errors
/// Why there is none; nothing of the text is quoted.
pub(super) fn read(text: &str, cut: bool) -> Result<Value, String> {
    let start = text.find(['{', '[']).ok_or("there is no JSON object in it")?;
    let text = &text[start..];
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let why = match values.next() {
        Some(Ok(value)) => return Ok(value),
        Some(Err(error)) => format!("it is no JSON: {error}"),
        None => "it is empty".to_owned(),
    };
    let scanned = scan(text);
    let mended = match (scanned.end, cut) {
        (Some(end), _) => Some(scanned.text[..end].to_owned()),
        (None, true) => scanned.closed(),
        (None, false) => None,
    };
    mended.and_then(|mended| serde_json::from_str(&mended).ok()).ok_or(why)
}

/// A text without commas before closing brackets, and where things end in it.
struct Scanned {
    text: String,
    /// Where the first value ends.
    end: Option<usize>,
    /// Behind the last list or object that is whole, and what was open there.
    whole: Option<(usize, Vec<char>)>,
}

impl Scanned {
    /// What is whole of it, closed.
    fn closed(&self) -> Option<String> {
        let (end, open) = self.whole.as_ref()?;
        let mut text = self.text[..*end].to_owned();
        text.extend(open.iter().rev());
        Some(text)
    }
}

fn scan(text: &str) -> Scanned {
    let (mut open, mut in_string, mut escaped) = (Vec::new(), false, false);
    let mut scanned = Scanned { text: String::with_capacity(text.len()), end: None, whole: None };
    for c in text.chars() {
        if in_string {
            scanned.text.push(c);
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match c {
            '"' => in_string = true,
            '{' => open.push('}'),
            '[' => open.push(']'),
            '}' | ']' => {
                let before = scanned.text.trim_end();
                if before.ends_with(',') {
                    let end = before.len() - 1;
                    scanned.text.truncate(end);
                }
                if open.pop() != Some(c) {
                    return scanned;
                }
            }
            _ => {}
        }
        scanned.text.push(c);
        if matches!(c, '}' | ']') {
            scanned.whole = Some((scanned.text.len(), open.clone()));
            if open.is_empty() {
                scanned.end = Some(scanned.text.len());
                return scanned;
            }
        }
    }
    scanned
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// R3: what models write around and inside JSON is tolerated, and what is cut off is taken as far as it is whole.
    #[test]
    fn json_is_found_in_what_models_write() {
        for (text, cut, expected) in [
            (r#"{"a": 1}"#, false, Some(json!({"a": 1}))),
            (
                "Here you are:\n```json\n{\"a\": [1, 2]}\n```\nDone.",
                false,
                Some(json!({"a": [1, 2]})),
            ),
            (r#"{"a": [1, 2,], "b": "}, ]",}"#, false, Some(json!({"a": [1, 2], "b": "}, ]"}))),
            (
                r#"{"a": [{"b": 1}, {"b": 2}, {"b": "tex"#,
                true,
                Some(json!({"a": [{"b": 1}, {"b": 2}]})),
            ),
            (r#"{"a": [{"b": 1}, {"b"#, false, None),
            (r#"{"a": "never clos"#, true, None),
            (r#"{"a": [1, 2}"#, true, None),
            ("I cannot help with that.", false, None),
            ("", false, None),
            (r#"{"a": "\"}"}{"b": 2}"#, false, Some(json!({"a": "\"}"}))),
        ] {
            assert_eq!(read(text, cut).ok(), expected, "{text}");
        }
    }

    #[test]
    fn reasons_quote_nothing() {
        let why = read("{\"password\": hunter2}", false).unwrap_err();
        assert!(!why.contains("hunter2"), "{why}");
    }
}
