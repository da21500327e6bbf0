//! Apps: JWTs, installations, tokens and what they are narrowed to; permissions; the manifest flow; API versions.

use std::time::Duration;

use fake_github::Level;
use serde_json::{Value, json};

use crate::site::{Client, Site, on_pull, permissions};

#[tokio::test]
async fn a_jwt_is_checked() {
    let site = Site::new().await;
    assert_eq!(site.as_app().get("/app").await.ok()["slug"], "verdict");
    let (now, id) = (site.github.now(), site.app.id());
    let refused = [
        json!({"iat": now, "exp": now - 1, "iss": id}),
        json!({"iat": now, "exp": now + 3600, "iss": id}),
        json!({"iat": now + 600, "exp": now + 660, "iss": id}),
        json!({"iat": now, "iss": id}),
        json!({"iat": now, "exp": now + 60}),
    ];
    for claims in refused {
        let answer = site.client(Some(site.app.sign(&claims))).get("/app").await;
        assert_eq!(answer.status, 401, "{claims}: {}", answer.text);
    }
    let other = site.github.app("Other", permissions(&[]), &[]);
    let forged = other.sign(&json!({"iat": now, "exp": now + 60, "iss": id}));
    assert_eq!(
        site.client(Some(forged)).get("/app").await.refused(401),
        "A JSON web token could not be decoded"
    );
    let jwt = site.app.jwt();
    let unsigned = format!("{}.", jwt.rsplit_once('.').unwrap().0);
    assert_eq!(site.client(Some(unsigned)).get("/app").await.status, 401);
    assert_eq!(
        site.client(Some("ghs_nothing".into())).get("/repos/octo/demo").await.refused(401),
        "Bad credentials"
    );
    assert_eq!(
        site.client(Some(jwt)).get("/repos/octo/demo").await.status,
        403,
        "a JWT reads no repository"
    );
    assert_eq!(site.bot.get("/app").await.status, 401, "nor is a token a JWT");
}

#[tokio::test]
async fn a_token_is_narrowed_to_repositories_and_permissions() {
    let site = Site::new().await;
    let other = site.github.repository("octo/other", site.work.path());
    let path = format!("/app/installations/{}/access_tokens", site.installation);
    let asked = json!({"repositories": ["demo"], "permissions": {"pull_requests": "read"}});
    let minted = site.as_app().post(&path, asked).await.ok();
    assert!(minted["token"].as_str().unwrap().len() > 100, "tokens are long since April 2026");
    assert_eq!(minted["permissions"], json!({"metadata": "read", "pull_requests": "read"}));
    let narrow = site.client(minted["token"].as_str().map(ToOwned::to_owned));
    narrow.get(&on_pull("")).await.ok();
    assert_eq!(narrow.get("/repos/octo/other").await.status, 404);
    let answer = narrow.post(&on_pull("/reviews"), json!({"event": "COMMENT", "body": "x"})).await;
    assert_eq!(answer.header("x-accepted-github-permissions"), "pull_requests=write");
    assert_eq!(answer.refused(403), "Resource not accessible by integration");
    assert_eq!(narrow.get("/repos/octo/demo/commits/main").await.status, 403);
    let listed = narrow.get("/installation/repositories").await.ok();
    assert_eq!(
        (&listed["total_count"], &listed["repositories"][0]["name"]),
        (&json!(1), &json!("demo"))
    );
    let by_id = site.as_app().post(&path, json!({"repository_ids": [other.id()]})).await.ok();
    assert_eq!(by_id["repositories"][0]["id"], other.id());
    narrow.delete("/installation/token").await;
    assert_eq!(narrow.get(&on_pull("")).await.status, 401);
}

#[tokio::test]
async fn one_permission_or_repository_too_many_refuses_the_token() {
    let site = Site::new().await;
    let path = format!("/app/installations/{}/access_tokens", site.installation);
    for (body, words) in [
        (json!({"permissions": {"contents": "write"}}), "permissions requested are not granted"),
        (
            json!({"permissions": {"pull_requests": "read", "workflows": "write"}}),
            "permissions requested are not granted",
        ),
        (json!({"permissions": {"pull_requests": "some"}}), ""),
        (
            json!({"repositories": ["demo", "nothing"]}),
            "at least one repository that does not exist",
        ),
        (json!({"repository_ids": [1]}), "at least one repository that does not exist"),
    ] {
        let answer = site.as_app().post(&path, body.clone()).await;
        assert_eq!(answer.status, 422, "{body}");
        assert!(answer.text.contains(words), "{body}: {}", answer.text);
    }
    site.app.grant(site.installation, permissions(&[("contents", Level::Write)]));
    site.as_app().post(&path, json!({"permissions": {"contents": "write"}})).await.ok();
}

#[tokio::test]
async fn a_token_expires_after_an_hour_and_with_its_installation() {
    let site = Site::new().await;
    site.github.advance(Duration::from_secs(3590));
    site.bot.get(&on_pull("")).await.ok();
    site.github.advance(Duration::from_secs(20));
    assert_eq!(site.bot.get(&on_pull("")).await.refused(401), "Bad credentials");
    let fresh = site.client(Some(site.app.installation_token(site.installation)));
    site.app.suspend(site.installation, true);
    assert_eq!(fresh.get(&on_pull("")).await.status, 403);
    site.app.suspend(site.installation, false);
    fresh.get(&on_pull("")).await.ok();
    site.app.uninstall(site.installation);
    assert_eq!(fresh.get(&on_pull("")).await.status, 401);
    assert_eq!(site.as_app().get("/repos/octo/demo/installation").await.status, 404);
}

#[tokio::test]
async fn an_app_on_some_repositories_sees_no_others() {
    let site = Site::new().await;
    let other = site.github.repository("acme/one", site.work.path());
    site.github.repository("acme/two", site.work.path());
    let installation = site.app.install_on("acme", &[&other]);
    let client = site.client(Some(site.app.installation_token(installation)));
    client.get("/repos/acme/one").await.ok();
    assert_eq!(client.get("/repos/acme/two").await.status, 404);
    assert_eq!(client.get("/repos/octo/demo").await.status, 404);
    let listed = site.as_app().get("/app/installations").await.ok();
    assert_eq!(listed.as_array().unwrap().len(), 2);
    assert_eq!(site.as_app().get("/repos/acme/two/installation").await.status, 404);
    assert_eq!(site.as_app().get("/orgs/acme/installation").await.ok()["id"], installation);
    assert_eq!(
        site.as_app().get("/repos/acme/one/installation").await.ok()["repository_selection"],
        "selected"
    );
}

#[tokio::test]
async fn plain_tokens_are_as_good_as_their_owner() {
    let site = Site::new().await;
    assert_eq!(site.alice.get("/user").await.ok()["login"], "alice");
    assert_eq!(site.bot.get("/user").await.status, 403);
    let stranger = site.client(Some(site.github.token("mallory")));
    assert_eq!(stranger.get("/repos/octo/demo").await.status, 404, "private");
    let check = json!({"name": "x", "head_sha": site.pull.head()});
    let refused = site.alice.post("/repos/octo/demo/check-runs", check).await;
    assert_eq!(refused.refused(403), "You must authenticate via a GitHub App.");
    let fine = site.client(Some(
        site.github.fine_grained_token("alice", permissions(&[("pull_requests", Level::Read)])),
    ));
    fine.get(&on_pull("")).await.ok();
    let refused = fine.post(&on_pull("/reviews"), json!({"event": "COMMENT", "body": "x"})).await;
    assert_eq!(refused.refused(403), "Resource not accessible by personal access token");
}

#[tokio::test]
async fn public_repositories_are_read_by_anybody_and_written_by_nobody_unknown() {
    let site = Site::new().await;
    site.github.public_repository("octo/open", site.work.path()).open_pull("feature", "main");
    let nobody = site.client(None);
    nobody.get("/repos/octo/open/pulls/1").await.ok();
    assert_eq!(nobody.get("/repos/octo/demo").await.status, 404);
    assert_eq!(
        nobody.post("/repos/octo/open/issues/1/comments", json!({"body": "x"})).await.status,
        401
    );
}

#[tokio::test]
async fn permission_of_a_collaborator() {
    let site = Site::new().await;
    let of = async |login: &str| {
        site.bot.get(&format!("/repos/octo/demo/collaborators/{login}/permission")).await
    };
    site.repository.collaborator("mia", fake_github::Role::Maintain);
    site.github.token("mallory");
    let pairs =
        [("alice", "write", "write"), ("mia", "write", "maintain"), ("mallory", "none", "none")];
    for (login, permission, role) in pairs {
        let answer = of(login).await.ok();
        assert_eq!(
            (&answer["permission"], &answer["role_name"]),
            (&json!(permission), &json!(role)),
            "{login}"
        );
    }
    assert_eq!(of("never-heard-of").await.status, 404);
}

/// A form, a code, one exchange: then the App is there with its key.
#[tokio::test]
async fn an_app_is_made_from_a_manifest() {
    let site = Site::new().await;
    let manifest = json!({
        "name": "My Reviewer", "url": "https://example.com", "redirect_url": "http://127.0.0.1:9/callback",
        "hook_attributes": {"url": "https://example.com/hooks"}, "public": false,
        "default_permissions": {"pull_requests": "write"}, "default_events": ["pull_request"],
    });
    let form = format!(
        "manifest={}",
        percent_encoding::utf8_percent_encode(
            &manifest.to_string(),
            percent_encoding::NON_ALPHANUMERIC
        )
    );
    let http = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .build()
        .unwrap();
    let url = format!("{}/settings/apps/new?state=abc", site.github.url());
    let answer = http.post(url).body(form).send().await.unwrap();
    assert_eq!(answer.status(), 302);
    let location = answer.headers()["location"].to_str().unwrap().to_owned();
    let code = location.split_once("code=").unwrap().1.split('&').next().unwrap().to_owned();
    assert!(
        location.starts_with("http://127.0.0.1:9/callback?code=")
            && location.ends_with("&state=abc")
    );

    let nobody = site.client(None);
    let path = format!("/app-manifests/{code}/conversions");
    let made = nobody.post(&path, Value::Null).await.ok();
    assert_eq!(
        (&made["slug"], &made["permissions"]),
        (&json!("my-reviewer"), &json!({"pull_requests": "write"}))
    );
    assert!(made["pem"].as_str().unwrap().starts_with("-----BEGIN RSA PRIVATE KEY-----\n"));
    assert!(made["webhook_secret"].is_string() && made["client_secret"].is_string());
    assert_eq!(nobody.post(&path, Value::Null).await.status, 404, "a code is good once");
}

#[tokio::test]
async fn api_versions_are_pinned() {
    let site = Site::new().await;
    let show = async |version: Option<&str>| {
        let headers: Vec<_> =
            version.map(|version| ("x-github-api-version", version)).into_iter().collect();
        site.bot.send("GET", &on_pull(""), &headers, &Value::Null).await
    };
    for (version, selected, has) in [
        (None, "2022-11-28", true),
        (Some("2022-11-28"), "2022-11-28", true),
        (Some("2026-03-10"), "2026-03-10", false),
    ] {
        let answer = show(version).await;
        assert_eq!(answer.header("x-github-api-version-selected"), selected);
        let body = answer.ok();
        assert_eq!(
            (body.get("merge_commit_sha").is_some(), body.get("assignee").is_some()),
            (has, has)
        );
    }
    assert_eq!(show(Some("2020-01-01")).await.status, 400);
}

#[tokio::test]
async fn an_enterprise_server_has_its_api_below_a_path() {
    let site = Site::new().await;
    let mut client: Client = site.bot.clone();
    client.url = format!("{}/api/v3", site.github.url());
    client.get(&on_pull("")).await.ok();
    client.url = format!("{}/api", site.github.url());
    client.graphql("{ viewer { login } }", Value::Null).await.unwrap();
}

#[tokio::test]
async fn ids_can_be_above_two_to_the_fifty_three() {
    let site = Site::new().await;
    site.github.ids_from(1 << 60);
    let made = site.bot.post("/repos/octo/demo/issues/1/comments", json!({"body": "x"})).await.ok();
    assert!(made["id"].as_u64().unwrap() > 1 << 60);
}
