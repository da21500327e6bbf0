//! What ShellCheck writes (`json1`) as SARIF.

use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Log {
    comments: Vec<Comment>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Comment {
    file: String,
    line: u32,
    end_line: u32,
    level: String,
    code: u32,
    message: String,
}

/// The log as SARIF.
///
/// # Errors
/// When it is none.
pub(super) fn sarif(log: &[u8]) -> Result<Vec<u8>, String> {
    let log: Log = serde_json::from_slice(log)
        .map_err(|error| format!("it wrote no log of ShellCheck: {error}"))?;
    let results: Vec<Value> = log.comments.iter().map(result).collect();
    let driver = json!({ "name": "shellcheck" });
    let run = json!({ "tool": { "driver": driver }, "results": results });
    Ok(json!({ "version": "2.1.0", "runs": [run] }).to_string().into_bytes())
}

fn result(comment: &Comment) -> Value {
    let level = match &*comment.level {
        "error" => "error",
        "warning" => "warning",
        _ => "note",
    };
    let place = json!({
        "artifactLocation": { "uri": comment.file },
        "region": { "startLine": comment.line, "endLine": comment.end_line },
    });
    json!({
        "ruleId": format!("SC{}", comment.code),
        "level": level,
        "message": { "text": comment.message },
        "locations": [{ "physicalLocation": place }],
    })
}
