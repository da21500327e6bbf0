//! `verdict eval`: how well reviews with these settings find what is to be found, over a folder of cases.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use serde::{Deserialize, Serialize};
use serde_json::{json, value::to_raw_value};
use tempfile::TempDir;
use tokio::time::Instant;

use super::{CliError, Format, output, run};
use crate::{
    app::{App, Trust},
    config::{Settings, StoreUrl},
    workflows::review::{Expected, Report, Score},
};

/// `verdict eval`
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A folder with a folder for each case: `case.toml`, and beside it `base/` and `head/`.
    suite: PathBuf,
    /// How often each case is reviewed: models do not answer twice alike.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    times: u32,
    /// Reviews with the settings of this file as well, and shows both.
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// How to print.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// `case.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseFile {
    /// What it is about, for people.
    #[serde(default)]
    #[expect(dead_code, reason = "for readers of the file")]
    about: String,
    /// The repository, where it is none that `base/` and `head/` make; relative to the case.
    #[serde(default)]
    repo: Option<PathBuf>,
    #[serde(default = "parent")]
    base: String,
    #[serde(default = "head")]
    head: String,
    /// What should be found; nothing in a clean case.
    #[serde(default)]
    expected: Vec<Expected>,
}

fn parent() -> String {
    "HEAD~1".to_owned()
}

fn head() -> String {
    "HEAD".to_owned()
}

struct Case {
    name: String,
    file: CaseFile,
    repo: PathBuf,
    _made: Option<TempDir>,
}

/// A figure over all repetitions.
#[derive(Debug, Serialize)]
struct Figure {
    mean: f64,
    min: f64,
    max: f64,
}

/// What came of one set of settings.
#[derive(Serialize)]
struct Outcome {
    settings: String,
    times: u32,
    precision: Figure,
    recall: Figure,
    f1: Figure,
    /// Over all repetitions.
    total: Score,
    /// By case, over all repetitions.
    cases: Vec<(String, Score)>,
}

pub(super) async fn main(
    args: &Args,
    settings: Settings,
    load: impl Fn(&Path) -> Result<Settings, CliError>,
) -> Result<(), CliError> {
    let cases = read_suite(&args.suite)?;
    let mut all = vec![("these settings".to_owned(), settings)];
    if let Some(file) = &args.against {
        all.push((file.display().to_string(), load(file)?));
    }
    let mut outcomes = Vec::new();
    for (name, settings) in all {
        outcomes.push(review_all(name, settings, &cases, args.times).await?);
    }
    match args.format {
        Format::Json => output::print_json(&outcomes)?,
        Format::Text => output::print(&text(&outcomes))?,
    }
    Ok(())
}

/// Reviews every case as often as asked. Nothing is remembered from one review to the next.
async fn review_all(
    name: String,
    mut settings: Settings,
    cases: &[Case],
    times: u32,
) -> Result<Outcome, CliError> {
    settings.store.url = StoreUrl::Memory;
    settings.model.memo = Duration::ZERO;
    let app = App::open(settings, Trust::Owner).await?;
    let mut rounds = Vec::new();
    let mut of_cases: Vec<(String, Score)> =
        cases.iter().map(|case| (case.name.clone(), Score::default())).collect();
    for time in 0..times {
        let mut round = Score::default();
        for (case, (_, of_case)) in cases.iter().zip(&mut of_cases) {
            let score = review(&app, case, time).await?;
            round += score;
            *of_case += score;
        }
        rounds.push(round);
    }
    app.close().await;
    let mut total = Score::default();
    rounds.iter().for_each(|round| total += *round);
    let figure = |of: fn(&Score) -> f64| {
        let all = || rounds.iter().map(of);
        Figure {
            mean: all().sum::<f64>() / f64::from(times),
            min: all().fold(f64::INFINITY, f64::min),
            max: all().fold(f64::NEG_INFINITY, f64::max),
        }
    };
    let (precision, recall) = (figure(Score::precision), figure(Score::recall));
    let f1 = figure(Score::f1);
    Ok(Outcome { settings: name, times, precision, recall, f1, total, cases: of_cases })
}

async fn review(app: &App, case: &Case, time: u32) -> Result<Score, CliError> {
    let CaseFile { base, head, expected, .. } = &case.file;
    let input =
        json!({"repo": case.repo, "base": base, "head": head, "fresh": format!("eval {time}")});
    let input = to_raw_value(&input).map_err(CliError::failed)?;
    let began = Instant::now();
    let driven = run::drive(app, "review", (input.into(), None), false).await?;
    if let Some(error) = run::error(&driven) {
        anstream::eprintln!("{}: {error}", case.name);
    }
    let report = Report::of(&driven.run, &driven.state, &driven.timings)?;
    Ok(Score::of(&report, expected, began.elapsed().as_secs_f64()))
}

fn read_suite(suite: &Path) -> Result<Vec<Case>, CliError> {
    let bad = |path: &Path, why: &dyn std::fmt::Display| {
        CliError::usage(format!("{}: {why}", path.display()))
    };
    let entries = fs::read_dir(suite).map_err(|error| bad(suite, &error))?;
    let mut folders: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    folders.retain(|folder| folder.join("case.toml").is_file());
    folders.sort();
    if folders.is_empty() {
        return Err(bad(suite, &"there is no case in it: a folder with a `case.toml`"));
    }
    let case = |folder: PathBuf| {
        let path = folder.join("case.toml");
        let text = fs::read_to_string(&path).map_err(|error| bad(&path, &error))?;
        let file: CaseFile = toml::from_str(&text).map_err(|error| bad(&path, &error))?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(match &file.repo {
            Some(repo) => Case { name, repo: folder.join(repo), file, _made: None },
            None => {
                let made = repository(&folder).map_err(|why| bad(&folder, &why))?;
                Case { name, repo: made.path().to_owned(), file, _made: Some(made) }
            }
        })
    };
    folders.into_iter().map(case).collect()
}

/// A repository of two commits, `base/` and `head/`.
fn repository(case: &Path) -> Result<TempDir, String> {
    let made = tempfile::tempdir().map_err(|error| error.to_string())?;
    let git = |args: &[&str]| {
        let output = Command::new("git")
            .args(["-c", "user.name=verdict", "-c", "user.email=verdict@localhost"])
            .args(["-c", "commit.gpgsign=false", "-c", "init.defaultBranch=main"])
            .args(args)
            .current_dir(made.path())
            .output()
            .map_err(|error| format!("git: {error}"))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        }
    };
    git(&["init", "-q"])?;
    for side in ["base", "head"] {
        git(&["rm", "-rfq", "--ignore-unmatch", "."])?;
        copy(&case.join(side), made.path()).map_err(|error| format!("{side}: {error}"))?;
        git(&["add", "-A"])?;
        git(&["commit", "-q", "--allow-empty", "-m", side])?;
    }
    Ok(made)
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy(&entry.path(), &target)?,
            false => drop(fs::copy(entry.path(), target)?),
        }
    }
    Ok(())
}

fn text(outcomes: &[Outcome]) -> String {
    let mut out = String::new();
    for Outcome { settings, times, precision, recall, f1, total, cases } in outcomes {
        let reviews = usize::try_from(*times).unwrap_or(usize::MAX) * cases.len();
        out.push_str(&format!("{settings}: {reviews} reviews of {} cases\n", cases.len()));
        for (name, figure) in [("precision", precision), ("recall", recall), ("F1", f1)] {
            let Figure { mean, min, max } = figure;
            out.push_str(&format!("  {name:<10} {mean:.2}  ({min:.2} to {max:.2})\n"));
        }
        let Score { noise, incomplete, usage, seconds, .. } = total;
        out.push_str(&format!(
            "  noise      {noise} in clean cases\n  incomplete {incomplete}\n  cost       {} ({} + {} tokens)\n  time       {seconds:.1} s\n",
            usage.cost, usage.input, usage.output
        ));
        for (name, Score { right, missed, extra, .. }) in cases {
            let all = right + missed;
            out.push_str(&format!("  {name}: {right} of {all} found, {extra} not expected\n"));
        }
    }
    out
}
