//! The node `query_translator`: plain words into what can be searched by.

use super::{Ctx, state::SearchParams};
use crate::{
    base::Result,
    workflows::ask::{Question, ask_model},
};

const INSTRUCTIONS: &str = "\
    You translate what somebody looks for into a search for source code repositories. Name the one \
    to four keywords that matter most, each as it would stand in a repository's name, description \
    or topics. Name a language, a range of stars, a day of creation or topics only when the query \
    itself does.";

/// Translates the query.
///
/// # Errors
/// When the model does not answer.
pub(super) async fn translate(ctx: &Ctx) -> Result<SearchParams> {
    let state = ctx.state();
    let most = state.search_mode.max_expanded_keywords();
    let related = match most {
        0 => "Name no related keywords.".to_owned(),
        most => format!("Name up to {most} related keywords: synonyms, and what is used for it."),
    };
    let question = Question {
        purpose: "search.query_translator",
        instructions: INSTRUCTIONS,
        prompt: format!("{related}\n\nThe query:\n\n{}", state.user_query),
    };
    let mut params: SearchParams = ask_model(ctx, ctx.deps().model.as_ref(), question).await?;
    for words in [&mut params.keywords, &mut params.expanded_keywords, &mut params.topics] {
        words.retain(|word| !word.trim().is_empty());
    }
    params.expanded_keywords.truncate(most);
    Ok(params)
}
