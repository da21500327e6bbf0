//! Settings: sources, precedence, errors that name key and place, and secrets that stay secret.

use std::{fs, path::Path, time::Duration};

use tempfile::TempDir;
use verdict::{
    base::ExposeSecret,
    config::{ConfigError, QueueUrl, Settings, StoreUrl, known_keys, variable_of},
    telemetry::LogFormat,
};

const HOME: (&str, &str) = ("HOME", "/home/someone");

fn load(toml: Option<&str>, env: &[(&str, &str)]) -> (Result<Settings, ConfigError>, TempDir) {
    let cwd = tempfile::tempdir().unwrap();
    if let Some(text) = toml {
        fs::write(cwd.path().join("verdict.toml"), text).unwrap();
    }
    (load_in(cwd.path(), env), cwd)
}

fn load_in(cwd: &Path, env: &[(&str, &str)]) -> Result<Settings, ConfigError> {
    let env = std::iter::once(&HOME).chain(env).map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
    Settings::load(None, env, cwd)
}

fn good(toml: &str, env: &[(&str, &str)]) -> Settings {
    load(Some(toml), env).0.unwrap()
}

/// The error's text, the temporary folder cut out of it.
fn refused(toml: &str, env: &[(&str, &str)]) -> String {
    let (result, cwd) = load(Some(toml), env);
    result.unwrap_err().to_string().replace(&format!("{}/", cwd.path().display()), "")
}

#[test]
fn nothing_set_gives_one_file_in_the_state_folder() {
    let settings = load(None, &[]).0.unwrap();
    let file = Path::new("/home/someone/.local/state/verdict/verdict.db");
    assert_eq!(settings.store.url, StoreUrl::Sqlite(file.into()));
    assert_eq!(settings.queue.url, QueueUrl::Embedded(Some(file.into())));
    assert_eq!(settings.server.listen, "127.0.0.1:8080".parse().unwrap());
    assert_eq!(settings.worker.concurrency, 8);
    assert_eq!(settings.worker.lease, Duration::from_secs(30));
    assert_eq!(settings.worker.grace, Duration::from_secs(25));
    assert_eq!(settings.worker.attempts, 5);
    assert_eq!(settings.worker.version_wait, Duration::from_secs(3600));
    assert_eq!(settings.store.retention, None);
}

#[test]
fn the_state_folder_follows_xdg_but_not_to_a_relative_place() {
    let at = |folder| load(None, &[("XDG_STATE_HOME", folder)]).0.unwrap().store.url;
    assert_eq!(at("/state"), StoreUrl::Sqlite("/state/verdict/verdict.db".into()));
    let fallback = "/home/someone/.local/state/verdict/verdict.db";
    assert_eq!(at("state"), StoreUrl::Sqlite(fallback.into()));
}

#[test]
fn without_a_home_the_store_must_be_named() {
    let cwd = tempfile::tempdir().unwrap();
    let load = |env: &[(&str, &str)]| {
        let env = env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        Settings::load(None, env.collect::<Vec<_>>(), cwd.path())
    };
    let error = load(&[]).unwrap_err().to_string();
    assert!(error.contains("`store.url`") && error.contains("HOME"), "{error}");
    let settings = load(&[("VERDICT__STORE__URL", "sqlite:runs.db")]).unwrap();
    let file = cwd.path().join("runs.db");
    assert_eq!(settings.queue.url, QueueUrl::Embedded(Some(file.clone())));
    assert_eq!(settings.store.url, StoreUrl::Sqlite(file));
}

#[test]
fn the_environment_beats_the_file_and_the_file_beats_the_default() {
    let toml = "[worker]\nconcurrency = 3\nlease = '10s'";
    let settings = good(toml, &[("VERDICT__WORKER__LEASE", "45s")]);
    assert_eq!(settings.worker.concurrency, 3);
    assert_eq!(settings.worker.lease, Duration::from_secs(45));
    assert_eq!(settings.origin("worker.lease"), "VERDICT__WORKER__LEASE");
    assert!(settings.origin("worker.concurrency").ends_with("verdict.toml"));
    assert_eq!(settings.origin("worker.grace"), "default");
}

#[test]
fn a_named_file_must_exist_and_replaces_the_one_in_the_folder() {
    let cwd = tempfile::tempdir().unwrap();
    fs::write(cwd.path().join("verdict.toml"), "[worker]\nattempts = 2").unwrap();
    fs::write(cwd.path().join("other.toml"), "[worker]\nconcurrency = 2").unwrap();
    let load = |name: &str| {
        let env = [(HOME.0.to_owned(), HOME.1.to_owned())];
        Settings::load(Some(Path::new(name)), env, cwd.path())
    };
    let settings = load("other.toml").unwrap();
    assert_eq!((settings.worker.concurrency, settings.worker.attempts), (2, 5));
    let error = load("absent.toml").unwrap_err().to_string();
    assert!(error.contains("absent.toml"), "{error}");
}

#[test]
fn variables_hold_every_type() {
    let env = [
        ("VERDICT__WORKER__CONCURRENCY", "12"),
        ("VERDICT__WORKER__VERSION_WAIT", "2h 30m"),
        ("VERDICT__STORE__RETENTION", "90d"),
        ("VERDICT__STORE__URL", "memory:"),
        ("VERDICT__QUEUE__URL", "embedded:/var/q.db"),
        ("VERDICT__LOG__FORMAT", "json"),
        ("VERDICT__SERVER__LISTEN", "[::1]:0"),
        ("VERDICT__FORGE__LOCAL__ALLOW", "/srv/a, /srv/b"),
        ("VERDICT__SERVER__TOKEN", "12345"),
        ("VERDICT__GITHUB__APP_ID", "77"),
        ("VERDICT__WORKER__GRACE", ""),
        ("UNRELATED", "x"),
    ];
    let settings = good("", &env);
    assert_eq!(settings.worker.concurrency, 12);
    assert_eq!(settings.worker.version_wait, Duration::from_secs(9000));
    assert_eq!(settings.worker.grace, Duration::from_secs(25), "empty counts as unset");
    assert_eq!(settings.store.retention, Some(Duration::from_secs(90 * 24 * 3600)));
    assert_eq!(settings.store.url, StoreUrl::Memory);
    assert_eq!(settings.queue.url, QueueUrl::Embedded(Some("/var/q.db".into())));
    assert_eq!(settings.log.format, LogFormat::Json);
    assert_eq!(settings.server.listen, "[::1]:0".parse().unwrap());
    assert_eq!(settings.forge.local.allow, [Path::new("/srv/a"), Path::new("/srv/b")]);
    assert_eq!(settings.server.token.unwrap().expose_secret(), "12345");
    assert_eq!(settings.github.app_id, Some(77));
}

#[test]
fn a_list_may_be_a_json_array_and_relative_folders_become_absolute() {
    let env = [("VERDICT__FORGE__LOCAL__ALLOW", r#"["/srv/a,b", "mine"]"#)];
    let (settings, cwd) = load(None, &env);
    let allow = settings.unwrap().forge.local.allow;
    assert_eq!(allow, [Path::new("/srv/a,b").to_owned(), cwd.path().join("mine")]);
}

#[test]
fn an_unknown_key_is_named_with_its_source_and_the_nearest_known_one() {
    let cases = [
        ("[worker]\nconcurency = 3", "worker.concurency", "did you mean `worker.concurrency`?"),
        ("[wroker]\nlease = '1s'", "wroker.lease", "did you mean `worker.lease`?"),
        ("lease = '1s'", "lease", "did you mean `worker.lease`?"),
        ("[forge.local]\nalow = []", "forge.local.alow", "did you mean `forge.local.allow`?"),
        ("entirely_else = 1", "entirely_else", "in verdict.toml"),
        ("[empty]", "empty", "in verdict.toml"),
    ];
    for (toml, key, hint) in cases {
        let error = refused(toml, &[]);
        let start = format!("unknown setting `{key}` in verdict.toml");
        assert!(error.starts_with(&start) && error.contains(hint), "{error}");
    }
    assert!(!refused("entirely_else = 1", &[]).contains("did you mean"));
    let error = refused("", &[("VERDICT__SERVER__LISTN", "x")]);
    assert_eq!(
        error,
        "unknown setting `server.listn` in VERDICT__SERVER__LISTN; did you mean `server.listen`?"
    );
}

#[test]
fn a_bad_value_is_named_with_its_source_and_what_was_expected() {
    let cases = [
        ("[worker]\nlease = 'soon'", "worker.lease", "for example `30s`"),
        ("[worker]\nlease = 30", "worker.lease", "for example `30s`"),
        ("[worker]\nconcurrency = 'many'", "worker.concurrency", "expected a whole number"),
        ("[worker]\nconcurrency = -1", "worker.concurrency", "expected a whole number"),
        ("[worker]\nconcurrency = 0", "worker.concurrency", "from 1 to 1024"),
        ("[worker]\nattempts = 0", "worker.attempts", "at least 1"),
        ("[worker]\nlease = '1ms'", "worker.lease", "at least 100ms"),
        ("worker = 3", "worker", "expected a table"),
        ("[server]\nlisten = 'everywhere'", "server.listen", "for example `127.0.0.1:8080`"),
        ("[server]\nlisten = '0.0.0.0:80'", "server.listen", "set `server.token`"),
        ("[server]\ntoken = ''", "server.token", "not empty"),
        ("[log]\nformat = 'xml'", "log.format", "json"),
        ("[forge.local]\nallow = 5", "forge.local.allow", "expected a list"),
        ("[store]\nurl = 'mysql://x'", "store.url", "`sqlite:PATH`"),
        ("[store]\nurl = 'sqlite::memory:'", "store.url", "`memory:`"),
        ("[queue]\nurl = 'kafka://x'", "queue.url", "`embedded:PATH`"),
        ("[queue.amqp]\ndelays = []", "queue.amqp.delays", "at least one"),
        ("[queue.amqp]\nqueue_type = 'fast'", "queue.amqp.queue_type", "quorum"),
        ("[queue.pubsub]\ndelivery_attempts = 1000", "queue.pubsub.delivery_attempts", "5 to 100"),
        ("[store.postgres]\nmax_connections = 0", "store.postgres.max_connections", "at least 1"),
        ("[store.postgres]\nacquire_timeout = '0s'", "store.postgres.acquire_timeout", "zero"),
        ("[store]\nurl = 'firestore://p'", "store.url", "`firestore://PROJECT/DATABASE`"),
    ];
    for (toml, key, expected) in cases {
        let error = refused(toml, &[]);
        let start = format!("bad value for `{key}` in verdict.toml: ");
        assert!(error.starts_with(&start) && error.contains(expected), "{toml}\n{error}");
    }
    let error = refused("", &[("VERDICT__WORKER__CONCURRENCY", "many")]);
    assert_eq!(
        error,
        "bad value for `worker.concurrency` in VERDICT__WORKER__CONCURRENCY: \
         expected a whole number, found string \"many\" (for example `8`)"
    );
}

#[test]
fn a_syntax_error_tells_line_and_column_and_not_the_line_itself() {
    let error = refused("[server]\ntoken = hunter2\n", &[]);
    assert!(error.starts_with("verdict.toml, line 2, column 9: "), "{error}");
    assert!(!error.contains("hunter2"), "{error}");
}

#[test]
fn secrets_come_from_files_too() {
    let cwd = tempfile::tempdir().unwrap();
    let file = cwd.path().join("token");
    fs::write(&file, "s3cret\n").unwrap();
    let path = file.to_str().unwrap();
    let settings = load_in(cwd.path(), &[("VERDICT__GITHUB__TOKEN_FILE", path)]).unwrap();
    assert_eq!(settings.github.token.as_ref().unwrap().expose_secret(), "s3cret");
    assert_eq!(settings.origin("github.token"), "VERDICT__GITHUB__TOKEN_FILE");

    let both = [("VERDICT__GITHUB__TOKEN_FILE", path), ("VERDICT__GITHUB__TOKEN", "x")];
    let error = load_in(cwd.path(), &both).unwrap_err();
    assert_eq!(error, ConfigError::Twice { variable: "VERDICT__GITHUB__TOKEN".into() });
    let error = refused("", &[("VERDICT__GITHUB__TOKEN_FILE", "/nowhere/at/all")]);
    assert!(error.contains("/nowhere/at/all (named by VERDICT__GITHUB__TOKEN_FILE)"), "{error}");
    let error = refused("", &[("VERDICT__WORKER__LEASE_FILE", path)]);
    assert!(error.starts_with("unknown setting `worker.lease_file`"), "{error}");
}

#[test]
fn no_secret_is_ever_shown() {
    let toml = "[server]\ntoken = 'hunter2'\n[github]\nwebhook_secret = 'hunter2'\n\
                [store.postgres]\npassword = 'hunter2'";
    let settings = good(toml, &[]);
    let shown = format!("{settings:?}{:?}", settings.describe());
    let json = serde_json::to_string(&settings).unwrap();
    assert!(!shown.contains("hunter2") && !json.contains("hunter2"));
    let errors = [
        refused("[server]\ntoken = ['hunter2']", &[]),
        refused("[server.token]\nhunter2 = 1", &[]),
        refused("", &[("VERDICT__QUEUE__URL", "amqp://me:hunter2@")]),
        refused("", &[("VERDICT__STORE__URL", "postgress://me:hunter2@h/d")]),
        refused("[store]\nurl = 'postgres://me:hunter2@h/d'\npostgres.migrate = 3", &[]),
        refused("[store.postgres]\npassword = ['hunter2']", &[]),
    ];
    for error in errors {
        assert!(!error.contains("hunter2"), "{error}");
    }
    let urls = "[github]\nurl = 'https://me:hunter2@h/api'\n\
                [model]\nurl = 'https://h/v1?api_key=hunter2&v=1'";
    let shown = format!("{:?}", good(urls, &[]).describe());
    assert!(!shown.contains("hunter2"), "{shown}");
    assert!(shown.contains("https://me:***@h/api") && shown.contains("api_key=***&v=1"), "{shown}");
    let url: StoreUrl = "postgres://me:hunter2@h/d".parse().unwrap();
    assert_eq!(url.to_string(), "postgres://me:***@h/d");
    let url: StoreUrl = "postgres://h/d?password=hunter2".parse().unwrap();
    assert!(!format!("{url:?}{url}").contains("hunter2"));
    let StoreUrl::Postgres(server) = url else { panic!("postgres") };
    assert!(server.expose().contains("hunter2"));
}

/// Keys are told by their names, and what is wrong with them without a digit of theirs.
#[test]
fn keys_of_the_store_are_checked_and_never_shown() {
    let key = "deadbeef".repeat(8);
    let set = |text: &str| [("VERDICT__STORE__ENCRYPTION__KEYS", text.to_owned())];
    for text in [format!("a:{key}"), format!("a:{key}, b.2:{}\n", key.to_uppercase())] {
        let [(name, text)] = set(&text);
        let settings = good("", &[(name, &text)]);
        assert!(!format!("{settings:?}").contains("beef"));
        let ring = settings.store.encryption.ring().unwrap();
        assert_eq!((ring.writer_name(), format!("{ring:?}").contains("beef")), (Some("a"), false));
    }
    assert_eq!(good("", &[]).store.encryption.ring().unwrap().writer_name(), None);
    let short = &key[1..];
    for (text, words) in [
        (
            key.clone(),
            "key 1: expected NAME:KEY, a name of up to 32 letters, digits, `.`, `_`, `-`",
        ),
        (format!("a:{key},{key}:b"), "key 2: expected NAME:KEY, a name of up to 32 letters"),
        (format!("a:{short}"), "key `a`: expected 64 hexadecimal digits (`openssl rand -hex 32`"),
        (format!("a:{short}g"), "key `a`: expected 64 hexadecimal digits"),
        (format!("a:{key} a:{key}"), "two keys are called `a`"),
        (",".to_owned(), "expected a key"),
    ] {
        let [(name, text)] = set(&text);
        let error = refused("", &[(name, &text)]);
        let begin = format!("bad value for `store.encryption.keys` in {name}: {words}");
        assert!(error.starts_with(&begin) && !error.contains("beef"), "{error}");
    }
}

#[test]
fn show_lists_every_key_with_value_and_source() {
    let toml = "[worker]\nlease = '90s'\n[server]\ntoken = 'x'";
    let settings = good(toml, &[("VERDICT__FORGE__LOCAL__ALLOW", "/a,/b")]);
    let described = settings.describe();
    let keys: Vec<_> = described.iter().map(|entry| entry.key.clone()).collect();
    assert_eq!(keys, known_keys());
    let row = |key: &str| {
        let entry = described.iter().find(|entry| entry.key == key).unwrap();
        (entry.value.as_str(), entry.origin.rsplit('/').next().unwrap(), entry.variable.as_str())
    };
    assert_eq!(row("worker.lease"), ("1m 30s", "verdict.toml", "VERDICT__WORKER__LEASE"));
    assert_eq!(row("server.token"), ("(set)", "verdict.toml", "VERDICT__SERVER__TOKEN"));
    assert_eq!(row("github.token"), ("(unset)", "default", "VERDICT__GITHUB__TOKEN"));
    assert_eq!(row("store.retention"), ("(unset)", "default", "VERDICT__STORE__RETENTION"));
    let allow = "VERDICT__FORGE__LOCAL__ALLOW";
    assert_eq!(row("forge.local.allow"), (r#"["/a","/b"]"#, allow, allow));
}

/// Every key can be set by its variable: none answers "unknown".
#[test]
fn every_key_has_a_variable() {
    for key in known_keys() {
        let variable = variable_of(key);
        // One key is nothing without another.
        let token = ("VERDICT__SERVER__TOKEN", "full");
        let set = [(variable.as_str(), "1s"), token];
        let set = if key == "server.read_token" { &set[..] } else { &set[..1] };
        if let Err(error) = load(None, set).0 {
            assert!(matches!(error, ConfigError::BadValue { .. }), "{error}");
            assert!(error.to_string().contains(&format!("`{key}` in {variable}")), "{error}");
        }
    }
}

#[test]
fn places_are_read_and_written_alike() {
    for text in ["embedded:", "embedded:/q.db", "pubsub://p/s?topic=t", "amqp://u@h:5672/v?queue=q"]
    {
        assert_eq!(text.parse::<QueueUrl>().unwrap().to_string(), text);
    }
    for text in ["sqlite:/x.db", "memory:", "postgres://u@h:5432/d", "firestore://p/(default)"] {
        assert_eq!(text.parse::<StoreUrl>().unwrap().to_string(), text);
    }
    assert_eq!("sqlite:///x.db".parse(), Ok(StoreUrl::Sqlite("/x.db".into())));
    for text in ["", "sqlite", "sqlite:", "sqlite://", "memory:x", "postgres:", "firestore://p"] {
        assert!(text.parse::<StoreUrl>().is_err(), "{text}");
    }
    for text in ["", "embedded", "amqp:", "amqp://", "pubsub://p", "pubsub://p/s/t", "pubsub:"] {
        assert!(text.parse::<QueueUrl>().is_err(), "{text}");
    }
}

proptest::proptest! {
    /// Whatever the text, an answer and never a panic; whatever is refused is explained.
    #[test]
    fn any_text_gets_an_answer(text in "(\\[(worker|store|queue|x)\\]\n)?([a-z._]{1,12} ?= ?('[^\n]{0,20}'|[0-9a-z\\[\\],]{0,8})\n){0,4}") {
        if let Err(error) = Settings::parse(&text) {
            proptest::prop_assert!(!error.to_string().is_empty());
        }
    }
}
