//! The tools that are known by name: how each is told to write its findings to standard output, and to
//! leave the settings alone that a repository has for it.

/// How a known tool is run.
pub(super) struct Preset {
    /// The word for it, and the program.
    pub(super) name: &'static str,
    /// Its arguments. `{rules}` stands for one of the next two, `{files}` for the files.
    pub(super) arguments: &'static [&'static str],
    /// In place of `{rules}` with rules from the worker's settings; `None` where it takes none.
    pub(super) with_rules: Option<&'static [&'static str]>,
    /// The same without; `None` where it does nothing without.
    pub(super) without_rules: Option<&'static [&'static str]>,
    /// Which files it is given.
    pub(super) files: &'static [&'static str],
    /// The files in which repositories have settings for it: it gets to see none.
    pub(super) settings: &'static [&'static str],
    /// What it writes.
    pub(super) output: Output,
}

/// What a tool writes to standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Output {
    /// SARIF 2.1.0.
    Sarif,
    /// The `json1` of ShellCheck, which has no SARIF.
    ShellCheck,
}

/// Every preset.
pub(super) const PRESETS: &[Preset] = &[
    Preset {
        name: "bandit",
        arguments: &["--quiet", "--format", "sarif", "{rules}", "{files}"],
        with_rules: Some(&["--configfile", "{rules}"]),
        without_rules: Some(&[]),
        files: &["*.py", "*.pyi"],
        settings: &[".bandit", "pyproject.toml"],
        output: Output::Sarif,
    },
    Preset {
        name: "gitleaks",
        arguments: &[
            "dir",
            "--no-banner",
            "--log-level=error",
            "--exit-code=0",
            "--redact",
            "--report-format=sarif",
            "--report-path=-",
            "{rules}",
            ".",
        ],
        with_rules: Some(&["--config", "{rules}"]),
        without_rules: Some(&[]),
        files: &["*"],
        settings: &[".gitleaks.toml", ".gitleaksignore"],
        output: Output::Sarif,
    },
    Preset {
        name: "hadolint",
        arguments: &["--no-fail", "--format", "sarif", "{rules}", "{files}"],
        with_rules: Some(&["--config", "{rules}"]),
        without_rules: Some(&[]),
        files: &[
            "{Dockerfile,Containerfile}",
            "{Dockerfile,Containerfile}.*",
            "*.{Dockerfile,dockerfile,Containerfile}",
        ],
        settings: &[".hadolint.{yaml,yml}"],
        output: Output::Sarif,
    },
    Preset {
        name: "ruff",
        arguments: &[
            "check",
            "--no-cache",
            "--no-fix",
            "--quiet",
            "--output-format=sarif",
            "{rules}",
            "{files}",
        ],
        with_rules: Some(&["--config", "{rules}"]),
        without_rules: Some(&["--isolated"]),
        files: &["*.py", "*.pyi"],
        settings: &["pyproject.toml", "{.ruff,ruff}.toml"],
        output: Output::Sarif,
    },
    Preset {
        name: "semgrep",
        arguments: &[
            "scan",
            "--sarif",
            "--quiet",
            "--metrics=off",
            "--disable-version-check",
            "--no-git-ignore",
            "--max-target-bytes=0",
            "{rules}",
            "{files}",
        ],
        with_rules: Some(&["--config", "{rules}"]),
        without_rules: None,
        files: &["*"],
        settings: &[".semgrepignore"],
        output: Output::Sarif,
    },
    Preset {
        name: "shellcheck",
        arguments: &["--norc", "--format=json1", "{files}"],
        with_rules: None,
        without_rules: Some(&[]),
        files: &["*.{sh,bash,dash,ksh,bats}"],
        settings: &[".shellcheckrc", "shellcheckrc"],
        output: Output::ShellCheck,
    },
];

/// Where tools in general look for settings, some of which are programs: what a command of one's own
/// does not get to see, beside what the presets do not.
pub(super) const USUAL_SETTINGS: &[&str] = &[
    ".*rc",
    ".*rc.{cjs,js,json,mjs,toml,ts,yaml,yml}",
    "*.config.{cjs,cts,js,json,mjs,mts,toml,ts,yaml,yml}",
    "{setup.cfg,tox.ini,conftest.py,package.json}",
    ".flake8",
    ".editorconfig",
    ".pre-commit-config.yaml",
    ".{pylint,golangci,yamllint,rubocop,markdownlint}*",
];
