//! What no webhook brought: deliveries in the App's log that nobody took, and pull requests that are
//! open.

use std::collections::HashSet;

use bytes::Bytes;
use serde_json::{Value, json};

use super::{
    Access, GitHub,
    client::Call,
    model::{AppInstallation, DeliveryRow, Pull, WholeDelivery},
};
use crate::base::Result;

/// A delivery in the App's log of which no attempt was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undelivered {
    /// The event's name.
    event: String,
    /// GitHub's id of the delivery, the same for each attempt.
    pub delivery: String,
    /// GitHub's id of the attempt.
    attempt: u64,
}

/// An event that was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissedEvent {
    /// Its name.
    pub event: String,
    /// GitHub's id of the delivery.
    pub delivery: String,
    /// Its body, JSON.
    pub body: Bytes,
}

/// An open pull request, in the form of the event that asks for its review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenPull {
    /// What reviews of it are about, as their runs say.
    pub subject: String,
    /// Its head.
    pub head: String,
    /// The event that opening it again would send. Its delivery id is the same for as long as nothing
    /// about the pull request changes.
    pub event: MissedEvent,
}

impl GitHub {
    /// What names deliveries that come through this App; `None` without an App.
    pub fn webhook_source(&self) -> Option<String> {
        self.client.app().map(|id| id.to_string())
    }

    /// Deliveries in the App's log of which no attempt was taken, oldest first.
    ///
    /// # Errors
    /// When GitHub does not answer.
    pub async fn undelivered(&self) -> Result<Vec<Undelivered>> {
        let rows: Vec<DeliveryRow> = self.client.app_pages("/app/hook/deliveries").await?;
        let taken: HashSet<&str> =
            rows.iter().filter(|row| row.was_taken()).map(|row| row.guid.as_str()).collect();
        let mut seen = HashSet::new();
        let lost = |row: &&DeliveryRow| !taken.contains(row.guid.as_str()) && !row.is_pending();
        let lost = rows.iter().rev().filter(lost).filter(|row| seen.insert(row.guid.as_str()));
        let undelivered = |row: &DeliveryRow| Undelivered {
            event: row.event.clone(),
            delivery: row.guid.clone(),
            attempt: row.id,
        };
        Ok(lost.map(undelivered).collect())
    }

    /// The event of such a delivery.
    ///
    /// # Errors
    /// When GitHub does not answer.
    pub async fn missed(
        &self,
        Undelivered { event, delivery, attempt }: Undelivered,
    ) -> Result<MissedEvent> {
        let path = format!("/app/hook/deliveries/{attempt}");
        let whole: WholeDelivery = self.client.app_json(Call::get(path)).await?;
        let body = Bytes::from(whole.request.payload.to_string());
        Ok(MissedEvent { event, delivery, body })
    }

    /// The repositories on which the App is installed, as `owner/repo`.
    ///
    /// # Errors
    /// When GitHub does not answer.
    pub async fn repositories(&self) -> Result<Vec<String>> {
        let mut all = Vec::new();
        let installations: Vec<AppInstallation> =
            self.client.app_pages("/app/installations").await?;
        for installation in installations.iter().filter(|one| one.suspended_at.is_none()) {
            all.extend(self.client.repositories_of(installation).await?);
        }
        Ok(all)
    }

    /// The open pull requests of a repository.
    ///
    /// # Errors
    /// When there is no such repository, or GitHub does not answer.
    pub async fn open_pulls(&self, repository: &str) -> Result<Vec<OpenPull>> {
        let place = super::place_of(&format!("{repository}#1"))?;
        let access: Access = self.access(&place);
        let path = format!("/repos/{repository}/pulls?state=open");
        let pulls: Vec<Pull> = self.client.pages(&access, &path).await?;
        let open = |pull: Pull| {
            let place = super::PullPlace { number: pull.number, ..place.clone() };
            let (head, at) = (pull.head.sha, pull.updated_at.as_millisecond());
            let body: Value = json!({
                "action": "reopened",
                "number": pull.number,
                "repository": { "full_name": repository },
            });
            let event = MissedEvent {
                event: "pull_request".to_owned(),
                delivery: format!("open-{place}-{at}-{head}").to_ascii_lowercase(),
                body: Bytes::from(body.to_string()),
            };
            OpenPull { subject: self.subject(&place), head, event }
        };
        Ok(pulls.into_iter().map(open).collect())
    }
}
