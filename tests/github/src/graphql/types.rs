//! The types and their fields.

use serde_json::{Value, json};

use super::{
    Problem,
    execute::Arguments,
    window::{self, Connection},
};
use crate::{
    api::identity::Identity,
    clock::written,
    world::{PullKey, World, from_node_id, node_id, repositories::Pull, reviews::ReviewComment},
};

/// Something that has fields.
#[derive(Clone, Debug)]
pub(super) enum Node {
    Query,
    Mutation,
    Repository(u64),
    Pull(PullKey),
    /// Known by its first comment.
    Thread(u64),
    ReviewComment(u64),
    IssueComment(u64),
    Review(u64),
    Actor(String),
    Commit(String),
    Connection(Box<Connection>),
    PageInfo(Box<Connection>),
    Edge(Box<Node>, usize),
    /// What a mutation gives back: names and nodes.
    Payload(&'static str, Box<Node>),
    RateLimit,
}

/// The value of a field.
pub(super) enum Resolved {
    Scalar(Value),
    Node(Node),
    List(Vec<Node>),
    Nothing,
}

type Outcome = Result<Resolved, Problem>;

fn actor(login: &str) -> Outcome {
    Ok(Resolved::Node(Node::Actor(login.to_owned())))
}

/// The name of a node's type.
pub(super) fn name(world: &World, node: &Node) -> &'static str {
    match node {
        Node::Query => "Query",
        Node::Mutation => "Mutation",
        Node::Repository(_) => "Repository",
        Node::Pull(_) => "PullRequest",
        Node::Thread(_) => "PullRequestReviewThread",
        Node::ReviewComment(_) => "PullRequestReviewComment",
        Node::IssueComment(_) => "IssueComment",
        Node::Review(_) => "PullRequestReview",
        Node::Actor(login) => {
            world.users.get(&login.to_lowercase()).map_or("User", |user| user.kind)
        }
        Node::Commit(_) => "Commit",
        Node::Connection(_) => "Connection",
        Node::PageInfo(_) => "PageInfo",
        Node::Edge(..) => "Edge",
        Node::Payload(..) => "Payload",
        Node::RateLimit => "RateLimit",
    }
}

/// Whether a fragment on a type is for a node.
pub(super) fn is_a(world: &World, node: &Node, on: &str) -> bool {
    let name = name(world, node);
    name == on
        || match on {
            "Node" => true,
            "Comment" | "Minimizable" | "Reactable" => {
                matches!(node, Node::ReviewComment(_) | Node::IssueComment(_))
            }
            "Actor" => matches!(node, Node::Actor(_)),
            _ => false,
        }
}

/// The value of a field of a node.
pub(super) fn resolve(
    world: &World,
    who: &Identity,
    node: &Node,
    field: &str,
    arguments: &Arguments,
) -> Outcome {
    let found = match node {
        Node::Query => query(world, who, field, arguments)?,
        Node::Repository(id) => repository(world, *id, field, arguments)?,
        Node::Pull(key) => pull(world, world.pull(*key), field, arguments)?,
        Node::Thread(first) => thread(world, *first, field, arguments)?,
        Node::ReviewComment(id) => review_comment(world, &world.review_comments[id], field)?,
        Node::IssueComment(id) => issue_comment(world, *id, field)?,
        Node::Review(id) => review(world, *id, field)?,
        Node::Actor(login) => person(world, login, field)?,
        Node::Commit(sha) => (field == "oid").then(|| Resolved::Scalar(json!(sha))),
        Node::Connection(window) => window.field(field),
        Node::PageInfo(window) => window.page_info(field),
        Node::Edge(inner, at) => match field {
            "node" => Some(Resolved::Node((**inner).clone())),
            "cursor" => Some(Resolved::Scalar(json!(window::cursor(*at)))),
            _ => None,
        },
        Node::Payload(name, inner) => match field {
            "clientMutationId" => Some(Resolved::Nothing),
            field if field == *name => Some(Resolved::Node((**inner).clone())),
            _ => None,
        },
        Node::RateLimit => rate_limit(world, who, field),
        Node::Mutation => None,
    };
    let unknown = || {
        Problem::invalid(format!("Field '{field}' doesn't exist on type '{}'", name(world, node)))
    };
    found.ok_or_else(unknown)
}

pub(super) type Found = Result<Option<Resolved>, Problem>;

fn found(value: Value) -> Found {
    Ok(Some(Resolved::Scalar(value)))
}

fn query(world: &World, who: &Identity, field: &str, arguments: &Arguments) -> Found {
    match field {
        "viewer" => actor(&who.login(world)).map(Some),
        "rateLimit" => Ok(Some(Resolved::Node(Node::RateLimit))),
        "repository" => {
            let (owner, name) = (arguments.text("owner"), arguments.text("name"));
            let seen = world.find_repository(owner, name).filter(|id| who.sees(world, *id));
            let missing = || {
                Problem::new(
                    "NOT_FOUND",
                    format!("Could not resolve to a Repository with the name '{owner}/{name}'."),
                )
            };
            seen.map(|id| Some(Resolved::Node(Node::Repository(id)))).ok_or_else(missing)
        }
        "node" => {
            let found = find(world, who, arguments.text("id"));
            found.map(|node| Some(Resolved::Node(node)))
        }
        _ => Ok(None),
    }
}

/// The node of an id, if whoever asks sees it.
pub(super) fn find(world: &World, who: &Identity, id: &str) -> Result<Node, Problem> {
    let missing = || {
        Problem::new(
            "NOT_FOUND",
            format!("Could not resolve to a node with the global id of '{id}'"),
        )
    };
    let (kind, number) = from_node_id(id).ok_or_else(missing)?;
    let submitted = |comment: &&ReviewComment| world.is_submitted(comment.review);
    let (node, repository) = match kind {
        "R" => (Node::Repository(number), Some(number)),
        "PR" => {
            let pull = world.pulls.values().find(|pull| pull.id == number).ok_or_else(missing)?;
            (Node::Pull(pull.key()), Some(pull.repository))
        }
        "PRRT" | "PRRC" => {
            let comment =
                world.review_comments.get(&number).filter(submitted).ok_or_else(missing)?;
            let node = if kind == "PRRT" {
                Node::Thread(comment.thread())
            } else {
                Node::ReviewComment(number)
            };
            (node, Some(comment.pull.0))
        }
        "IC" => (
            Node::IssueComment(number),
            world.issue_comments.get(&number).map(|comment| comment.pull.0),
        ),
        "PRR" => (Node::Review(number), world.reviews.get(&number).map(|review| review.pull.0)),
        _ => return Err(missing()),
    };
    repository.filter(|id| who.sees(world, *id)).map(|_| node).ok_or_else(missing)
}

fn repository(world: &World, id: u64, field: &str, arguments: &Arguments) -> Found {
    let repository = &world.repositories[&id];
    match field {
        "id" => found(json!(node_id("R", id))),
        "databaseId" => found(json!(id)),
        "name" => found(json!(repository.name)),
        "nameWithOwner" => found(json!(repository.full_name())),
        "isPrivate" => found(json!(repository.private)),
        "pullRequest" => {
            let number = arguments.number("number").unwrap_or_default();
            let missing = || {
                Problem::new(
                    "NOT_FOUND",
                    format!("Could not resolve to a PullRequest with the number of {number}."),
                )
            };
            let key = world
                .pulls
                .contains_key(&(id, number))
                .then_some((id, number))
                .ok_or_else(missing)?;
            Ok(Some(Resolved::Node(Node::Pull(key))))
        }
        _ => Ok(None),
    }
}

fn pull(world: &World, pull: &Pull, field: &str, arguments: &Arguments) -> Found {
    let key = pull.key();
    let state = if pull.merged.is_some() {
        "MERGED"
    } else if pull.open {
        "OPEN"
    } else {
        "CLOSED"
    };
    match field {
        "id" => found(json!(node_id("PR", pull.id))),
        "databaseId" => found(json!(pull.id)),
        "number" => found(json!(pull.number)),
        "title" => found(json!(pull.title)),
        "body" => found(json!(pull.body.clone().unwrap_or_default())),
        "state" => found(json!(state)),
        "isDraft" => found(json!(pull.draft)),
        "closed" => found(json!(!pull.open)),
        "merged" => found(json!(pull.merged.is_some())),
        "headRefName" => found(json!(pull.head.name)),
        "headRefOid" => found(json!(pull.head.sha)),
        "baseRefName" => found(json!(pull.base.name)),
        "baseRefOid" => found(json!(pull.base.sha)),
        "updatedAt" => found(json!(written(pull.updated_at))),
        "author" => actor(&pull.author).map(Some),
        "reviewThreads" => {
            let of = world
                .comments_of_pull(key)
                .into_iter()
                .filter(|id| world.review_comments[id].reply_to.is_none());
            Connection::page(field, of.map(Node::Thread).collect(), arguments)
        }
        "comments" => {
            let of = world.issue_comments.values().filter(|comment| comment.pull == key);
            Connection::page(
                field,
                of.map(|comment| Node::IssueComment(comment.id)).collect(),
                arguments,
            )
        }
        "reviews" => {
            let of = world.reviews_seen(key, "").into_iter();
            Connection::page(field, of.map(Node::Review).collect(), arguments)
        }
        _ => Ok(None),
    }
}

fn thread(world: &World, first: u64, field: &str, arguments: &Arguments) -> Found {
    let comment = &world.review_comments[&first];
    let original = &comment.original;
    let resolved = comment.resolved_by.as_deref();
    match field {
        "id" => found(json!(node_id("PRRT", first))),
        "isResolved" => found(json!(resolved.is_some())),
        "isOutdated" => found(json!(comment.line.is_none() && !original.file)),
        "isCollapsed" => found(json!(resolved.is_some() || comment.line.is_none())),
        "path" => found(json!(original.path)),
        "line" => found(json!(comment.line)),
        "originalLine" => found(json!(original.line)),
        "startLine" => found(json!(comment.start_line)),
        "originalStartLine" => found(json!(original.start.map(|(line, _)| line))),
        "diffSide" => found(json!(original.side.name())),
        "startDiffSide" => found(json!(original.start.map(|(_, side)| side.name()))),
        "subjectType" => found(json!(if original.file { "FILE" } else { "LINE" })),
        "resolvedBy" => {
            resolved.map_or(Ok(Some(Resolved::Nothing)), |login| actor(login).map(Some))
        }
        "comments" => {
            let nodes =
                world.comments_of_thread(first).into_iter().map(Node::ReviewComment).collect();
            Connection::page(field, nodes, arguments)
        }
        _ => Ok(None),
    }
}

fn review_comment(world: &World, comment: &ReviewComment, field: &str) -> Found {
    match field {
        "id" => found(json!(node_id("PRRC", comment.id))),
        "databaseId" => found(json!(comment.id)),
        "fullDatabaseId" => found(json!(comment.id.to_string())),
        "body" => found(json!(comment.body)),
        "path" => found(json!(comment.original.path)),
        "line" => found(json!(comment.line)),
        "originalLine" => found(json!(comment.original.line)),
        "startLine" => found(json!(comment.start_line)),
        "outdated" => found(json!(comment.line.is_none())),
        "isMinimized" => found(json!(comment.minimized.is_some())),
        "minimizedReason" => found(json!(comment.minimized)),
        "createdAt" => found(json!(written(comment.created_at))),
        "updatedAt" => found(json!(written(comment.updated_at))),
        "author" => actor(&comment.author).map(Some),
        "commit" => Ok(Some(Resolved::Node(Node::Commit(comment.commit.clone())))),
        "originalCommit" => Ok(Some(Resolved::Node(Node::Commit(comment.original_commit.clone())))),
        "pullRequestReview" => Ok(Some(Resolved::Node(Node::Review(comment.review)))),
        "replyTo" => Ok(Some(
            comment
                .reply_to
                .map_or(Resolved::Nothing, |id| Resolved::Node(Node::ReviewComment(id))),
        )),
        "url" => {
            let shape = crate::json::review_comment(world, comment);
            found(shape["html_url"].clone())
        }
        _ => Ok(None),
    }
}

fn issue_comment(world: &World, id: u64, field: &str) -> Found {
    let comment = &world.issue_comments[&id];
    match field {
        "id" => found(json!(node_id("IC", id))),
        "databaseId" => found(json!(id)),
        "fullDatabaseId" => found(json!(id.to_string())),
        "body" => found(json!(comment.body)),
        "isMinimized" => found(json!(comment.minimized.is_some())),
        "minimizedReason" => found(json!(comment.minimized)),
        "createdAt" => found(json!(written(comment.created_at))),
        "updatedAt" => found(json!(written(comment.updated_at))),
        "author" => actor(&comment.author).map(Some),
        "url" => found(crate::json::issue_comment(world, comment)["html_url"].clone()),
        _ => Ok(None),
    }
}

fn review(world: &World, id: u64, field: &str) -> Found {
    let review = &world.reviews[&id];
    match field {
        "id" => found(json!(node_id("PRR", id))),
        "databaseId" => found(json!(id)),
        "fullDatabaseId" => found(json!(id.to_string())),
        "body" => found(json!(review.body)),
        "state" => found(json!(review.state.name())),
        "submittedAt" => found(json!(review.submitted_at.map(written))),
        "author" => actor(&review.author).map(Some),
        "commit" => Ok(Some(Resolved::Node(Node::Commit(review.commit.clone())))),
        _ => Ok(None),
    }
}

/// GraphQL writes the login of a bot without `[bot]`, unlike the REST API.
fn person(world: &World, login: &str, field: &str) -> Found {
    let known = world.users.get(&login.to_lowercase());
    match field {
        "login" => found(json!(login.trim_end_matches("[bot]"))),
        "id" => found(json!(known.map(|user| node_id("U", user.id)))),
        "databaseId" => found(json!(known.map(|user| user.id))),
        "url" => found(json!(format!("{}/{login}", world.url))),
        _ => Ok(None),
    }
}

fn rate_limit(world: &World, who: &Identity, field: &str) -> Option<Resolved> {
    use crate::world::limits::Resource;
    let quota = world.limiter.quota(&who.limit_key(), Resource::Graphql, world.now());
    let value = match field {
        "cost" => json!(1),
        "limit" => json!(quota.map(|quota| quota.limit)),
        "remaining" => json!(quota.map(|quota| quota.remaining())),
        "used" => json!(quota.map(|quota| quota.used)),
        "resetAt" => json!(quota.map(|quota| written(quota.reset))),
        _ => return None,
    };
    Some(Resolved::Scalar(value))
}
