//! Runs about the same subject: the newest counts, and one that is current again goes on.

use super::{Drive, Outcome, Runs, WorkResult, metrics};
use crate::{
    base::Result,
    graph::{
        Head, ReopenFrom, RunStatus,
        store::{Cancelled, RunFilter},
    },
};

impl Runs {
    /// Ends the runs of a subject, and shows that.
    pub(super) async fn cancel_subject(
        &self,
        workflow: &str,
        subject: String,
    ) -> Result<WorkResult> {
        // Cancelled ones too: a crash may have come before their end was shown.
        let filter = RunFilter {
            statuses: vec![
                RunStatus::Queued,
                RunStatus::Running,
                RunStatus::Parked,
                RunStatus::Cancelled,
            ],
            workflow: Some(workflow.to_owned()),
            subject: Some(subject),
            ..RunFilter::default()
        };
        for head in self.store().list(&filter).await? {
            if head.status != RunStatus::Cancelled {
                match self.runtime.cancel(&head.id, "an event on its subject").await? {
                    Cancelled::Done => metrics::ended(&head, RunStatus::Cancelled, self.now()),
                    // It was quicker.
                    Cancelled::Final(_) | Cancelled::Missing => continue,
                }
            }
            self.show_logged(&head.id, (RunStatus::Cancelled, "")).await;
        }
        Ok(Outcome::Done.into())
    }

    /// A run that a newer head overtook is asked for again: it goes on, unless a newer one is there.
    pub(super) async fn current_again(
        &self,
        head: Head,
        from: ReopenFrom,
        drive: &Drive,
    ) -> Result<WorkResult> {
        let filter = RunFilter { subject: head.subject.clone(), ..RunFilter::default() };
        let others = self.store().list(&filter).await?;
        let newer = |other: &Head| {
            other.id != head.id && other.order > head.order && other.status != RunStatus::Superseded
        };
        if head.subject.is_none() || others.iter().any(newer) {
            return Ok(Outcome::Done.into());
        }
        let reopen = ("it is current again".to_owned(), from);
        self.take_up(head, Some(reopen), drive).await
    }
}
