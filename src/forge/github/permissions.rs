//! What verdict needs of an App, what it was granted, and what is lost without.

use std::collections::BTreeMap;

use super::{
    GitHub,
    client::Call,
    model::{AppInfo, AppInstallation},
};
use crate::base::Result;

/// A permission: its name, the level, and what there is not without it.
struct Needed {
    name: &'static str,
    level: &'static str,
    /// Whether nothing works without it.
    vital: bool,
    lost: &'static str,
}

const NEEDED: &[Needed] = &[
    Needed { name: "metadata", level: "read", vital: true, lost: "nothing can be read" },
    Needed { name: "contents", level: "read", vital: true, lost: "changes cannot be fetched" },
    Needed { name: "pull_requests", level: "write", vital: true, lost: "no review is published" },
    Needed {
        name: "checks",
        level: "write",
        vital: false,
        lost: "there is no check run to require, and none on merge groups",
    },
    Needed {
        name: "issues",
        level: "write",
        vital: false,
        lost: "commands in comments get no reaction and no answer",
    },
];

/// The events an App has to ask for, and what does not happen without each.
const EVENTS: &[(&str, &str)] = &[
    ("pull_request", "nothing is reviewed by itself"),
    ("issue_comment", "commands in comments are not seen"),
    ("pull_request_review_comment", "commands below findings are not seen"),
    ("check_run", "\"Re-run\" on the check does nothing"),
    ("merge_group", "a merge queue that requires the check stalls"),
];

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Granted {
    /// What: `app`, or the account of an installation.
    pub of: String,
    /// What there is, and what is lost; an error when reviews cannot work.
    pub found: Result<String, String>,
}

/// What an App's manifest asks for.
pub(super) fn asked_for() -> (BTreeMap<&'static str, &'static str>, Vec<&'static str>) {
    let permissions = NEEDED.iter().map(|needed| (needed.name, needed.level)).collect();
    (permissions, EVENTS.iter().map(|(name, _)| *name).collect())
}

impl GitHub {
    /// Who verdict is on GitHub, and for each installation what it lacks.
    ///
    /// # Errors
    /// When GitHub does not answer, or does not know who asks.
    pub async fn granted(&self) -> Result<Vec<Granted>> {
        if self.client.app().is_none() {
            let login = self.client.login().await?;
            let found = match login.as_str() {
                "" => Err("neither github.app_id nor github.token is set: nothing can be \
                           published"
                    .to_owned()),
                _ => Ok(format!("the token of {login}; check runs need an App")),
            };
            return Ok(vec![Granted { of: "account".to_owned(), found }]);
        }
        let app: AppInfo = self.client.app_json(Call::get("/app")).await?;
        let deaf: Vec<String> = EVENTS
            .iter()
            .filter(|(name, _)| !app.events.iter().any(|event| event == name))
            .map(|(name, lost)| format!("does not ask for the event `{name}`: {lost}"))
            .collect();
        let mut rows = vec![Granted {
            of: "app".to_owned(),
            found: Ok(listed(&format!("{} (id {})", app.slug, app.id), &deaf)),
        }];
        let installations: Vec<AppInstallation> =
            self.client.app_pages("/app/installations").await?;
        if installations.is_empty() {
            let found =
                Err("it is installed nowhere: install it on the repositories to review".to_owned());
            rows.push(Granted { of: "installations".to_owned(), found });
        }
        rows.extend(installations.iter().map(row));
        Ok(rows)
    }
}

fn row(installation: &AppInstallation) -> Granted {
    let of = installation.account.login.clone();
    if installation.suspended_at.is_some() {
        return Granted { of, found: Err("the installation is suspended".to_owned()) };
    }
    let missing = || NEEDED.iter().filter(|needed| !has(installation, needed));
    let lacks: Vec<String> = missing()
        .map(|needed| format!("lacks {}: {} ({})", needed.name, needed.level, needed.lost))
        .collect();
    let text = listed("installed", &lacks);
    let vital = missing().any(|needed| needed.vital);
    Granted { of, found: if vital { Err(text) } else { Ok(text) } }
}

fn listed(what: &str, lacks: &[String]) -> String {
    match lacks {
        [] => format!("{what}, with all it needs"),
        _ => format!("{what}; {}", lacks.join("; ")),
    }
}

fn has(installation: &AppInstallation, needed: &Needed) -> bool {
    let granted = installation.permissions.get(needed.name).map(String::as_str);
    granted == Some("write") || granted == Some("admin") || granted == Some(needed.level)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forge::github::model::Account;

    #[test]
    fn what_is_missing_is_named_with_what_is_lost() {
        let with = |permissions: &[(&str, &str)]| {
            let pair = |(name, level): &(&str, &str)| ((*name).to_owned(), (*level).to_owned());
            row(&AppInstallation {
                id: 1,
                account: Account { login: "octo".to_owned(), kind: None },
                permissions: permissions.iter().map(pair).collect(),
                suspended_at: None,
            })
        };
        let all = [
            ("metadata", "read"),
            ("contents", "write"),
            ("pull_requests", "write"),
            ("checks", "write"),
            ("issues", "write"),
        ];
        assert_eq!(with(&all).found.unwrap(), "installed, with all it needs");
        let text = with(&all[..3]).found.unwrap();
        assert!(text.contains("checks: write") && text.contains("issues: write"), "{text}");
        let read = [("metadata", "read"), ("contents", "read"), ("pull_requests", "read")];
        let text = with(&read).found.unwrap_err();
        assert!(text.contains("no review is published"), "{text}");
    }
}
