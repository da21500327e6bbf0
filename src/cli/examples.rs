//! Examples and exit codes of every subcommand: for the help, and for the manual pages.

use clap::{Command, CommandFactory};
use clap_mangen::roff::{Roff, bold, roman};

use super::Cli;

/// What a line does, and the line.
type Example = (&'static str, &'static str);

/// The examples of each subcommand by its path; the empty one is `verdict` itself.
const EXAMPLES: &[(&str, &[Example])] = &[
    (
        "",
        &[
            ("review what this branch adds to its upstream", "verdict review"),
            ("take work off the queue, and accept it over HTTP", "verdict serve"),
            ("what ran here, and what came of it", "verdict runs list"),
        ],
    ),
    (
        "review",
        &[
            ("the last commit", "verdict review HEAD~1..HEAD"),
            ("what is about to be committed", "verdict review --staged"),
            (
                "in a pipeline, which fails on what matters",
                "verdict review --base origin/main --head HEAD --fail-on high",
            ),
            (
                "for code scanning",
                "verdict review --format sarif --output verdict.sarif main..HEAD",
            ),
            (
                "with what another tool found on changed lines",
                "verdict review main..HEAD --sarif semgrep.sarif",
            ),
            ("only security, and everything it finds", "verdict review --agents security --all"),
            ("a pull request on GitHub, shown here", "verdict review --github owner/repo#7"),
        ],
    ),
    (
        "serve",
        &[
            ("with the settings of a file", "verdict serve --config /etc/verdict/verdict.toml"),
            ("accept work, and leave it to other machines", "verdict serve --role gateway"),
        ],
    ),
    (
        "enqueue",
        &[
            ("a job from a file", "verdict enqueue job.json"),
            ("a job from a pipe", r#"jq -c '.jobs[0]' night.json | verdict enqueue -"#),
            (
                "a webhook's body, as GitHub sent it",
                "verdict enqueue --event pull_request --delivery 72d3162e body.json",
            ),
        ],
    ),
    (
        "run",
        &[
            ("a workflow with its input from a file", "verdict run writing --input task.json"),
            (
                "under a key, so that it goes on when it is started again",
                "verdict run delivery --key ticket-7 --input ticket.json",
            ),
        ],
    ),
    (
        "runs",
        &[
            ("the latest runs", "verdict runs list"),
            ("one of them, by the beginning of its id", "verdict runs show e1628bb"),
        ],
    ),
    (
        "runs list",
        &[
            ("what failed since yesterday", "verdict runs list --status failed --newer-than 1d"),
            ("what waits for a person", "verdict runs list --waiting person"),
            (
                "every review, for a program",
                "verdict runs list --workflow review --format json --limit 1000",
            ),
        ],
    ),
    (
        "runs show",
        &[
            ("where a run stands", "verdict runs show e1628bb"),
            ("its state after the second step", "verdict runs show e1628bb --step 2"),
        ],
    ),
    ("runs history", &[("what happened, record by record", "verdict runs history e1628bb")]),
    (
        "runs watch",
        &[
            ("until it ends", "verdict runs watch e1628bb"),
            ("a JSON object for each record", "verdict runs watch e1628bb --format json"),
        ],
    ),
    (
        "runs resume",
        &[
            ("say yes", "verdict runs resume e1628bb"),
            (
                "answer one of several questions",
                r#"verdict runs resume e1628bb --interrupt approve --with '{"ok":false}'"#,
            ),
        ],
    ),
    (
        "runs cancel",
        &[
            ("one run", "verdict runs cancel e1628bb"),
            (
                "count the reviews that nothing has happened to for a day",
                "verdict runs cancel --workflow review --older-than 1d --dry-run",
            ),
        ],
    ),
    (
        "runs retry",
        &[
            ("one run", "verdict runs retry e1628bb"),
            ("whatever failed in the last two hours", "verdict runs retry --newer-than 2h --yes"),
        ],
    ),
    (
        "runs fork",
        &[("again from the second step on, under a new id", "verdict runs fork e1628bb --from 2")],
    ),
    (
        "runs delete",
        &[
            ("one run", "verdict runs delete e1628bb"),
            ("what ended more than 90 days ago", "verdict runs delete --older-than 90d --yes"),
        ],
    ),
    (
        "dlq",
        &[
            ("what was given up, and why", "verdict dlq list"),
            ("send one of them again", "verdict dlq replay 7017a0e"),
        ],
    ),
    (
        "dlq list",
        &[
            ("what is open", "verdict dlq list"),
            ("also what was settled, of one reason", "verdict dlq list --all --reason undecodable"),
        ],
    ),
    ("dlq show", &[("with its payload", "verdict dlq show 7017a0e")]),
    (
        "dlq replay",
        &[
            ("one", "verdict dlq replay 7017a0e"),
            (
                "all reviews of the last hour",
                "verdict dlq replay --workflow review --newer-than 1h",
            ),
        ],
    ),
    (
        "dlq discard",
        &[
            ("one", "verdict dlq discard 7017a0e"),
            ("count what is a month old", "verdict dlq discard --older-than 30d --dry-run"),
        ],
    ),
    ("events", &[("CI has finished", "verdict events send ci/owner/repo/e1628bb")]),
    (
        "events send",
        &[
            ("with what the runs receive", r#"verdict events send ci/e1628bb '{"ok":true}'"#),
            (
                "the same event once, however often it is sent",
                "verdict events send ci/e1628bb --id 7",
            ),
        ],
    ),
    (
        "pause",
        &[
            ("what is paused", "verdict pause"),
            ("a repository", "verdict pause --repository owner/repo --reason 'a new history'"),
        ],
    ),
    (
        "unpause",
        &[
            ("a repository", "verdict unpause --repository owner/repo"),
            ("a workflow", "verdict unpause --workflow search"),
        ],
    ),
    (
        "graph",
        &[
            ("a workflow, as Mermaid", "verdict graph review"),
            (
                "the way of a run, as a picture",
                "verdict graph review --run e1628bb --format dot | dot -Tsvg > run.svg",
            ),
        ],
    ),
    (
        "eval",
        &[
            (
                "the suite that comes with verdict, each case once",
                "verdict eval examples/eval --times 1",
            ),
            ("two sets of settings", "verdict eval cases --against other.toml"),
            (
                "two judges, on what the same agents found",
                "verdict eval cases --against other.toml --judge-only",
            ),
            ("golden comments on pull requests", "verdict eval golden_comments/keycloak.json"),
        ],
    ),
    (
        "rules",
        &[
            ("every rule", "verdict rules list"),
            ("what one is about", "verdict rules explain sql-injection"),
        ],
    ),
    (
        "rules list",
        &[
            ("built in, and of this repository", "verdict rules list"),
            ("for a program", "verdict rules list --format json"),
        ],
    ),
    (
        "rules test",
        &[
            ("every rule", "verdict rules test"),
            ("one of another repository", "verdict rules test no-print --repo ../other"),
        ],
    ),
    ("rules explain", &[("what a rule looks for, and why", "verdict rules explain py-debugger")]),
    (
        "config",
        &[
            ("whether the settings are right", "verdict config check"),
            ("what holds, and where it was set", "verdict config show"),
        ],
    ),
    (
        "config check",
        &[
            ("those of this folder and of the environment", "verdict config check"),
            ("before they are installed", "verdict config check --config new.toml"),
        ],
    ),
    ("config show", &[("every setting, for a program", "verdict config show --format json")]),
    (
        "github",
        &[
            ("make the App", "verdict github setup --webhook-url https://HOST/webhooks/github"),
            ("take in what was missed", "verdict github repair"),
        ],
    ),
    (
        "github setup",
        &[(
            "where GitHub will send events",
            "verdict github setup --webhook-url https://HOST/webhooks/github",
        )],
    ),
    (
        "github repair",
        &[
            ("all repositories of the App", "verdict github repair"),
            ("one of them", "verdict github repair owner/repo"),
        ],
    ),
    (
        "doctor",
        &[
            ("everything the settings name", "verdict doctor"),
            ("for a program", "verdict doctor --format json"),
        ],
    ),
    ("health", &[("for a container's health check", "verdict health")]),
    (
        "migrate",
        &[("before new workers start", "verdict migrate --config /etc/verdict/verdict.toml")],
    ),
    ("completions", &[("for bash", "verdict completions bash > ~/.bash_completion")]),
    (
        "man",
        &[
            ("read a page", "verdict man runs list | man -l -"),
            ("install one", "verdict man review > ~/.local/share/man/man1/verdict-review.1"),
        ],
    ),
];

/// What the exit code 1 means; most subcommands do not have it.
const FOUND: &[(&str, &str)] = &[
    ("", "There is a finding at or above --fail-on, or an example of a rule does not hold."),
    ("review", "The review was made, and there is a finding at or above --fail-on."),
    ("rules test", "An example of a rule does not hold."),
];

/// The command line, each subcommand with its examples.
pub(super) fn command() -> Command {
    illustrated(Cli::command(), "")
}

fn illustrated(command: Command, path: &str) -> Command {
    let header = *command.get_styles().get_header();
    let mut help = format!("{header}Examples:{header:#}");
    for (what, line) in of(path) {
        help.push_str(&format!("\n  # {what}\n  {line}"));
    }
    command.after_help(help).mut_subcommands(|inner| {
        let path = format!("{path} {}", inner.get_name());
        illustrated(inner, path.trim_start())
    })
}

/// The sections of a manual page that the command line itself does not hold.
pub(super) fn sections(path: &str) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["EXIT STATUS"]);
    let found = FOUND.iter().find(|(of, _)| *of == path).map(|(_, meaning)| ("1", *meaning));
    let codes = [
        Some(("0", "Done.")),
        found,
        Some(("2", "Wrong usage or settings, or what was named is not there.")),
        Some(("3", "What was asked for failed, or was stopped.")),
    ];
    for (code, meaning) in codes.into_iter().flatten() {
        roff.control("TP", []).text([bold(code)]).text([roman(meaning)]);
    }
    roff.control("SH", ["EXAMPLES"]);
    for (what, line) in of(path) {
        let what = what[..1].to_uppercase() + &what[1..];
        roff.control("PP", []).text([roman(what + ":")]);
        roff.control("RS", ["4"]).control("nf", []).text([roman(*line)]);
        roff.control("fi", []).control("RE", []);
    }
    roff
}

fn of(path: &str) -> &'static [Example] {
    EXAMPLES.iter().find(|(of, _)| *of == path).map_or(&[], |(_, examples)| examples)
}
