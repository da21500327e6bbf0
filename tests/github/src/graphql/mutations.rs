//! Mutations: resolve and unresolve threads, hide and show comments.

use super::{
    Problem,
    execute::Arguments,
    types::{Node, Resolved, find},
};
use crate::{
    api::identity::Identity,
    world::{World, actors::Level, repositories::Role},
};

const CLASSIFIERS: [&str; 6] = ["SPAM", "ABUSE", "OFF_TOPIC", "OUTDATED", "DUPLICATE", "RESOLVED"];

/// Runs one mutation.
pub(super) fn run(
    world: &mut World,
    who: &Identity,
    name: &str,
    arguments: &Arguments,
) -> Result<Resolved, Problem> {
    match name {
        "resolveReviewThread" => resolve(world, who, arguments.input("threadId"), true),
        "unresolveReviewThread" => resolve(world, who, arguments.input("threadId"), false),
        "minimizeComment" => {
            let classifier = arguments.input("classifier");
            if !CLASSIFIERS.contains(&classifier) {
                return Err(Problem::invalid(
                    "Argument 'classifier' on InputObject 'MinimizeCommentInput' has an invalid value",
                ));
            }
            minimize(world, who, arguments.input("subjectId"), Some(classifier.to_lowercase()))
        }
        "unminimizeComment" => minimize(world, who, arguments.input("subjectId"), None),
        _ => Err(Problem::invalid(format!("Field '{name}' doesn't exist on type 'Mutation'"))),
    }
}

fn forbidden(who: &Identity) -> Problem {
    let message = match who {
        Identity::Installation { .. } => "Resource not accessible by integration",
        _ => "Viewer does not have permission to do this",
    };
    Problem::new("FORBIDDEN", message)
}

fn resolve(
    world: &mut World,
    who: &Identity,
    id: &str,
    resolved: bool,
) -> Result<Resolved, Problem> {
    let Node::Thread(first) = find(world, who, id)? else {
        return Err(Problem::new(
            "NOT_FOUND",
            format!(
                "Could not resolve to PullRequestReviewThread node with the global id of '{id}'."
            ),
        ));
    };
    let (pull, login) = (world.review_comments[&first].pull, who.login(world));
    let may = match who {
        // An App needs to be able to write contents for it, odd as that is.
        Identity::Installation { .. } => {
            who.holds(world, Some(pull.0), "contents", Level::Write)
                && who.holds(world, Some(pull.0), "pull_requests", Level::Write)
        }
        _ => world.role(pull.0, &login) >= Some(Role::Write) || world.pull(pull).author == login,
    };
    if !may {
        return Err(forbidden(who));
    }
    world.resolve_thread(first, resolved.then_some(login.as_str()), &login);
    Ok(Resolved::Node(Node::Payload("thread", Box::new(Node::Thread(first)))))
}

fn minimize(
    world: &mut World,
    who: &Identity,
    id: &str,
    reason: Option<String>,
) -> Result<Resolved, Problem> {
    let (node, hidden) = (find(world, who, id)?, reason.is_some());
    let repository = match node {
        Node::ReviewComment(id) => world.review_comments[&id].pull.0,
        Node::IssueComment(id) => world.issue_comments[&id].pull.0,
        _ => return Err(Problem::new("NOT_FOUND", "Could not resolve to Minimizable node")),
    };
    let holds = |name| who.holds(world, Some(repository), name, Level::Write);
    let may = match who {
        Identity::Installation { .. } => holds("pull_requests") || holds("issues"),
        _ => world.role(repository, &who.login(world)) >= Some(Role::Write),
    };
    if !may {
        return Err(forbidden(who));
    }
    match &node {
        Node::ReviewComment(id) => {
            world.review_comments.entry(*id).and_modify(|found| found.minimized = reason);
        }
        Node::IssueComment(id) => {
            world.issue_comments.entry(*id).and_modify(|found| found.minimized = reason);
        }
        _ => {}
    }
    let field = if hidden { "minimizedComment" } else { "unminimizedComment" };
    Ok(Resolved::Node(Node::Payload(field, Box::new(node))))
}
