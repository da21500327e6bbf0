//! `verdict rules`: what the structural rules look for, and whether they keep their examples.
//!
//! A repository's own rules are read from its working tree here, so that they can be tried before
//! they are committed; a review reads them from the base side.

use std::path::{Path, PathBuf};

use clap::Subcommand;

use super::{
    CliError, Format, output,
    table::{Column, table},
};
use crate::workflows::review::{OwnRule, RuleBook, RuleInfo};

/// `verdict rules`
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List the rules, built in and of the repository.
    List(Where),
    /// Try the examples of the rules, built in and of the repository.
    Test {
        /// Only these rules.
        ids: Vec<String>,
        #[command(flatten)]
        place: Where,
    },
    /// Show what a rule looks for, why, and examples.
    Explain {
        /// The rule's id.
        id: String,
        #[command(flatten)]
        place: Where,
    },
}

/// Which repository, and how to print.
#[derive(Debug, clap::Args)]
pub(super) struct Where {
    /// A folder whose `.verdict/rules` are read, too.
    #[arg(long, value_name = "DIR", default_value = ".")]
    repo: PathBuf,
    /// How to print.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) fn main(command: &Command) -> Result<(), CliError> {
    match command {
        Command::List(place) => list(place),
        Command::Test { ids, place } => test(ids, place),
        Command::Explain { id, place } => explain(id, place),
    }
}

fn list(place: &Where) -> Result<(), CliError> {
    let book = open(&place.repo)?;
    for error in book.broken() {
        anstream::eprintln!("verdict: {error}");
    }
    let rules = book.list();
    if place.format == Format::Json {
        return output::print_json(&rules);
    }
    let rows: Vec<Vec<String>> = rules.iter().map(row).collect();
    const COLUMNS: [Column; 5] = [
        Column::new("ID").shrinks(),
        Column::new("AGENT").drops(2),
        Column::new("SEVERITY").drops(1),
        Column::new("LANGUAGES").shrinks().drops(3),
        Column::new("TITLE").shrinks(),
    ];
    output::print(&table(&COLUMNS, &rows))
}

fn row(rule: &RuleInfo) -> Vec<String> {
    vec![
        rule.id.clone(),
        rule.category.to_string(),
        rule.severity.to_string(),
        languages(rule, ","),
        rule.title.clone(),
    ]
}

fn test(ids: &[String], place: &Where) -> Result<(), CliError> {
    let book = open(&place.repo)?;
    if let Some(stranger) = ids.iter().find(|id| book.find(id).is_none()) {
        return Err(unknown(stranger, &book));
    }
    let tried = book.test(ids);
    if place.format == Format::Json {
        output::print_json(&tried)?;
    } else {
        let wrong: String = tried.wrong.iter().map(|w| format!("{}\n", w.trim_end())).collect();
        let (rules, examples, count) = (tried.rules, tried.examples, tried.wrong.len());
        output::print(&format!("{wrong}{rules} rules, {examples} examples, {count} wrong\n"))?;
    }
    if tried.wrong.is_empty() { Ok(()) } else { Err(CliError::Findings) }
}

fn explain(id: &str, place: &Where) -> Result<(), CliError> {
    let book = open(&place.repo)?;
    let rule = book.find(id).ok_or_else(|| unknown(id, &book))?;
    match place.format {
        Format::Json => output::print_json(&rule),
        Format::Text => output::print(&text(&rule)),
    }
}

fn text(rule: &RuleInfo) -> String {
    let RuleInfo { id, category, severity, confidence, title, problem, advice, .. } = rule;
    let cwe = rule.cwe.map(|n| format!(" · CWE-{n}")).unwrap_or_default();
    let languages = languages(rule, ", ");
    let mut text = format!(
        "{id}: {title}\n{category} · {severity} · confidence {confidence}{cwe} · {languages}\n"
    );
    if let Some(file) = &rule.file {
        text.push_str(&format!("from {file}\n"));
    }
    text.push_str(&format!("\n{problem}\n{advice}\n"));
    if let Some(fix) = &rule.fix {
        text.push_str(&format!("\nfix:\n{}", indented(fix)));
    }
    for (head, examples) in [("reported", &rule.invalid), ("left alone", &rule.valid)] {
        for example in examples {
            text.push_str(&format!("\n{head}:\n{}", indented(example)));
        }
    }
    text
}

fn languages(rule: &RuleInfo, between: &str) -> String {
    if rule.languages.is_empty() { "any text".to_owned() } else { rule.languages.join(between) }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}

fn unknown(id: &str, book: &RuleBook) -> CliError {
    CliError::usage(format!("there is no rule `{id}`{}", book.did_you_mean(id)))
}

/// The built-in rules and those in the working tree at `repo`.
fn open(repo: &Path) -> Result<RuleBook, CliError> {
    let folder = repo.join(OwnRule::FOLDER);
    let failed = |path: &Path, error: &std::io::Error| {
        CliError::usage(format!("cannot read {}: {error}", path.display()))
    };
    let mut own = Vec::new();
    if folder.is_dir() {
        for entry in folder.read_dir().map_err(|e| failed(&folder, &e))? {
            let path = entry.map_err(|e| failed(&folder, &e))?.path();
            let name = path.to_string_lossy().into_owned();
            if OwnRule::is_file(&name) {
                let text = std::fs::read_to_string(&path).map_err(|e| failed(&path, &e))?;
                own.push((name, text));
            }
        }
    }
    own.sort();
    Ok(RuleBook::new(&own)?)
}
