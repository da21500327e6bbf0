//! Webhook bodies in the shape of GitHub's, of every kind there is: made here, or read from a folder
//! of real ones.
//!
//! Made ones have the usual fields of their event, with what real ones are known for: fields that are
//! missing or null, users that are gone, ids that no float holds, texts in any script with anything
//! escaped, and now and then a body of a megabyte. The same number gives the same bodies each time.

use std::{collections::HashMap, fs, path::Path};

use fastrand::Rng;
use serde::Deserialize;
use serde_json::{Map, Value};
use verdict::queue::Webhook;

/// A folder that holds `index.json` files, at any depth: lists of `{"name", "examples"}`.
const FOLDER: &str = "VERDICT_TEST_WEBHOOKS_DIR";
/// One in so many is large.
const LARGE: usize = 1000;

/// Event, its actions, and its fields beside `action` and `sender`. `?` marks those that may be
/// missing or null.
const EVENTS: &[(&str, &str, &str)] = &[
    ("branch_protection_configuration", "enabled disabled", "repository"),
    ("branch_protection_rule", "created edited deleted", "rule changes? repository organization?"),
    ("check_run", "created completed rerequested requested_action", "check_run repository"),
    ("check_suite", "completed requested rerequested", "check_suite repository installation?"),
    ("code_scanning_alert", "created fixed reopened", "alert ref commit_oid:sha repository"),
    ("commit_comment", "created", "comment repository"),
    ("create", "", "ref ref_type:word master_branch:word description? repository"),
    ("custom_property_values", "updated", "new_property_values:[label] repository"),
    ("delete", "", "ref ref_type:word pusher_type:word repository"),
    ("dependabot_alert", "created dismissed fixed", "alert repository organization?"),
    ("deploy_key", "created deleted", "key repository"),
    ("deployment", "created", "deployment workflow? workflow_run? repository"),
    ("deployment_protection_rule", "requested", "environment:word deployment pull_requests:[stub]"),
    ("deployment_review", "approved rejected requested", "since:time workflow_run repository"),
    ("deployment_status", "created", "deployment_status deployment check_run? repository"),
    ("discussion", "created edited answered labeled", "discussion label? changes? repository"),
    ("discussion_comment", "created edited deleted", "comment discussion repository"),
    ("fork", "", "forkee:repository repository"),
    ("github_app_authorization", "revoked", ""),
    ("gollum", "", "pages:[page] repository"),
    ("installation", "created deleted suspend", "installation repositories:[stub] requester?"),
    ("installation_repositories", "added removed", "installation repositories_added:[stub]"),
    ("installation_target", "renamed", "account:user changes target_type:word installation"),
    ("issue_comment", "created edited deleted", "issue comment changes? repository installation?"),
    (
        "issues",
        "opened edited labeled closed transferred",
        "issue label? assignee:user? repository",
    ),
    ("label", "created edited deleted", "label changes? repository"),
    ("marketplace_purchase", "purchased cancelled", "marketplace_purchase effective_date:time"),
    ("member", "added removed edited", "member:user changes? repository"),
    ("membership", "added removed", "scope:word member:user team organization"),
    ("merge_group", "checks_requested destroyed", "merge_group repository"),
    ("meta", "deleted", "hook_id:id hook repository?"),
    ("milestone", "created closed opened", "milestone changes? repository"),
    ("org_block", "blocked unblocked", "blocked_user:user organization"),
    ("organization", "member_added renamed", "membership:stub organization"),
    ("package", "published updated", "package repository?"),
    ("page_build", "", "id build repository"),
    ("personal_access_token_request", "created denied", "personal_access_token_request:stub"),
    ("ping", "", "zen:text hook_id:id hook repository?"),
    ("project", "created closed", "project:card repository?"),
    ("project_card", "created moved", "project_card:card changes? repository"),
    ("project_column", "created deleted", "project_column:card repository"),
    ("projects_v2", "created closed", "projects_v2:card organization"),
    ("projects_v2_item", "edited archived", "projects_v2_item:card changes? organization"),
    ("public", "", "repository"),
    ("pull_request", "opened synchronize closed labeled", "number pull_request label? repository"),
    ("pull_request_review", "submitted dismissed", "review pull_request repository"),
    ("pull_request_review_comment", "created", "comment pull_request changes? repository"),
    ("pull_request_review_thread", "resolved unresolved", "thread pull_request repository"),
    (
        "push",
        "",
        "ref before:sha after:sha created:flag commits:[commit] head_commit:commit? repository",
    ),
    ("registry_package", "published", "registry_package:package repository?"),
    ("release", "published edited released", "release changes? repository"),
    ("repository", "created renamed archived", "repository changes? organization?"),
    ("repository_advisory", "published reported", "repository_advisory:alert repository"),
    ("repository_dispatch", "on-demand", "branch:word client_payload? repository installation"),
    ("repository_import", "", "status:word repository"),
    ("repository_ruleset", "created edited", "repository_ruleset:rule changes? repository"),
    ("repository_vulnerability_alert", "create resolve", "alert repository"),
    ("secret_scanning_alert", "created resolved", "alert repository installation?"),
    ("secret_scanning_alert_location", "created", "alert location:page repository"),
    ("security_advisory", "published withdrawn", "security_advisory:alert"),
    ("security_and_analysis", "", "changes repository"),
    ("sponsorship", "created cancelled", "sponsorship:marketplace_purchase changes?"),
    ("star", "created deleted", "starred_at:time? repository"),
    ("status", "", "id sha name:word target_url:url? state:word commit branches:[stub] repository"),
    (
        "sub_issues",
        "sub_issue_added",
        "sub_issue_id:id sub_issue:issue parent_issue:issue? repository",
    ),
    ("team", "created edited deleted", "team changes? repository? organization"),
    ("team_add", "", "team repository organization"),
    ("watch", "started", "repository"),
    ("workflow_dispatch", "", "inputs:client_payload? ref workflow:url repository"),
    ("workflow_job", "queued in_progress completed", "workflow_job:job repository"),
    ("workflow_run", "requested completed", "workflow workflow_run repository"),
];

/// What the fields are made of. No shape holds itself.
const SHAPES: &[(&str, &str)] = &[
    (
        "alert",
        "number state:word severity:word rule:stub html_url:url dismissed_by:user? cvss:changes?",
    ),
    ("build", "url status:word error:changes pusher:user commit:sha duration:number"),
    ("card", "id node_id:sha title:text? note:body? column_url:url creator:user? archived:flag"),
    ("changes", "from:text? body:text? added:word?"),
    (
        "check_run",
        "id head_sha:sha status:word conclusion:word? output:page check_suite pull_requests:[stub]",
    ),
    (
        "check_suite",
        "id head_branch:word? head_sha:sha before:sha? pull_requests:[stub] app:stub? head_commit:commit",
    ),
    ("client_payload", "unit:flag any:text nested:changes"),
    (
        "comment",
        "id node_id:sha body path:word? line:number? user? diff_hunk:body? html_url:url created_at:time",
    ),
    (
        "commit",
        "id:sha tree_id:sha message:body timestamp:time author committer added:[word] removed:[word] modified:[word]",
    ),
    ("author", "name:text email:text username:word?"),
    ("committer", "name:text email:text username:word?"),
    (
        "deployment",
        "id sha ref task:word payload:client_payload environment:word description? creator:user?",
    ),
    (
        "deployment_status",
        "id state:word creator:user? description? target_url:url environment:word",
    ),
    (
        "discussion",
        "id number title:text body user? labels:[label] answer_html_url:url? comments:number",
    ),
    ("hook", "type:word id active:flag events:[word] config:page"),
    (
        "installation",
        "id node_id:sha account:user? permissions:changes events:[word] suspended_at:time?",
    ),
    (
        "issue",
        "id number title:text body? user? labels:[label] assignees:[user] milestone? pull_request:stub? reactions:changes comments:number created_at:time closed_at:time?",
    ),
    (
        "job",
        "id run_id:id head_sha:sha status:word conclusion:word? steps:[page] labels:[word] runner_name:word?",
    ),
    ("key", "id key:body title:text verified:flag read_only:flag"),
    ("label", "id name:text color:word description? default:flag"),
    (
        "marketplace_purchase",
        "account:user billing_cycle:word unit_count:number plan:stub next_billing_date:time?",
    ),
    ("merge_group", "head_sha:sha head_ref:word base_sha:sha head_commit:commit"),
    ("milestone", "id number title:text description? creator:user? due_on:time? state:word"),
    ("organization", "login:word id node_id:sha url description?"),
    ("package", "id name:word package_type:word package_version:release owner:user registry:stub?"),
    ("page", "title:text? summary:body? name:word html_url:url? number"),
    (
        "pull_request",
        "id number state:word locked:flag title:text user? body? labels:[label] head:branch base:branch draft:flag merged:flag? mergeable:flag? requested_reviewers:[user] milestone? merge_commit_sha:sha? auto_merge:changes? additions:number created_at:time updated_at:time",
    ),
    ("branch", "label:text ref:word sha user? repo:repository?"),
    (
        "release",
        "id tag_name:word name:text? body? draft:flag author:user? assets:[page] created_at:time",
    ),
    (
        "repository",
        "id node_id:sha name:word full_name:word private:flag owner:user html_url:url description? fork:flag topics:[word] license:stub? custom_properties:changes? default_branch:word stargazers_count:number pushed_at:time",
    ),
    ("requester", "login:word id:wide type:word"),
    ("review", "id user? body? commit_id:sha submitted_at:time? state:word"),
    ("rule", "id name:text enforcement:word conditions:changes? required_status_checks:[word]"),
    ("stub", "id name:word url full_name:word?"),
    ("team", "id name:text slug:word parent:stub? privacy:word permission:word"),
    ("thread", "node_id:sha comments:[comment]"),
    ("user", "login:word id:wide node_id:sha avatar_url:url type:word site_admin:flag email:text?"),
    ("workflow", "id name:text path:word state:word badge_url:url"),
    (
        "workflow_run",
        "id name:text? head_branch:word? head_sha:sha event:word conclusion:word? actor:user? pull_requests:[stub] head_commit:commit repository",
    ),
];

const WORDS: &[&str] =
    &["main", "octocat", "Hello-World", "v1.2.3", "feature/ünïcode", "CON", "", "null", "0"];

const TEXTS: &[&str] = &[
    "Update README.md",
    "Fix \"quotes\", \\backslashes\\ and\ttabs",
    "日本語のタイトル — \u{202e}backwards\u{202c}",
    "🦀👩‍👩‍👧‍👦 \u{0}nul \u{1b}[31mred \u{feff}mark \u{2028}line",
    "<script>alert(1)</script> /verdict review @everyone fixes #1",
    "a\r\nb\nc",
    "{\"workflow\":\"play\",\"input\":{}}",
    "",
];

/// A source of webhooks without end.
pub struct Webhooks {
    real: Vec<(String, Vec<u8>)>,
    shapes: HashMap<&'static str, &'static str>,
}

impl Webhooks {
    /// Those of the folder that [`FOLDER`] names, or made ones.
    pub fn new() -> Self {
        let real = std::env::var_os(FOLDER).map(|folder| examples(Path::new(&folder)));
        let real = real.unwrap_or_default();
        assert!(std::env::var_os(FOLDER).is_none() || !real.is_empty(), "{FOLDER} has no examples");
        Self { real, shapes: SHAPES.iter().copied().collect() }
    }

    /// How they come about, for the figures.
    pub fn kind(&self) -> String {
        match self.real.len() {
            0 => format!("made, {} kinds of event", EVENTS.len()),
            real => format!("{real} real ones"),
        }
    }

    /// The webhook of that number.
    pub fn nth(&self, nth: usize) -> Webhook {
        let (event, body) = match self.real.get(nth % self.real.len().max(1)) {
            Some((event, body)) => (event.clone(), body.clone()),
            None => self.made(nth),
        };
        // GitHub's own look like this.
        let delivery = Some(format!("{nth:08x}-0000-11f0-8000-{nth:012x}"));
        Webhook { event, delivery, body: body.into() }
    }

    fn made(&self, nth: usize) -> (String, Vec<u8>) {
        let mut rng = Rng::with_seed(nth as u64);
        let (event, actions, fields) = EVENTS[nth % EVENTS.len()];
        let mut body = self.object(fields, &mut rng);
        if !actions.is_empty() {
            let actions: Vec<_> = actions.split(' ').collect();
            body.insert("action".to_owned(), actions[rng.usize(..actions.len())].into());
        }
        body.insert("sender".to_owned(), self.value("user", &mut rng));
        if nth % LARGE == LARGE - 1 {
            let commit = self.value("commit", &mut rng);
            body.insert("commits".to_owned(), vec![commit; 2000].into());
        }
        (event.to_owned(), serde_json::to_vec(&body).unwrap())
    }

    /// `name`, `name:shape`, `name:[shape]`, each with `?` or without.
    fn object(&self, fields: &str, rng: &mut Rng) -> Map<String, Value> {
        let mut object = Map::new();
        for field in fields.split_whitespace() {
            let required = field.trim_end_matches('?');
            let (name, shape) = required.split_once(':').unwrap_or((required, required));
            let value = match (field == required, rng.u8(..4)) {
                (false, 0) => continue,
                (false, 1) => Value::Null,
                _ => self.value(shape, rng),
            };
            object.insert(name.to_owned(), value);
        }
        object
    }

    fn value(&self, shape: &str, rng: &mut Rng) -> Value {
        if let Some(of) = shape.strip_prefix('[') {
            let of = of.trim_end_matches(']');
            return (0..rng.usize(..4)).map(|_| self.value(of, rng)).collect();
        }
        let text = |rng: &mut Rng| TEXTS[rng.usize(..TEXTS.len())];
        match shape {
            "id" | "wide" => (rng.u64(..) >> rng.u32(..60)).into(),
            "number" => rng.u32(..100_000).into(),
            "flag" => rng.bool().into(),
            "sha" => format!("{:040x}", rng.u128(..)).into(),
            "time" => format!("20{:02}-02-28T23:59:{:02}Z", rng.u8(10..40), rng.u8(..60)).into(),
            "url" => format!("https://api.github.com/repos/o/r/{}{{/sha}}", rng.u32(..)).into(),
            "word" | "ref" => WORDS[rng.usize(..WORDS.len())].into(),
            "text" | "description" => text(rng).into(),
            "body" => text(rng).repeat(rng.usize(1..60)).into(),
            shape => {
                let fields = self.shapes.get(shape);
                let fields = fields.unwrap_or_else(|| panic!("there is no shape `{shape}`"));
                self.object(fields, rng).into()
            }
        }
    }
}

#[derive(Deserialize)]
struct Kind {
    name: String,
    examples: Vec<Value>,
}

/// The examples below a folder: event and body.
pub fn examples(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            found.extend(examples(&path));
        } else if path.file_name().is_some_and(|name| name == "index.json") {
            let kinds: Vec<Kind> = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            for Kind { name, examples } in kinds {
                let bodies = examples.iter().map(|body| serde_json::to_vec(body).unwrap());
                found.extend(bodies.map(|body| (name.clone(), body)));
            }
        }
    }
    found
}

/// Every kind can be made, and what is made is what the queue takes for a webhook.
#[test]
fn made_webhooks_are_of_every_kind_and_always_the_same() {
    let webhooks = Webhooks { real: Vec::new(), ..Webhooks::new() };
    let kinds = EVENTS.len();
    for nth in 0..20 * kinds {
        let webhook = webhooks.nth(nth);
        assert_eq!(webhook.event, EVENTS[nth % kinds].0);
        assert_eq!(webhook, webhooks.nth(nth));
        let body: Map<String, Value> = serde_json::from_slice(&webhook.body).unwrap();
        assert!(body.contains_key("sender"), "{nth}");
    }
    assert!(webhooks.nth(LARGE - 1).body.len() > 500_000);
}
