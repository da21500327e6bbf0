//! Answers that go round in a loop: models that must keep to a schema may write the same thing over and over until the limit.

/// How much of an answer is compared.
const WINDOW_BYTES: usize = 8_192;

/// What a repeated part must at least span, all its repetitions together.
const MIN_SPAN_BYTES: usize = 600;

/// How often a part must stand there in a row.
const MIN_REPEATS: usize = 5;

/// Answers are looked at each time they have grown by so much.
pub(super) const CHECK_EVERY_BYTES: usize = 1_024;

/// Where the loop begins that `text` ends in, if it does: behind the first time round.
pub(super) fn loop_start(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let offset = bytes.len().saturating_sub(WINDOW_BYTES);
    let tail = &bytes[offset..];
    if tail.len() < MIN_SPAN_BYTES {
        return None;
    }
    (1..=tail.len() / MIN_REPEATS).find_map(|period| {
        // From the end backwards, how far does each byte equal the one a period earlier?
        let same =
            (period..tail.len()).rev().take_while(|at| tail[*at] == tail[*at - period]).count();
        let span = same + period;
        let repeats = span >= period * MIN_REPEATS && span >= MIN_SPAN_BYTES;
        repeats.then(|| offset + tail.len() - same)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A loop of any length is noticed, lists of similar things are not.
    #[test]
    fn loops_are_noticed() {
        let finding = r#"{"path": "src/a.rs", "line": 10, "title": "The same thing again"}, "#;
        for (text, looping) in [
            (format!("[{}", finding.repeat(20)), true),
            (format!("{{\"body\": \"{}", " ".repeat(700)), true),
            (format!("some words first {}", "abc ".repeat(200)), true),
            ((0..40).map(|n| finding.replace("10", &n.to_string())).collect(), false),
            (finding.repeat(3), false),
            (String::new(), false),
        ] {
            assert_eq!(loop_start(&text).is_some(), looping, "{text}");
        }
        let text = format!("[{}", finding.repeat(20));
        let start = loop_start(&text).unwrap();
        assert!(text[..start].len() <= 1 + finding.len() * 2, "{start}");
    }
}
