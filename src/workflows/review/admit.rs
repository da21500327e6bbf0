//! From an event to a review: which one, and whether the repository wants it.

use std::collections::HashSet;

use super::{
    GITHUB, Review, ReviewDeps, ReviewInput, ReviewStart, RuleInfo,
    agents::AGENTS,
    models,
    overrides::Overrides,
    settings::{self, Settings},
    tools::ToolReport,
};
use crate::{
    base::{Fault, Result, hash_hex},
    forge::{EventRequest, Occasion, Question, Resolved, ReviewRequest},
    workflows::{Admission, Event, Start, Workflow, read_input},
};

/// The event that is kept while no forge is configured: without it a change has no review.
const KEPT: &str = "pull_request";

/// What the event comes to.
pub(super) async fn admit(deps: &ReviewDeps, event: &Event) -> Result<Admission<ReviewStart>> {
    let (event, delivery, body) = match event {
        Event::Job { input, attended, .. } => {
            let input: ReviewInput = read_input(Review::NAME, input)?;
            if !attended && !input.tools.is_empty() {
                let why = "a job takes no findings of other tools; `verdict review --sarif` does";
                return Err(Fault::permanent(why));
            }
            let resolved = input.resolve(&deps.forges).await?;
            let key = input.key(&resolved.target, &deps.names());
            let agents: Vec<&str> = AGENTS.iter().map(|agent| agent.id()).collect();
            input.settings.check(&agents).map_err(Fault::permanent)?;
            return Ok(start(key, resolved, false, (input.settings, input.tools)));
        }
        Event::Webhook { event, delivery, body } => (event, delivery, body),
    };
    match deps.forges.event(GITHUB, event, body).await? {
        Some(EventRequest::Review(request)) => {
            let again = || delivery.clone().unwrap_or_else(|| hash_hex(&[body]));
            review(deps, request, again).await
        }
        Some(EventRequest::Explain(question)) => explain(deps, &question).await,
        Some(EventRequest::Cancel { subject }) => Ok(Admission::Cancel { subject }),
        Some(EventRequest::Ignore(reason)) => Ok(Admission::Ignore { reason }),
        None if event != KEPT => {
            Ok(Admission::Ignore { reason: format!("no forge is configured for `{event}` events") })
        }
        // A dead letter keeps the event until there is a forge to ask about it.
        None => Err(Fault::permanent(format!(
            "no forge is configured that a `{event}` event could be from: set github.app_id and \
             github.private_key_path, or github.token"
        ))),
    }
}

/// A review, if the settings of the base branch want it. One that somebody asked for is set apart
/// from others of the same head by the name of the asking, `again`.
async fn review(
    deps: &ReviewDeps,
    request: ReviewRequest,
    again: impl Fn() -> String,
) -> Result<Admission<ReviewStart>> {
    let ReviewRequest { locator, occasion, proposal } = request;
    if occasion != Occasion::Asked {
        let own = deps.forges.base_text(&locator, settings::FILE).await?;
        let text = match own {
            Some(text) => Some(text),
            None => deps.forges.owner_text(&locator.forge, &locator.place, settings::FILE).await?,
        };
        let triggers = Settings::triggers(text.as_deref().unwrap_or_default());
        if let Some(why) = triggers.refusal(&occasion, &proposal) {
            return Ok(Admission::Ignore { reason: format!("{}: {why}", locator.place) });
        }
    }
    let resolved = deps.forges.resolve(&locator).await?;
    let key = resolved.target.key();
    let key = if occasion == Occasion::Asked { format!("{key}#{}", again()) } else { key };
    Ok(start(key, resolved, occasion == Occasion::Pushed, Default::default()))
}

fn start(
    key: String,
    resolved: Resolved,
    settles: bool,
    (settings, tools): (Overrides, Vec<ToolReport>),
) -> Admission<ReviewStart> {
    let Resolved { target, subject, order, introduction } = resolved;
    let introduction = introduction.map(models::kept);
    let input = ReviewStart { target, settings, tools, introduction };
    Admission::Start(Start { key, subject, order, settles, input })
}

/// Explains the first rule that the question names.
async fn explain(deps: &ReviewDeps, question: &Question) -> Result<Admission<ReviewStart>> {
    // A reply has the whole comment above it as its topic, so names are compared before rules are read.
    let ids: HashSet<String> = RuleInfo::built_in_ids().collect();
    let part = |c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_');
    let named = question.topic.split(part).find(|word| ids.contains(*word));
    let text = named.and_then(RuleInfo::built_in).map_or_else(unknown, |rule| explained(&rule));
    deps.forges.answer(question, &text).await?;
    Ok(Admission::Ignore { reason: "a question was answered".to_owned() })
}

fn unknown() -> String {
    "That names no rule of verdict. Write `/verdict explain RULE` with the name that stands below a \
     finding, or reply to the finding with `/verdict explain`."
        .to_owned()
}

/// A rule as Markdown. Nothing in it comes from a change.
fn explained(rule: &RuleInfo) -> String {
    let cwe = rule.cwe.map(|number| format!(" · CWE-{number}")).unwrap_or_default();
    let mut text = format!(
        "**`{}`** · {} · {}{cwe}\n\n{}. {}\n\n{}\n",
        rule.id, rule.category, rule.severity, rule.title, rule.problem, rule.advice
    );
    for (title, examples) in [("Reported", &rule.invalid), ("Not reported", &rule.valid)] {
        if let Some(example) = examples.first().filter(|example| !example.contains("```")) {
            text.push_str(&format!("\n{title}:\n\n```\n{}\n```\n", example.trim_end()));
        }
    }
    text
}
