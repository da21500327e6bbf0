//! Runs about the same subject: the newest counts, and one that is current again goes on.

use std::sync::Arc;

use super::{Outcome, Runs, WorkResult, drive::Reopen, metrics};
use crate::{
    base::Result,
    graph::{
        Head, ReopenFrom, RunStatus,
        store::{Cancelled, RunFilter},
    },
    workflows::AnyWorkflow,
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

    /// From where a run that a newer head overtook goes on, now that its own is current again: unless a
    /// newer run is there.
    pub(super) async fn current_again(
        &self,
        workflow: &Arc<dyn AnyWorkflow>,
        head: &Head,
    ) -> Result<Option<Reopen>> {
        if head.subject.is_none()
            || !matches!(head.status, RunStatus::Superseded | RunStatus::Completed)
        {
            return Ok(None);
        }
        let filter = RunFilter { subject: head.subject.clone(), ..RunFilter::default() };
        let mut others = self.store().list(&filter).await?;
        others.retain(|other| other.id != head.id && other.status != RunStatus::Superseded);
        if others.iter().any(|other| other.order > head.order) {
            return Ok(None);
        }
        let from = match head.status {
            RunStatus::Completed => {
                let another = others.iter().any(|other| other.status == RunStatus::Completed);
                match workflow.overtaken(&self.runtime, &head.id, another).await? {
                    Some(node) => ReopenFrom::Node(node),
                    None => return Ok(None),
                }
            }
            _ => ReopenFrom::Failed,
        };
        Ok(Some(("it is current again".to_owned(), from)))
    }
}
