//! The binary, as somebody starts it who tries verdict without GitHub.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

use crate::site::Work;

#[tokio::test]
async fn it_serves_its_repositories_and_prints_where() {
    let (work, folder) = (Work::new(), tempfile::tempdir().unwrap());
    let repository = format!("octo/demo={}", work.path().display());
    let key = folder.path().join("key.pem");
    let mut child = Command::new(env!("CARGO_BIN_EXE_fake-github"))
        .args([
            "--listen",
            "127.0.0.1:0",
            "--no-limits",
            "--repository",
            &repository,
            "--pull",
            "octo/demo:feature:main",
        ])
        .arg("--key")
        .arg(&key)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut value = |name: &str| {
        let line = lines.find(|line| line.starts_with(name)).unwrap();
        line.rsplit(' ').next().unwrap().to_owned()
    };
    let (url, token, pull) = (value("url"), value("token of alice"), value("pull request"));
    assert_eq!(pull, format!("{url}/octo/demo/pull/1"));
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let request = http.get(format!("{url}/repos/octo/demo/pulls/1")).bearer_auth(token);
    assert_eq!(request.send().await.unwrap().status(), 200);
    assert!(std::fs::read_to_string(key).unwrap().contains("PRIVATE KEY"));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn it_refuses_what_it_does_not_know() {
    for arguments in [&["--nonsense"][..], &[], &["--repository", "octo/demo"]] {
        let output =
            Command::new(env!("CARGO_BIN_EXE_fake-github")).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(!output.stderr.is_empty());
    }
}
