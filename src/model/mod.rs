//! Language models: one port, one structured call, and the chain of providers behind it.
//!
//! What it promises: an answer of [`complete`] fits its type, or there is an error that says what kind of failure it was and
//! what was paid all the same; whoever cancels a request stops it on the wire. What it never does: give a model a tool, send
//! a text that its caller did not hand over, or put a prompt or an answer into a log, an error or a trace. Callers mask secrets
//! before they build a prompt.
//!
//! # How a workflow gets a model
//!
//! [`App`](crate::app::App) opens the chain of `model.chain` once and holds it as `model: Option<Arc<dyn Model>>`, `None` when no
//! chain is configured. The composition root hands a clone to each workflow's `Deps` (in `app::workflows`), which keeps it as
//! that very type. A node then does
//!
//! ```ignore
//! let model = model::configured(ctx.deps().model.as_ref())?;       // a permanent fault that names the setting
//! let request = Request::new("writing.roles", INSTRUCTIONS, prompt)
//!     .cancelled_by(ctx.cancelled().clone())
//!     .reporting(move |progress| watched.progress("tokens", progress));
//! let roles = model::complete::<Roles>(model, request).await.map_err(Fault::from)?;
//! // roles.value: Roles · roles.usage: tokens and cost · roles.model · roles.incomplete
//! ```
//!
//! The chain retries by itself (`model.retries`), goes on to the next model, and waits for rate limits up to `model.max_wait`.
//! So a node that calls a model needs no retries of its own for it: what comes back transient is worth a later execution only.
//!
//! | file | is |
//! |---|---|
//! | `request.rs` | what is asked, and what is answered |
//! | `error.rs` | why there is no answer |
//! | `typed.rs` | the call everybody uses: a type in, a value of it out |
//! | `json.rs` | JSON out of what models write |
//! | `estimate.rs` | about how many tokens a text has |
//! | `options.rs` | section `model` of the settings |
//! | `price.rs` | what calls cost |
//! | `chain/` | the adapter: several providers over HTTP, one after the other |

pub mod chain;
mod error;
pub mod estimate;
mod json;
mod options;
mod price;
mod request;
mod typed;

use std::sync::Arc;

use async_trait::async_trait;

pub use self::{
    error::{FailureKind, ModelError},
    options::ModelOptions,
    price::{Cost, Prices},
    request::{Account, Answer, Correction, Finish, OutputSchema, Progress, Request, Usage},
    typed::{Completed, complete},
};
use crate::base::{Fault, Result};

/// What is behind a [`Model`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelInfo {
    /// Names the models and whatever else changes their answers, for people and for keys of memos.
    pub name: String,
    /// The most tokens of one request and its answer together.
    pub context_tokens: u64,
    /// The most tokens of one answer, unless a request says otherwise.
    pub max_output_tokens: u32,
}

/// Answers requests in JSON of a schema.
#[async_trait]
pub trait Model: Send + Sync + 'static {
    /// What answers.
    fn info(&self) -> &ModelInfo;

    /// Answers one request. What is written may not fit the schema: use [`complete`] for a value that does.
    ///
    /// # Errors
    /// With the kind of failure, whether another try may help, and what was paid.
    async fn answer(&self, request: &Request) -> Result<Answer, ModelError>;
}

/// The model, or a fault that names the setting.
///
/// # Errors
/// Permanent when no chain is configured.
pub fn configured(model: Option<&Arc<dyn Model>>) -> Result<&dyn Model> {
    let missing = || Fault::permanent("no language model is configured: set `model.chain`");
    model.map(|model| &**model).ok_or_else(missing)
}
