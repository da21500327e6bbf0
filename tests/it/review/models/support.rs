//! A repository with a change, models that follow a script, and a machine that is set to them.

use std::{collections::BTreeSet, sync::Arc};

use fake_models::{Call, ModelServer, Outcome, Reply, When};
use serde_json::{Value, json};

use crate::{
    review::support::Repo,
    support::{Done, Machine},
};

/// The agents that ask models.
pub const AGENTS: [&str; 4] = ["logic", "pattern", "security", "style"];

/// What stands in the request of the judge only.
pub const JUDGE: &str = "You check what other reviewers say";

/// Words that stand in the instructions of one agent only.
pub fn task_of(agent: &str) -> &'static str {
    match agent {
        "logic" => "Your side is logic",
        "pattern" => "Your side is patterns",
        "security" => "Your side is security",
        "style" => "Your side is readability",
        other => panic!("{other} asks no model"),
    }
}

/// The requests of one agent.
pub fn asked_by(agent: &str) -> When {
    When::says(task_of(agent))
}

/// A file as it was shown.
#[derive(Debug, Clone)]
pub struct ShownFile {
    pub number: u64,
    pub path: String,
    pub rows: Vec<String>,
    pub proof: String,
}

/// The files in a prompt, read as a model would.
pub fn files(call: &Call) -> Vec<ShownFile> {
    let mut files: Vec<ShownFile> = Vec::new();
    for line in call.prompt.lines() {
        let words: Vec<&str> = line.split(" · ").collect();
        if let Some(number) = line.strip_prefix("<<< FILE ") {
            let number = number.split(' ').next().unwrap().parse().unwrap();
            let (path, proof) = (words[1].to_owned(), String::new());
            files.push(ShownFile { number, path, rows: Vec::new(), proof });
        } else if line.starts_with("<<< END OF FILE ") {
            let word = words[2].trim_start_matches("proof word ").trim_end_matches(" >>>");
            files.last_mut().unwrap().proof = word.to_owned();
        } else if let Some(file) = files.last_mut() {
            file.rows.push(line.to_owned());
        }
    }
    files
}

/// An answer that proves to have read everything.
pub fn answer(call: &Call, findings: Vec<Value>) -> Reply {
    let read: Vec<String> = files(call).into_iter().map(|file| file.proof).collect();
    Reply::json(json!({"read": read, "findings": findings}))
}

/// Reads everything and finds nothing.
pub fn nothing() -> Reply {
    Reply::by(|call| answer(call, Vec::new()))
}

/// A finding about the row that holds `quote`, in the file at `path`, where it is shown.
pub fn finding(call: &Call, path: &str, quote: &str) -> Option<Value> {
    let file = files(call).into_iter().find(|file| file.path == path)?;
    let row = file.rows.iter().find(|row| row.contains(quote))?;
    let line: u32 = row.split_whitespace().next()?.parse().ok()?;
    let side = if row[5..].trim_start().starts_with("- ") { "old" } else { "new" };
    Some(json!({
        "file": file.number, "side": side, "line": line, "quote": quote,
        "title": format!("Something is wrong with {quote}"), "body": "It fails. Do it otherwise.",
        "severity": "high", "confidence": 0.9, "replacement": null,
    }))
}

/// Finds what is wrong with these rows of these files, wherever they are shown.
pub fn finds(rows: &[(&str, &str)]) -> Reply {
    let rows: Vec<(String, String)> =
        rows.iter().map(|(path, quote)| ((*path).to_owned(), (*quote).to_owned())).collect();
    Reply::by(move |call| {
        let found = rows.iter().filter_map(|(path, quote)| finding(call, path, quote));
        answer(call, found.collect())
    })
}

/// No answer was asked for twice.
pub fn none_paid_twice(models: &ModelServer) {
    let mut paid = BTreeSet::new();
    for call in models.calls().iter().filter(|call| call.outcome == Outcome::Answered) {
        assert!(paid.insert(call.text()), "paid twice: {}", call.text());
    }
}

/// Everything a test needs.
pub struct Site {
    pub repo: Repo,
    pub models: Arc<ModelServer>,
    pub machine: Machine,
}

impl Site {
    /// A repository whose last commit changes a file, and one model that finds nothing in it, and nothing wrong with findings.
    pub fn new() -> Self {
        let repo = Repo::new();
        repo.write("src/pay.py", "def total(items):\n    return sum(items)\n").commit("base");
        repo.write(
            "src/pay.py",
            "def total(items):\n    return sum(items) - 1\n\n\ndef refund(items):\n    return total(items)\n",
        )
        .commit("change");
        let models = Arc::new(ModelServer::start().unwrap());
        models.script(When::any(), [nothing()]);
        models.script(When::says(JUDGE), [Reply::json(json!({"rulings": []}))]);
        let chain = models.openai("m");
        let machine = Machine::new()
            .set("model.chain", &chain)
            .set("model.retries", "1ms,2ms,4ms")
            .set("model.small_change", "0")
            .set("model.prices", "openai::m = 3 / 15 / 0.30");
        Self { repo, models, machine }
    }

    /// Asks the workers for a review.
    pub fn enqueue(&self) {
        let input = json!({"repo": self.repo.path(), "base": "HEAD~1", "head": "HEAD"});
        let job = json!({"workflow": "review", "input": input}).to_string();
        let job = self.machine.text("job.json", job);
        assert_eq!(self.machine.run(&["enqueue", &job]).code, Some(0));
    }

    pub fn with(mut self, key: &str, value: &str) -> Self {
        self.machine = self.machine.set(key, value);
        self
    }

    /// `verdict review` of the last commit.
    pub fn review(&self) -> Done {
        self.review_as("json")
    }

    pub fn review_as(&self, format: &str) -> Done {
        let folder = self.repo.path().display().to_string();
        self.machine.run(&["review", "--repo", &folder, "HEAD~1..HEAD", "--format", format])
    }
}

/// The findings that models made, as `agent path:line`.
pub fn by_models(report: &Value) -> BTreeSet<String> {
    let of_model = |f: &&Value| f["source"] == "model";
    let shown = |f: &Value| {
        let text = |name: &str| f[name].as_str().unwrap().to_owned();
        format!("{} {}:{}", text("agent"), text("path"), f["start_line"])
    };
    report["findings"].as_array().unwrap().iter().filter(of_model).map(shown).collect()
}

/// The report of a review, however it ended.
pub fn report(done: &Done) -> Value {
    serde_json::from_str(&done.stdout).unwrap_or_else(|error| panic!("{error}: {done:?}"))
}
