//! Tools that the worker runs on a change: small scripts here, started as real ones are.

use std::{
    fs::{self, File, Permissions},
    net::TcpListener,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, OnceLock},
    time::SystemTime,
};

use serde_json::{Value, json};
use verdict::{
    base::Clock,
    checkpoint::Memory,
    config::{ConfigError, Settings},
    forge::Target,
    graph::testing::Checks,
    workflows::{
        Workflow,
        review::{Limits, Review, ToolOptions, Tools},
    },
};

use super::{
    outputs::reviewed,
    support::{Repo, deps},
};
use crate::support::{Machine, eventually};

const TOKEN: &str = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";

/// Writes a log with a result for each line that holds `list`, and what it says of it.
pub const LINTER: &str = r#"
results=
for file in "$@"; do
    while IFS=: read -r line text; do
        [ -n "$line" ] || continue
        place="{\"artifactLocation\":{\"uri\":\"$file\"},\"region\":{\"startLine\":$line}}"
        result="{\"ruleId\":\"A1\",\"message\":{\"text\":\"$WORDS\"},\"locations\":[{\"physicalLocation\":$place}]}"
        results="$results${results:+,}$result"
    done <<END
$(grep -n list "$file")
END
done
echo "{\"version\":\"2.1.0\",\"runs\":[{\"tool\":{\"driver\":{\"name\":\"Acme Lint\"}},\"results\":[$results]}]}"
exit 1
"#;

/// Writes a log without results.
pub const NOTHING: &str =
    r#"echo '{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"Nothing"}},"results":[]}]}'"#;

/// Line 5 of `a.py` is new, line 1 of it is not.
pub fn changed() -> Repo {
    let repo = Repo::new();
    repo.write("a.py", "import list\n\n\ndef total(rows):\n    return sum(rows)\n").commit("base");
    let text = "import list\n\n\ndef total(rows):\n    rows = list(rows)\n    return sum(rows)\n";
    repo.write("a.py", text).write("b.txt", "a list\n").write("sub/c.py", "x = 1\n");
    repo.write("pyproject.toml", "[tool.acme]\noff = true\n").write(".acmerc", "off\n");
    repo.commit("change");
    repo
}

/// A program in the machine's folder.
pub fn program(machine: &Machine, name: &str, script: &str) -> String {
    let path = machine.folder().join(name);
    fs::write(&path, format!("#!/bin/bash\n{script}\n")).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

pub fn with_tools(machine: Machine, tools: Value) -> Machine {
    machine.set("workflows.review.tools", &tools.to_string())
}

fn json_of(machine: &Machine, repo: &Repo) -> Value {
    reviewed(machine, repo, &["--format", "json", "--all"]).json()
}

fn of_tools(review: &Value) -> Vec<Value> {
    let all = review["findings"].as_array().unwrap();
    all.iter().filter(|finding| finding["source"] == "tool").cloned().collect()
}

/// What is left of folders that tools ran in.
fn folders(machine: &Machine) -> Vec<PathBuf> {
    let entries = fs::read_dir(machine.folder().join("tmp")).unwrap().map(|e| e.unwrap().path());
    entries.filter(|path| path.to_string_lossy().contains("verdict-tool-")).collect()
}

fn lines(path: &Path) -> Vec<String> {
    fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// Findings stand on changed lines, what is elsewhere is counted, and a review is made once for the
/// same commits and the same tools.
#[test]
fn a_tool_of_the_settings_is_run() {
    let (machine, repo) = (Machine::new(), changed());
    let runs = machine.folder().join("runs");
    let script = format!("echo run >> {}\nWORDS='Lists are slow'\n{LINTER}", runs.display());
    let lint = program(&machine, "lint", &script);
    let tool = |timeout: &str| json!([{ "name": "lint", "command": [lint, "{files}"], "files": ["*.py"], "timeout": timeout }]);
    let machine = with_tools(machine, tool("1m"));
    let review = json_of(&machine, &repo);
    let found = of_tools(&review);
    assert_eq!(found.len(), 1, "{review:#}");
    let expected = json!({
        "path": "a.py", "start_line": 5, "end_line": 5, "severity": "medium",
        "rule": "acme-lint/A1", "title": "Lists are slow", "quote": "    rows = list(rows)",
    });
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(&found[0][key], value, "{key} of {:#}", found[0]);
    }
    assert_eq!(review["left_out"]["outside"], 1, "{review:#}");
    assert_eq!(review["tools"][0]["results"], 2, "{review:#}");
    assert_ne!(review["verdict"], "incomplete", "{review:#}");
    let row = |path: &str| {
        let rows = review["coverage"].as_array().unwrap();
        rows.iter().find(|row| row["path"] == path).unwrap()["agents"]["lint"].clone()
    };
    assert_eq!((row("a.py"), row("b.txt")), (json!("done"), Value::Null));
    let text = reviewed(&machine, &repo, &["--all"]).stdout;
    assert!(text.contains("tools: Acme Lint, 1 of 2 results on changed lines"), "{text}");
    assert_eq!(lines(&runs).len(), 1, "the same review is not made again");
    assert_eq!(folders(&machine), Vec::<PathBuf>::new());

    let changed = with_tools(machine, tool("2m"));
    assert_ne!(json_of(&changed, &repo)["run"], review["run"]);
    assert_eq!(lines(&runs).len(), 2, "other settings are another review");
}

/// It sees the files of its filter as they are, neither the repository's settings nor ours, and may not
/// write to them.
#[test]
fn a_tool_sees_what_it_is_meant_to_see() {
    let (machine, repo) = (Machine::new(), changed());
    repo.write("secret.py", format!("token = '{TOKEN}'\nrows = list(token)\n"));
    std::os::unix::fs::symlink("/etc/passwd", repo.path().join("link.py")).unwrap();
    repo.git(["add", "-A"]);
    repo.git(["commit", "-q", "--amend", "-m", "change"]);
    let seen = machine.folder().join("seen");
    let script = format!(
        "exec 3>{}\n\
         find . -mindepth 1 | sort >&3\nls -l secret.py >&3\ncat secret.py >&3\nenv >&3\n\
         stat -c 'modes %a %a' .. . >&3\n\
         touch \"$HOME/a\" \"$TMPDIR/b\" || exit 9\n\
         WORDS='Says {TOKEN} aloud'\n{LINTER}",
        seen.display()
    );
    let lint = program(&machine, "lint", &script);
    let tool = json!([{
        "name": "lint", "command": [lint, "{files}"], "files": ["*.py", "*.toml", "*rc"],
    }]);
    let machine = with_tools(machine, tool)
        .with_variable("GITHUB_TOKEN", "not-for-tools")
        .set("server.token", "not-for-tools-either");
    let done = reviewed(&machine, &repo, &["--format", "json", "--all"]);
    assert!(!done.stdout.contains(TOKEN), "{}", done.stdout);
    assert_eq!(of_tools(&done.json()).len(), 2, "{}", done.stdout);
    let seen = lines(&seen);
    let files: Vec<&str> =
        seen.iter().map(|line| &**line).take_while(|line| line.starts_with("./")).collect();
    assert_eq!(files, ["./a.py", "./secret.py", "./sub", "./sub/c.py"], "{seen:#?}");
    assert!(seen.iter().any(|line| line.starts_with("-r--------")), "{seen:#?}");
    assert!(seen.contains(&format!("token = '{TOKEN}'")), "{seen:#?}");
    assert!(seen.contains(&"modes 700 700".to_owned()), "{seen:#?}");
    assert!(seen.contains(&"modes 500 500".to_owned()), "{seen:#?}");
    let mut names: Vec<&str> =
        seen.iter().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    names.retain(|name| name.chars().all(|c| c.is_ascii_uppercase() || c == '_'));
    names.sort_unstable();
    // What the shell adds by itself is none of ours.
    names.retain(|name| !["OLDPWD", "PWD", "SHLVL", "_"].contains(name));
    assert_eq!(names, ["HOME", "LC_ALL", "PATH", "PYTHONSAFEPATH", "TEMP", "TMP", "TMPDIR"]);
    assert!(!seen.iter().any(|line| line.contains("not-for-tools")), "{seen:#?}");
    assert_eq!(folders(&machine), Vec::<PathBuf>::new());
}

/// A tool that takes too long ends with everything it started, is named, and takes nothing along.
#[tokio::test]
async fn a_tool_that_takes_too_long_is_ended_and_named() {
    let (machine, repo) = (Machine::new(), changed());
    // Known by its argument, whatever its number is.
    let nap = format!("86399.{}", fastrand::u32(100_000_000..));
    let slow = program(&machine, "slow", &format!("sleep {nap} &\nsleep {nap}"));
    let lint = program(&machine, "lint", &format!("WORDS='Lists are slow'\n{LINTER}"));
    let tools = json!([
        { "name": "slow", "command": [slow], "files": ["*.py"], "timeout": "2s" },
        { "name": "lint", "command": [lint, "{files}"], "files": ["*.py"] },
    ]);
    let machine = with_tools(machine, tools);
    let review = json_of(&machine, &repo);
    assert_eq!(review["verdict"], "incomplete", "{review:#}");
    assert_eq!(review["missing"], json!(["slow: it took longer than 2s"]));
    assert_eq!(of_tools(&review).len(), 1, "{review:#}");
    let mut rows = review["coverage"].as_array().unwrap().iter();
    let row = rows.find(|row| row["path"] == "a.py").unwrap();
    assert_eq!(row["status"], "done", "{review:#}");
    assert_eq!(
        (&row["agents"]["slow"], &row["agents"]["lint"]),
        (&json!("failed"), &json!("done"))
    );
    assert_eq!(row["reason"], "slow: it took longer than 2s");
    eventually("nothing of the tool runs any more", async || (!runs(&nap)).then_some(())).await;
}

/// Whether a process has this argument.
fn runs(argument: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    let says = |path: PathBuf| fs::read(path.join("cmdline")).unwrap_or_default();
    processes.map(says).any(|line| line.split(|b| *b == 0).any(|one| one == argument.as_bytes()))
}

/// Whatever goes wrong with a tool is named with its reason.
#[test]
fn a_tool_that_fails_is_named() {
    let (machine, repo) = (Machine::new(), changed());
    let script = |name: &str, text: &str| program(&machine, name, text);
    let tool = |name: &str, command: String| json!({ "name": name, "command": [command], "files": ["*.py"] });
    let bad_option = format!("echo 'bad option {TOKEN}' >&2; exit 3");
    let bad_file = format!("{NOTHING}\necho 'bad file' >&2; exit 2");
    let tools = json!([
        tool("absent", "acme-that-is-not-there".to_owned()),
        tool("broken", script("broken", &bad_option)),
        tool("flood", script("flood", "yes | head -c 70000000")),
        tool("mute", script("mute", "exit 0")),
        tool("empty", script("empty", r#"echo '{"version":"2.1.0","runs":[]}'"#)),
        { "preset": "ruff", "command": [script("ruff", &bad_file)] },
    ]);
    let machine = with_tools(machine, tools);
    let review = json_of(&machine, &repo);
    assert_eq!(review["verdict"], "incomplete", "{review:#}");
    let missing: Vec<&str> =
        review["missing"].as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect();
    let begins = [
        "Nothing: it ended with exit code 2: bad file",
        "absent: `acme-that-is-not-there` is not on this worker's PATH",
        "broken: it is no SARIF log: EOF while parsing",
        "empty: its log tells of no run (exit code 0: it says nothing)",
        "flood: it wrote more than 64 MiB",
        "mute: it is no SARIF log: EOF while parsing",
    ];
    assert_eq!(missing.len(), begins.len(), "{missing:#?}");
    for (said, begin) in missing.iter().zip(begins) {
        assert!(said.starts_with(begin), "{said} should begin with {begin}");
    }
    assert!(missing[2].contains("(exit code 3: bad option"), "{missing:#?}");
    assert!(!review.to_string().contains(TOKEN), "{review:#}");
    let markdown = reviewed(&machine, &repo, &["--format", "markdown", "--all"]).stdout;
    assert!(markdown.contains("flood: it wrote more than 64 MiB"), "{markdown}");
    let sarif = reviewed(&machine, &repo, &["--format", "sarif", "--all"]).json();
    assert_eq!(sarif["runs"][0]["invocations"][0]["executionSuccessful"], false);
    let doctor = machine.run(&["doctor"]);
    assert_eq!(doctor.code, Some(2), "{doctor:?}");
    let row = doctor.stdout.lines().find(|line| line.contains("tools.absent")).unwrap();
    assert!(row.starts_with("FAIL") && row.contains("not on this worker's PATH"), "{row}");
}

/// Where `unshare` works a tool reaches nobody; elsewhere the review says that it might.
#[test]
fn a_tool_has_no_network_where_the_system_allows_it() {
    let (machine, repo) = (Machine::new(), changed());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let said = machine.folder().join("said");
    let call =
        format!("(exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo reached || echo cut");
    let script = format!("({call}) > {}\n{NOTHING}", said.display());
    let caller = program(&machine, "caller", &script);
    let tool = json!([{ "name": "caller", "command": [caller], "files": ["*.py"] }]);
    let machine = with_tools(machine, tool);
    let review = json_of(&machine, &repo);
    let arguments = ["--user", "--map-current-user", "--net", "--pid", "--fork", "--kill-child"];
    let probe = Command::new("unshare").args(arguments).args(["--", "true"]).output();
    let doctor = machine.run(&["doctor"]).stdout;
    if probe.is_ok_and(|done| done.status.success()) {
        assert_eq!(lines(&said), ["cut"]);
        assert_eq!(review["tools"][0]["networked"], Value::Null, "{review:#}");
        assert!(doctor.contains("caller; without a network"), "{doctor}");
    } else {
        eprintln!("unshare does not work here: that tools have no network is not shown");
        assert_eq!(lines(&said), ["reached"]);
        assert_eq!(review["tools"][0]["networked"], true, "{review:#}");
        assert!(doctor.contains("not cut off from the network"), "{doctor}");
        let text = reviewed(&machine, &repo, &[]).stdout;
        assert!(text.contains("not cut off from the network"), "{text}");
    }
}

/// A preset says how its tool is told to leave the repository's settings alone, and reads what it writes.
#[test]
fn presets_know_their_tools() {
    let (machine, repo) = (Machine::new(), changed());
    repo.write("run.sh", "#!/bin/sh\nrm $1\n").write("Dockerfile.dev", "FROM debian\n");
    repo.git(["add", "-A"]);
    repo.git(["commit", "-q", "--amend", "-m", "change"]);
    let rules = machine.text("rules.yml", "rules: []");
    let comment = json!({
        "file": "./run.sh", "line": 2, "endLine": 2, "column": 4, "endColumn": 6,
        "level": "warning", "code": 2086, "message": "Double quote to prevent globbing.",
    });
    let log = json!({ "comments": [comment] });
    let tool = |name: &str, output: &str| {
        let arguments = machine.folder().join(format!("{name}.arguments"));
        let script = format!("echo \"$*\" > {}\n{output}", arguments.display());
        json!({ "preset": name, "command": [program(&machine, name, &script)] })
    };
    let mut semgrep = tool("semgrep", NOTHING);
    semgrep["rules"] = json!(rules);
    let others = ["bandit", "gitleaks", "hadolint", "ruff"].map(|name| tool(name, NOTHING));
    let mut tools = Vec::from(others);
    tools.extend([semgrep, tool("shellcheck", &format!("echo '{log}'; exit 1"))]);
    let machine = with_tools(machine, json!(tools));
    let review = json_of(&machine, &repo);
    assert_eq!(review["missing"], Value::Null, "{review:#}");
    let found = of_tools(&review);
    assert_eq!(found.len(), 1, "{review:#}");
    assert_eq!(found[0]["rule"], "shellcheck/SC2086");
    assert_eq!((&found[0]["path"], &found[0]["start_line"]), (&json!("run.sh"), &json!(2)));
    let python = "./a.py ./sub/c.py";
    for (name, arguments) in [
        ("bandit", format!("--quiet --format sarif {python}")),
        (
            "gitleaks",
            "dir --no-banner --log-level=error --exit-code=0 --redact --report-format=sarif \
             --report-path=- ."
                .to_owned(),
        ),
        ("hadolint", "--no-fail --format sarif ./Dockerfile.dev".to_owned()),
        (
            "ruff",
            format!("check --no-cache --no-fix --quiet --output-format=sarif --isolated {python}"),
        ),
        (
            "semgrep",
            format!(
                "scan --sarif --quiet --metrics=off --disable-version-check --no-git-ignore \
                 --max-target-bytes=0 --config {rules} ./.acmerc ./Dockerfile.dev ./a.py ./b.txt \
                 ./pyproject.toml ./run.sh ./sub/c.py"
            ),
        ),
        ("shellcheck", "--norc --format=json1 ./run.sh".to_owned()),
    ] {
        let file = machine.folder().join(format!("{name}.arguments"));
        assert_eq!(lines(&file), [arguments], "{name}");
    }
}

static FIXED: OnceLock<Target> = OnceLock::new();

/// A review with tools survives a crash after every record with the same final state.
#[tokio::test]
async fn a_review_with_tools_survives_crashes() {
    let (machine, repo) = (Machine::new(), changed());
    let lint = program(&machine, "lint", &format!("WORDS='Lists are slow'\n{LINTER}"));
    let tool = |name: &str, command: &str| ToolOptions {
        name: Some(name.to_owned()),
        command: vec![command.to_owned(), "{files}".to_owned()],
        files: vec!["*.py".to_owned()],
        ..ToolOptions::default()
    };
    let tools = Tools::new(&[tool("lint", &lint), tool("absent", "/no/such/program")]).unwrap();
    FIXED.set(repo.resolve("HEAD^!").await.unwrap()).unwrap();
    let checks = Checks {
        graph: Review::graph().unwrap(),
        deps: Arc::new(deps(Limits::default()).with_tools(tools)),
        store: Arc::new(Memory::new(Clock::system())),
        input: || FIXED.get().cloned().unwrap().into(),
    };
    assert!(checks.survives_every_crash().await.unwrap() >= 12);
}

/// What a process that died left behind is removed by the next that runs a tool; what one uses is not.
#[test]
fn folders_of_dead_processes_are_removed() {
    let (machine, repo) = (Machine::new(), changed());
    let left = |name: &str| {
        let folder = machine.folder().join("tmp").join(format!("verdict-tool-{name}"));
        fs::create_dir_all(folder.join("files/sub")).unwrap();
        let lock = File::create(folder.join("lock")).unwrap();
        fs::set_permissions(folder.join("files"), Permissions::from_mode(0o500)).unwrap();
        let long_ago = SystemTime::UNIX_EPOCH;
        File::open(&folder).unwrap().set_modified(long_ago).unwrap();
        (folder, lock)
    };
    let ((_, dead), (used, lock)) = (left("dead"), left("used"));
    drop(dead);
    lock.lock().unwrap();
    let nothing = program(&machine, "nothing", NOTHING);
    let tool = json!([{ "name": "nothing", "command": [nothing], "files": ["*.py"] }]);
    let machine = with_tools(machine, tool);
    json_of(&machine, &repo);
    assert_eq!(folders(&machine), [used]);
}

/// What cannot work is said at the start, and a near miss is told.
#[test]
fn settings_that_cannot_work_are_named() {
    for (toml, said) in [
        ("preset = 'rufff'", "tool `rufff`: there is no preset `rufff`; did you mean `ruff`?"),
        ("preset = 'acme'", "there is no preset `acme`, only bandit, gitleaks, hadolint, ruff"),
        ("preset = 'ruff'\ntimeot = '5s'", "unknown name `timeot`; did you mean `timeout`?"),
        ("preset = 'ruff'\ntimeout = 'soon'", "workflows.review.tools"),
        ("preset = 'ruff'\ntimeout = '1h'", "its `timeout` is not more than 0 and at most 20m"),
        ("preset = 'ruff'\ncommand = ['ruff', 'x']", "its `command` is the program alone"),
        ("preset = 'semgrep'", "tool `semgrep`: it needs `rules`"),
        ("preset = 'shellcheck'\nrules = 'x'", "this preset takes no `rules`"),
        ("name = 'x'\ncommand = ['x']", "tool `x`: it needs `files`"),
        ("name = 'x'\nfiles = ['*']", "tool `x`: it needs a `command`"),
        ("name = 'x'\nfiles = ['[']\ncommand = ['x']", "tool `x`: `[`: "),
        ("name = 'x'\nfiles = ['*']\ncommand = ['./x']", "`./x` is neither a name nor an absolute"),
        ("name = 'x'\nfiles = ['*']\ncommand = ['x', '{rules}']", "names {rules}, and it has none"),
        ("name = 'logic'\nfiles = ['*']\ncommand = ['x']", "an agent has this name"),
        ("name = 'a b'\nfiles = ['*']\ncommand = ['x']", "its `name` has other characters"),
        ("files = ['*']", "tool 1: it needs a `preset`, or a `name` and a `command`"),
    ] {
        let error = Settings::parse(&format!("[[workflows.review.tools]]\n{toml}")).unwrap_err();
        let error = error.to_string();
        assert!(error.contains("workflows.review.tools"), "{toml}: {error}");
        assert!(error.contains(said), "{toml}: {error}");
    }
    let twice = "[[workflows.review.tools]]\npreset = 'ruff'\n".repeat(2);
    let error = Settings::parse(&twice).unwrap_err().to_string();
    assert!(error.contains("there are two of this name"), "{error}");
}

/// A checkout's own `verdict.toml` starts nothing.
#[test]
fn a_file_that_nobody_named_names_no_tools() {
    let folder = tempfile::tempdir().unwrap();
    let toml = "[[workflows.review.tools]]\npreset = 'semgrep'\nrules = 'rules'\n";
    let file = folder.path().join("verdict.toml");
    fs::write(&file, toml).unwrap();
    let home = || [("HOME".to_owned(), "/home/someone".to_owned())];
    let error = Settings::load(None, home(), folder.path()).unwrap_err();
    assert!(matches!(&error, ConfigError::BadValue { key, .. } if key == "workflows.review.tools"));
    assert!(error.to_string().contains("only when --config names it"), "{error}");
    let settings = Settings::load(Some(&file), home(), folder.path()).unwrap();
    let rules = settings.workflows.review.tools[0].rules.clone();
    assert_eq!(rules, Some(folder.path().join("rules")));
}
