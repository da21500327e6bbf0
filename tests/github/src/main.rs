//! `fake-github`: a fake GitHub to try things on, until it is interrupted.

use std::process::ExitCode;

use fake_github::{FakeGitHub, Level, Limits, Permissions, Repository};

const USAGE: &str = "\
A fake GitHub on real git repositories.

Usage: fake-github [OPTIONS] --repository OWNER/NAME=PATH...

  --listen ADDRESS            where to listen [127.0.0.1:8090]
  --repository OWNER/NAME=PATH  a repository with the commits of the one at PATH; may be repeated
  --pull OWNER/NAME:HEAD:BASE   opens a pull request when it has started; may be repeated
  --webhook URL               where the App's webhooks go
  --secret SECRET             what they are signed with [secret]
  --key FILE                  where the App's private key is written [fake-github.pem]
  --no-limits                 without rate limits

It has an App, `verdict`, installed on every owner, and a user, `alice`, who may write everywhere. Whatever else happens on
GitHub is done with its API (pull requests, comments, labels) or with git (clone and push over HTTP); the README names the
endpoints for faults.";

struct Options {
    listen: String,
    repositories: Vec<(String, String)>,
    pulls: Vec<String>,
    webhook: Option<String>,
    secret: String,
    key: String,
    limited: bool,
}

fn options(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options {
        listen: "127.0.0.1:8090".to_owned(),
        repositories: Vec::new(),
        pulls: Vec::new(),
        webhook: None,
        secret: "secret".to_owned(),
        key: "fake-github.pem".to_owned(),
        limited: true,
    };
    while let Some(name) = arguments.next() {
        if name == "--no-limits" {
            options.limited = false;
            continue;
        }
        let mut value = || arguments.next().ok_or(format!("{name} needs a value"));
        match name.as_str() {
            "--listen" => options.listen = value()?,
            "--webhook" => options.webhook = Some(value()?),
            "--secret" => options.secret = value()?,
            "--key" => options.key = value()?,
            "--pull" => options.pulls.push(value()?),
            "--repository" => {
                let text = value()?;
                let (full_name, path) =
                    text.split_once('=').ok_or("--repository is OWNER/NAME=PATH")?;
                options.repositories.push((full_name.to_owned(), path.to_owned()));
            }
            "--help" | "-h" => return Err(USAGE.to_owned()),
            other => return Err(format!("{other} is not an option\n\n{USAGE}")),
        }
    }
    if options.repositories.is_empty() {
        Err(format!("no repository\n\n{USAGE}"))
    } else {
        Ok(options)
    }
}

/// What verdict asks for.
fn permissions() -> Permissions {
    let read = ["metadata"].map(|name| (name.to_owned(), Level::Read));
    let write = ["contents", "pull_requests", "checks", "issues"]
        .map(|name| (name.to_owned(), Level::Write));
    read.into_iter().chain(write).collect()
}

const EVENTS: [&str; 8] = [
    "pull_request",
    "issue_comment",
    "pull_request_review",
    "pull_request_review_comment",
    "pull_request_review_thread",
    "check_run",
    "merge_group",
    "installation",
];

fn start(options: &Options) -> Result<FakeGitHub, String> {
    let github = FakeGitHub::listen(&options.listen)
        .map_err(|error| format!("{}: {error}", options.listen))?;
    if !options.limited {
        github.limit(Limits::none());
    }
    let app = github.app("verdict", permissions(), &EVENTS);
    if let Some(url) = &options.webhook {
        app.webhook(url, &options.secret);
    }
    std::fs::write(&options.key, app.private_key())
        .map_err(|error| format!("{}: {error}", options.key))?;
    println!("url              {}", github.url());
    println!("app id           {}", app.id());
    println!("private key      {}", options.key);
    println!("token of alice   {}", github.token("alice"));
    let mut owners: Vec<String> = Vec::new();
    let mut repositories: Vec<Repository> = Vec::new();
    for (full_name, path) in &options.repositories {
        let repository = github.repository(full_name, path);
        repository.collaborator("alice", fake_github::Role::Write);
        let owner = full_name.split('/').next().unwrap_or_default().to_owned();
        if !owners.contains(&owner) {
            println!("installation     {} on {owner}", app.install(&owner));
            owners.push(owner);
        }
        println!("repository       {}/{full_name}.git", github.url());
        repositories.push(repository);
    }
    for pull in &options.pulls {
        let parts: Vec<_> = pull.split(':').collect();
        let [full_name, head, base] = parts[..] else {
            return Err("--pull is OWNER/NAME:HEAD:BASE".to_owned());
        };
        let repository = repositories.iter().find(|repository| repository.full_name() == full_name);
        let repository = repository.ok_or(format!("{full_name} is no --repository"))?;
        let number = repository.open_pull(head, base).number();
        println!("pull request     {}/{full_name}/pull/{number}", github.url());
    }
    Ok(github)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let options = match options(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    match start(&options) {
        Ok(github) => {
            let _ = tokio::signal::ctrl_c().await;
            drop(github);
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}
