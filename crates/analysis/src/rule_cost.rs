//! What the regular expressions of rules may cost: a few dozen bytes can ask for gigabytes.

use regex::RegexBuilder;
use serde_json::Value;

/// What the expressions of all rules a repository brings may take together, in bytes.
pub(super) const MOST: usize = 64 * 1024 * 1024;

/// An expression is weighed as the first of these sizes, in bytes, that it fits into.
const SIZES: &[usize] = &[4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20];

/// About how many bytes the expressions in `rule` take when they are compiled once.
///
/// # Errors
/// When one is larger than any may be.
pub(super) fn weigh(rule: &Value) -> Result<usize, String> {
    // Keys whose values are expressions: a rule's and a transformation's.
    let is_expression = |key: &str| matches!(key, "regex" | "replace");
    match rule {
        Value::Object(map) => map.iter().try_fold(0, |sum, (key, value)| match value {
            Value::String(text) if is_expression(key) => Ok(sum + size(text)?),
            other => Ok(sum + weigh(other)?),
        }),
        Value::Array(items) => items.iter().try_fold(0, |sum, item| Ok(sum + weigh(item)?)),
        _ => Ok(0),
    }
}

fn size(expression: &str) -> Result<usize, String> {
    let fits = |size: &&usize| match RegexBuilder::new(expression).size_limit(**size).build() {
        Err(regex::Error::CompiledTooBig(_)) => false,
        // What is no expression is told by whoever compiles it.
        _ => true,
    };
    SIZES.iter().find(fits).copied().ok_or_else(|| {
        let shown: String = expression.chars().take(80).collect();
        format!("the expression `{shown}` takes more than 1 MiB when compiled; repeat less in it")
    })
}
