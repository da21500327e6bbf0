//! Secrets are found, masked in place, and never told.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD as URL_SAFE_NO_PAD};
use verdict::{
    analysis::{LineSet, secrets},
    workflows::review::report::{ReportContext, json, text},
};

use super::support::{Repo, found};

/// Made up, and put together here so that no scanner takes this file for a leak.
fn samples() -> Vec<(&'static str, String)> {
    let key: String = (0..3).map(|_| "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAo\n").collect();
    vec![
        (
            "secret-private-key",
            format!("-----BEGIN RSA PRIVATE {}-----\n{key}-----END RSA PRIVATE KEY-----", "KEY"),
        ),
        ("secret-aws-access-key", format!("id = {}{}", "AKIA", "J4QZ7MVRT2PLWX5K")),
        (
            "secret-aws-secret-key",
            format!("aws_secret_access_key = \"{}{}\"", "q8Zr1LmT5vXw", "Y2nBc7Dk9FgHj3KpQsUaEi64")
                .replace("Ei64", "Ei64oR0t"),
        ),
        (
            "secret-github-token",
            format!("t = '{}_{}'", "ghp", "q8Zr1LmT5vXwY2nBc7Dk9FgHj3KpQsUaEi64"),
        ),
        ("secret-gitlab-token", format!("t = '{}-{}'", "glpat", "q8Zr1LmT5vXwY2nBc7Dk")),
        (
            "secret-slack-token",
            format!("t = '{}-{}'", "xoxb", "2749105836-8301947265-q8Zr1LmT5vXwY2nBc7Dk9FgH"),
        ),
        ("secret-stripe-live-key", format!("t = '{}_{}'", "sk_live", "q8Zr1LmT5vXwY2nBc7Dk9FgH")),
        (
            "secret-google-api-key",
            format!("t = '{}{}'", "AIza", "Syq8Zr1LmT5vXwY2nBc7Dk9FgHj3KpQsUaE"),
        ),
        ("secret-npm-token", format!("t = '{}_{}'", "npm", "q8Zr1LmT5vXwY2nBc7Dk9FgHj3KpQsUaEi64")),
        (
            "secret-connection-password",
            format!("url = postgres://app:{}@db.internal/app", "q8Zr1LmT5vXw"),
        ),
        ("secret-hardcoded-credential", format!("db_password = \"{}\"", "q8Zr1LmT5vXw")),
        (
            "secret-json-web-token",
            format!(
                "t {}.{}.{}",
                "eyJhbGciOiJIUzI1NiJ9", "eyJzdWIiOiI0MiJ9Zz", "q8Zr1LmT5vXwY2nBc7Dk9FgH"
            ),
        ),
    ]
}

/// The part of a sample that must never be seen again.
fn hidden(sample: &str) -> &str {
    ["q8Zr1LmT5vXw", "J4QZ7MVRT2PLWX5K", "MIIEvQIBADANBgkqhki"]
        .into_iter()
        .find(|s| sample.contains(s))
        .unwrap()
}

#[test]
fn every_sample_is_found_and_masked_in_place() {
    assert!(secrets::all_kinds_work());
    for (rule, sample) in samples() {
        let text = format!("before\n{sample}\nafter\n");
        let masked = secrets::mask(text.clone());
        assert_eq!(masked.text.len(), text.len(), "{rule}");
        assert_eq!(masked.text.lines().count(), text.lines().count(), "{rule}");
        assert!(!masked.text.contains(hidden(&sample)), "{rule}: {}", masked.text);
        assert!(masked.text.starts_with("before\n") && masked.text.ends_with("\nafter\n"));
        let rules: Vec<_> =
            masked.findings("a.cfg", &LineSet::all()).into_iter().map(|f| f.rule).collect();
        assert_eq!(rules, [rule], "{sample}");
        assert!(masked.findings("a.cfg", &[9..=9].into_iter().collect()).is_empty());
        assert_eq!(
            secrets::mask(masked.text.to_string()).text,
            masked.text,
            "masking twice changes nothing"
        );
    }
}

#[test]
fn stand_ins_and_references_are_left_alone() {
    for text in [
        "password = \"changeme123456\"",
        "password: \"${DB_PASSWORD}\"",
        "token = os.environ['API_TOKEN']",
        "api_key = \"your_api_key_here_1\"",
        "AKIAIOSFODNN7EXAMPLE",
        "postgres://user:password@localhost/db",
        "secret = \"this is a plain sentence\"",
        "url = https://example.org:8080/path@v2",
        "passwordField = \"password-input-2\"",
        "if text.contains(\"-----BEGIN PRIVATE KEY-----\") {",
        "token_url = \"https://auth0.internal/oauth2/token\"",
        "postgres://app:{password}@{host}/db",
        "secret_name: \"kubernetes-io-tls\"",
        "'password' => 'required|string|max:1000',",
        "export DATADOG_CPP_VERSION=af53c523787cca108ae9f458ea5c962e48187a36\n",
    ] {
        let masked = secrets::mask(text.to_owned());
        assert!(!masked.any(), "{text} became {}", masked.text);
    }
}

/// Settings of every syntax: a password that somebody chose is told by the name it is given to.
#[test]
fn passwords_in_settings_are_found() {
    let word = format!("{}*{}", "Mango", "Lantern9495");
    for (path, text) in [
        ("app.properties", "spring.mail.password=VALUE\n"),
        ("app.properties", "server.ssl.key-store-password = VALUE\n"),
        ("values.yaml", "grafana:\n  adminPassword: VALUE # of the web console\n"),
        ("ldap.conf", "bind_password = VALUE\n"),
        ("redis.conf", "requirepass VALUE\n"),
        ("run.sh", "export SMTP_PASS=VALUE\n"),
        ("settings.xml", "<server><password>VALUE</password></server>"),
        ("web.config", "<add key=\"DbPassword\" value=\"VALUE\" />"),
        ("wp-config.php", "define( 'DB_PASSWORD', 'VALUE' );"),
        ("pod.yaml", "- name: DB_PASSWORD\n  value: \"VALUE\"\n"),
        (".netrc", "machine git.shop.org\nlogin ci\npassword VALUE\n"),
        (".pgpass", "db.shop.org:5432:*:backup:VALUE\n"),
        ("load.sh", "psql \"host=db.shop.org user=ci password=VALUE dbname=shop\""),
        ("A.java", "\"username=\\\"ci\\\" password=\\\"VALUE\\\";\""),
        ("A.cs", "public string ServicePassword { get; set; } = \"VALUE\";"),
        ("build.gradle", "buildConfigField(\"String\", \"DB_PASSWORD\", \"\\\"VALUE\\\"\")"),
    ] {
        let masked = secrets::mask(text.replace("VALUE", &word));
        assert!(!masked.text.contains(&word), "{path}: {}", masked.text);
        assert_eq!(masked.findings(path, &LineSet::all()).len(), 1, "{path}: {}", masked.text);
    }
    for text in [
        "password = CHANGEME\n",
        "password: postgres123\n",
        "password: Admin*12345\n",
        "password: ENC[AES256_GCM,data:kX9mQ2vL7p]\n",
        "password = settings.password2(\"a\")\n",
        "existingSecret: gitlab-agent-token-7f9c\n",
        "label.newPassword=Kennwort&2\n",
        "STRIPE_PUBLISHABLE_KEY=pk_live_q8Zr1LmT5vXwY2nBc7Dk9FgH\n",
        "apiKey: 'phc_q8Zr1LmT5vXwY2nBc7Dk9FgHj3KsPe6RtUaV4iOz0Nb',\n",
        "<password>${env.DEPLOY_TOKEN}</password>",
        "token: '0xc54fd6685dd957905b3960a6db299dee64a9c52f',",
    ] {
        let masked = secrets::mask(text.to_owned());
        assert!(!masked.any(), "{text} became {}", masked.text);
    }
    // Without quotes it is an expression in a program.
    let masked = secrets::mask(format!("password = {word}\n"));
    assert!(masked.findings("src/a.rb", &LineSet::all()).is_empty());
}

/// Whatever follows a key that has no end: once masked, nothing more is found.
#[test]
fn a_key_without_an_end_is_masked() {
    let (_, key) = samples().into_iter().find(|(r, _)| *r == "secret-private-key").unwrap();
    let (begin, _) = key.split_once("-----END").unwrap();
    for after in ["", "\\", "\\u0000 and so on", "\\n\"", "\"", "xoxb-1-"] {
        let masked = secrets::mask(format!("{begin}{after}"));
        assert!(!masked.text.contains(hidden(&key)), "{after}: {}", masked.text);
        assert!(!secrets::mask(masked.text.to_string()).any(), "{after}: {}", masked.text);
    }
}

/// A key in a string in a string, as in JSON that a program writes: escaped once, twice, three times.
#[test]
fn a_key_is_masked_however_often_it_is_escaped() {
    let (_, key) = samples().into_iter().find(|(r, _)| *r == "secret-private-key").unwrap();
    let mut text = key.clone();
    for _ in 0..3 {
        text = serde_json::to_string(&text).unwrap();
        let masked = secrets::mask(format!("{{\"key\": {text}, \"next\": \"kept\"}}"));
        assert!(!masked.text.contains(hidden(&key)), "{}", masked.text);
        assert!(masked.text.contains("kept"), "{}", masked.text);
    }
}

/// A JSON web token of these claims.
fn of_claims(claims: &str) -> String {
    let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
    let signed = part("0123456789abcdefghijklmnopqrstuv");
    format!("\"{}.{}.{signed}\"", part(r#"{"alg":"HS256","typ":"JWT"}"#), part(claims))
}

/// Reported or not, it is masked.
#[test]
fn what_opens_nothing_is_not_reported() {
    let sample = |rule: &str| samples().into_iter().find(|(r, _)| *r == rule).unwrap().1;
    let key = sample("secret-private-key");
    let google = sample("secret-google-api-key");
    let url = sample("secret-connection-password");
    let token = sample("secret-json-web-token");
    let github = sample("secret-github-token");
    let digest = "5f74d4e92a6684927f5305096378c8be278159a5cd88ce652c7be3280a7d1685";
    for (path, text, reported) in [
        ("certs/key.pem", key.clone(), true),
        ("tests/certs/key.pem", key.clone(), false),
        (".ci/key.pem", key.clone(), true),
        ("a.rs", format!("const KEY: &str = \"{key}\";"), true),
        ("a.rs", format!("const FAKE_KEY: &str = \"{key}\";"), false),
        ("a.env", google.clone(), true),
        ("a.env", format!("{google}, authDomain: 'a.firebaseapp.com'"), false),
        ("deploy/compose.yml", url.clone(), true),
        (".ci/compose.yml", url.clone(), false),
        ("docker-compose.test.yml", url.clone(), false),
        ("src/seeds/users.yml", url.clone(), false),
        ("a.env", "postgres://app:Xk29fjq0slQ@localhost:5432/app".into(), false),
        ("a.env", "postgres://app:Xk29fjq0slQ@db.example.org/app".into(), true),
        ("a.env", "postgres://app:wallapiss@db/app".into(), false),
        ("a.env", "postgres://app:Xk29fjq0slQ@db/app".into(), true),
        ("a.env", "postgres://app:wallapiss@db.shop.org/app".into(), true),
        ("a.env", "# postgres://app:wallapiss@db.shop.org/app".into(), false),
        (".env.example", url.clone(), false),
        ("src/unittests/scans/a.json", token.clone(), false),
        ("src/a.go", format!("Token string `example:\"{token}\"`"), false),
        ("docs.html.twig", token.clone(), false),
        ("src/a.go", token, true),
        ("dev/keys/one", key.clone(), false),
        ("nginx/fake-certs/one.key", key.clone(), false),
        ("a.html", format!("src='https://maps.googleapis.com/maps/api/js?{google}'"), false),
        ("a.jsonl", of_claims(r#"{"iss":"shop","iat":1700000000,"exp":1700007200}"#), false),
        ("a.jsonl", of_claims(r#"{"iss":"supabase-demo","iat":1641769200}"#), false),
        ("a.jsonl", of_claims(r#"{"iss":"shop","iat":1700000000,"exp":1900000000}"#), true),
        ("a.jsonl", of_claims(r#"{"iss":"shop","exp":1648650086}"#), false),
        ("orders.http", of_claims(r#"{"iss":"shop","exp":1900000000}"#), false),
        ("docker-compose.yml", "Db=Server=mssql;Uid=sa;Password=Kx9mQ2vL7p".into(), false),
        ("Settings.cs", "Db=Server=mssql;Uid=sa;Password=Kx9mQ2vL7p".into(), true),
        ("Settings.cs", "Db=Host=localhost;Uid=sa;Password=Kx9mQ2vL7p".into(), false),
        ("config/secrets.yml", format!("production:\n  secret_key_base: {digest}\n"), true),
        (
            "config/secrets.yml",
            format!("development:\n  a: 1\n  secret_key_base: {digest}\n"),
            false,
        ),
        ("src/main/resources/application-dev.yml", format!("base64_secret: {digest}\n"), false),
        ("config/devise.rb", format!("  # config.secret_key = '{digest}'\n"), false),
        ("config/devise.rb", format!("  config.secret_key = '{digest}'\n"), true),
        ("site/meeting.rst", "https://us02web.zoom.us/j/81?pwd=Xk29fjq0slQw8Rt1".into(), false),
        ("elk/elk-example.p8", key.clone(), false),
        ("po/Strings.resx", url.clone(), false),
        ("a.go", format!("\"create_api_key\": \"{digest}\","), true),
        ("a.go", format!("\"a\": \"{digest}\",\n\"api_key\": \"{digest}\","), false),
        (
            "src/scan.rs",
            format!("(\"[a-z]{{3}}_[A-Za-z0-9]{{36}}\",\n Sample(\"{github}\"))"),
            false,
        ),
        ("src/scan.rs", format!("(\"\",\n Sample(\"{github}\"))"), true),
    ] {
        let masked = secrets::mask(text);
        assert!(masked.any(), "{path}");
        let found = masked.findings(path, &LineSet::all());
        assert_eq!(found.len(), usize::from(reported), "{path}: {found:?}");
    }
}

/// What another scanner was told to let pass still counts, below the usual threshold.
#[test]
fn what_another_scanner_lets_pass_is_judged_more_softly() {
    let (_, token) = samples().into_iter().find(|(r, _)| *r == "secret-github-token").unwrap();
    let confidence = |end: &str| {
        let masked = secrets::mask(format!("{token}{end}\n"));
        masked.findings("a.py", &LineSet::all())[0].confidence.get()
    };
    assert!(confidence("") >= 50 && confidence("  # gitleaks:allow") < 50);
}

/// R6: what is stored and shown holds no secret: not the state, the output, or a fingerprint.
#[tokio::test]
async fn no_secret_is_stored_or_shown() {
    let repo = Repo::new();
    repo.write("a.py", "x = 1\n").commit("base");
    let all: Vec<String> = samples().into_iter().map(|(_, s)| s).collect();
    // A rule matches on the very line of a secret, so that its quote would hold it.
    let line = format!(
        "requests.get(u, verify=False, headers={{'k': 'glpat-{}'}})\n",
        "q8Zr1LmT5vXwY2nBc7Dk"
    );
    repo.write("a.py", format!("x = 1\n{line}")).write("all.cfg", all.join("\n")).commit("leak");
    let state = repo.review("HEAD^!").await;
    let about = ReportContext::default();
    let seen =
        [serde_json::to_string(&state).unwrap(), json(&state, &about), text(&state, &about, true)];
    for seen in seen {
        for sample in &all {
            assert!(!seen.contains(hidden(sample)), "{seen}");
        }
    }
    let found = super::support::found(&state);
    assert!(found.contains(&"secret-gitlab-token a.py:2-2".into()), "{found:?}");
    assert!(found.contains(&"py-requests-no-verify a.py:2-2".into()), "{found:?}");
    assert_eq!(state.judgement.unwrap().verdict.word(), "changes_requested");
}

/// A key that the change only folds and indents otherwise is no news.
#[tokio::test]
async fn a_key_that_is_folded_otherwise_is_known() {
    let (_, key) = samples().remove(0);
    let repo = Repo::new();
    repo.write("a.yml", format!("key: \"{}\"\n", key.replace('\n', " "))).commit("one");
    assert_eq!(found(&repo.review("HEAD^!").await), ["secret-private-key a.yml:1-1"]);
    repo.write("a.yml", format!("key: |\n  {}\n", key.replace('\n', "\n  "))).commit("two");
    assert_eq!(found(&repo.review("HEAD^!").await), [""; 0]);
    repo.write("a.yml", format!("key: \"{}\"\n", key.replace('\n', "\\n"))).commit("three");
    assert_eq!(found(&repo.review("HEAD^!").await), [""; 0]);
}
