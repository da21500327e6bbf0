//! `verdict eval`: how well reviews with these settings find what is to be found, over a folder of cases.

mod suite;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use serde::Serialize;
use serde_json::{Value, value::to_raw_value};
use tokio::time::Instant;

use self::suite::{Case, Wanted};
use super::{CliError, Format, output, run};
use crate::{
    app::{App, Trust},
    config::{QueueUrl, Settings, StoreUrl},
    graph::RunId,
    runs::Driven,
    workflows::review::{Matcher, Report, Score},
};

/// The node of a review that judges what its agents found.
const JUDGE: &str = "judge";

/// `verdict eval`
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A folder with a folder for each case: `case.toml`, and beside it `base/` and `head/`. Or golden comments on pull requests of
    /// GitHub: a JSON file of them, or a folder of such files.
    suite: PathBuf,
    /// How often each case is reviewed: models do not answer twice alike.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    times: u32,
    /// Reviews with the settings of this file as well, and shows both.
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Has the settings of `--against` judge what was found with the first ones: no agent is asked, or paid, again.
    #[arg(long, requires = "against")]
    judge_only: bool,
    /// How to print.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
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

/// The runs of all repetitions, each with one for every case.
type Rounds = Vec<Vec<RunId>>;

pub(super) async fn main(
    args: &Args,
    settings: Settings,
    load: impl Fn(&Path) -> Result<Settings, CliError>,
) -> Result<(), CliError> {
    let cases = suite::read(&args.suite)?;
    let folder = tempfile::tempdir().map_err(CliError::failed)?;
    let mut all = vec![("these settings".to_owned(), settings)];
    if let Some(file) = &args.against {
        all.push((file.display().to_string(), load(file)?));
    }
    let encryption = all[0].1.store.encryption.clone();
    let mut apps = Vec::new();
    for (name, mut settings) in all {
        settings.store.url = StoreUrl::Memory;
        if args.judge_only {
            // They read each other's runs.
            settings.store.url = StoreUrl::Sqlite(folder.path().join("runs.db"));
            settings.store.encryption = encryption.clone();
        }
        settings.queue.url = QueueUrl::Embedded(Some(folder.path().join("queue.db")));
        // Nothing is remembered from one review to the next.
        settings.model.memo = Duration::ZERO;
        apps.push((name, App::open(settings, Trust::Owner).await?));
    }
    let evaluation = Evaluation::new(&cases, args, &apps[0].1)?;
    let (mut outcomes, mut earlier) = (Vec::new(), None);
    for (name, app) in &apps {
        let measured = Box::pin(evaluation.of(name, app, earlier.as_ref())).await;
        let (outcome, rounds) = measured?;
        outcomes.push(outcome);
        earlier = args.judge_only.then_some(rounds);
    }
    for (_, app) in apps {
        app.close().await;
    }
    match args.format {
        Format::Json => output::print_json(&outcomes)?,
        Format::Text => output::print(&text(&outcomes))?,
    }
    Ok(())
}

/// What all settings are measured by.
struct Evaluation<'a> {
    cases: &'a [Case],
    times: u32,
    /// Compares findings with golden comments: the same for all settings.
    matcher: Option<Matcher>,
}

impl<'a> Evaluation<'a> {
    fn new(cases: &'a [Case], args: &Args, first: &App) -> Result<Self, CliError> {
        let matcher = first.model.clone().map(Matcher::new);
        if cases.iter().any(|case| matches!(case.wanted, Wanted::Comments(_))) {
            if first.github.is_none() {
                return Err(CliError::usage(
                    "golden comments are about pull requests on GitHub: set github.token (VERDICT__GITHUB__TOKEN)",
                ));
            }
            if matcher.is_none() {
                return Err(CliError::usage(
                    "golden comments name no lines, so a model compares them with findings: set model.chain",
                ));
            }
        }
        Ok(Self { cases, times: args.times, matcher })
    }

    /// Reviews every case as often as asked, or has the reviews of `earlier` judged again.
    async fn of(
        &self,
        name: &str,
        app: &App,
        earlier: Option<&Rounds>,
    ) -> Result<(Outcome, Rounds), CliError> {
        let (mut scores, mut rounds) = (Vec::new(), Rounds::new());
        let mut of_cases: Vec<(String, Score)> =
            self.cases.iter().map(|case| (case.name.clone(), Score::default())).collect();
        for time in 0..self.times {
            let (mut sum, mut runs) = (Score::default(), Vec::new());
            let mut judged =
                earlier.and_then(|rounds| rounds.get(scores.len())).into_iter().flatten();
            for (case, (_, of_case)) in self.cases.iter().zip(&mut of_cases) {
                let (score, run) = match judged.next() {
                    Some(run) => self.judge_again(app, case, run).await?,
                    None => self.review(app, case, time).await?,
                };
                sum += score;
                *of_case += score;
                runs.push(run);
            }
            scores.push(sum);
            rounds.push(runs);
        }
        let mut total = Score::default();
        scores.iter().for_each(|score| total += *score);
        let times = self.times;
        let figure = |of: fn(&Score) -> f64| {
            let all = || scores.iter().map(of);
            Figure {
                mean: all().sum::<f64>() / f64::from(times),
                min: all().fold(f64::INFINITY, f64::min),
                max: all().fold(f64::NEG_INFINITY, f64::max),
            }
        };
        let (precision, recall) = (figure(Score::precision), figure(Score::recall));
        let (settings, f1, cases) = (name.to_owned(), figure(Score::f1), of_cases);
        Ok((Outcome { settings, times, precision, recall, f1, total, cases }, rounds))
    }

    async fn review(&self, app: &App, case: &Case, time: u32) -> Result<(Score, RunId), CliError> {
        let mut input = case.input.clone();
        input["fresh"] = Value::from(format!("eval {time}"));
        let input = to_raw_value(&input).map_err(CliError::failed)?;
        let began = Instant::now();
        let driven = run::drive(app, "review", (input.into(), None), false).await?;
        let (score, report) = self.score(case, &driven, began).await?;
        Ok((Score { usage: report.usage(), ..score }, driven.run))
    }

    /// A review that goes on from what the agents of another one found. One that never came to its judge is made anew.
    async fn judge_again(
        &self,
        app: &App,
        case: &Case,
        run: &RunId,
    ) -> Result<(Score, RunId), CliError> {
        let history = app.runs.history(run.as_str(), 0).await?;
        let judged = history.iter().rfind(|row| row.node.as_deref() == Some(JUDGE));
        let last = judged.and_then(|row| row.step).map_or(0, |step| step.saturating_sub(1));
        let began = Instant::now();
        let fork = app.runs.fork(run.as_str(), last, false).await?;
        let opened = app.runs.opened(fork.as_str()).await?;
        let driven = run::drive_opened(app, opened, false).await?;
        let (score, report) = self.score(case, &driven, began).await?;
        let usage = if last > 0 { report.usage_of_judge() } else { report.usage() };
        Ok((Score { usage, ..score }, driven.run))
    }

    async fn score(
        &self,
        case: &Case,
        driven: &Driven,
        began: Instant,
    ) -> Result<(Score, Report), CliError> {
        let seconds = began.elapsed().as_secs_f64();
        if let Some(error) = run::error(driven) {
            anstream::eprintln!("{}: {error}", case.name);
        }
        let report = Report::of(&driven.run, &driven.state, &driven.timings)?;
        let score = match (&case.wanted, &self.matcher) {
            (Wanted::Comments(comments), Some(matcher)) => {
                let score = matcher.score(&report, comments, seconds).await;
                score.unwrap_or_else(|fault| {
                    anstream::eprintln!("{}: not compared: {fault}", case.name);
                    Score { incomplete: 1, ..Score::unknown(&report, seconds) }
                })
            }
            (Wanted::Comments(_), None) => Score::unknown(&report, seconds),
            (Wanted::Lines(expected), _) => Score::of(&report, expected, seconds),
        };
        Ok((score, report))
    }
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
