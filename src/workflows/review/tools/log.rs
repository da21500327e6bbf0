//! The part of SARIF 2.1.0 that is read. Whatever may be absent is optional, since most tools leave most
//! of it out; what is not listed here is passed over.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// What is looked at before the rest is read.
#[derive(Deserialize)]
pub(super) struct Head {
    pub(super) version: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Log {
    pub(super) runs: Vec<Run>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Run {
    pub(super) tool: Tool,
    pub(super) results: Option<Vec<Outcome>>,
    pub(super) artifacts: Option<Vec<Artifact>>,
    pub(super) original_uri_base_ids: Option<BTreeMap<String, Place>>,
    pub(super) invocations: Option<Vec<Invocation>>,
}

#[derive(Deserialize)]
pub(super) struct Tool {
    pub(super) driver: Component,
    pub(super) extensions: Option<Vec<Component>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Component {
    pub(super) name: String,
    pub(super) version: Option<String>,
    pub(super) semantic_version: Option<String>,
    pub(super) rules: Option<Vec<Rule>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Rule {
    pub(super) id: String,
    pub(super) name: Option<String>,
    pub(super) short_description: Option<Message>,
    pub(super) full_description: Option<Message>,
    pub(super) message_strings: Option<BTreeMap<String, Message>>,
    pub(super) default_configuration: Option<Configuration>,
    pub(super) relationships: Option<Vec<Relationship>>,
    pub(super) properties: Option<Properties>,
}

#[derive(Deserialize)]
pub(super) struct Configuration {
    pub(super) level: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Relationship {
    pub(super) target: Reference,
}

/// Of a rule, or of what a taxonomy holds.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Reference {
    pub(super) id: Option<String>,
    pub(super) index: Option<i64>,
    pub(super) tool_component: Option<ComponentReference>,
}

#[derive(Deserialize)]
pub(super) struct ComponentReference {
    pub(super) name: Option<String>,
    pub(super) index: Option<i64>,
}

/// What tools say beside the standard, of rules and of results.
#[derive(Deserialize)]
pub(super) struct Properties {
    pub(super) tags: Option<Value>,
    pub(super) cwe: Option<Value>,
    #[serde(rename = "security-severity")]
    pub(super) security_severity: Option<Value>,
    pub(super) precision: Option<Value>,
    /// Bandit's word.
    pub(super) issue_confidence: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Invocation {
    pub(super) execution_successful: Option<bool>,
    pub(super) working_directory: Option<Place>,
}

#[derive(Deserialize)]
pub(super) struct Artifact {
    pub(super) location: Option<Place>,
}

/// Where a file is: a URI, what it is relative to, or where both stand.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Place {
    pub(super) uri: Option<String>,
    pub(super) uri_base_id: Option<String>,
    pub(super) index: Option<i64>,
}

/// A result.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Outcome {
    pub(super) rule_id: Option<String>,
    pub(super) rule_index: Option<i64>,
    pub(super) rule: Option<Reference>,
    pub(super) level: Option<String>,
    pub(super) kind: Option<String>,
    pub(super) message: Message,
    pub(super) locations: Option<Vec<Location>>,
    pub(super) code_flows: Option<Vec<CodeFlow>>,
    pub(super) suppressions: Option<Vec<Suppression>>,
    pub(super) baseline_state: Option<String>,
    pub(super) taxa: Option<Vec<Reference>>,
    pub(super) properties: Option<Properties>,
}

#[derive(Deserialize)]
pub(super) struct Message {
    pub(super) text: Option<String>,
    pub(super) id: Option<String>,
    pub(super) arguments: Option<Vec<String>>,
}

#[derive(Deserialize)]
pub(super) struct Suppression {
    pub(super) status: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CodeFlow {
    pub(super) thread_flows: Option<Vec<ThreadFlow>>,
}

#[derive(Deserialize)]
pub(super) struct ThreadFlow {
    pub(super) locations: Option<Vec<FlowLocation>>,
}

#[derive(Deserialize)]
pub(super) struct FlowLocation {
    pub(super) location: Option<Location>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Location {
    pub(super) physical_location: Option<PhysicalLocation>,
    pub(super) message: Option<Message>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PhysicalLocation {
    pub(super) artifact_location: Option<Place>,
    pub(super) region: Option<Region>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Region {
    pub(super) start_line: Option<i64>,
    pub(super) end_line: Option<i64>,
    pub(super) end_column: Option<i64>,
    pub(super) snippet: Option<Message>,
}

impl Run {
    /// The rule that a result names: by its reference, its index, or its id.
    pub(super) fn rule_of(&self, outcome: &Outcome) -> Option<&Rule> {
        let driver = &self.tool.driver;
        let extensions = || self.tool.extensions.iter().flatten();
        let reference = outcome.rule.as_ref();
        let component = reference.and_then(|r| r.tool_component.as_ref()).and_then(|c| c.index);
        let component = match component {
            Some(index) => extensions().nth(usize::try_from(index).ok()?)?,
            None => driver,
        };
        let index = reference.and_then(|r| r.index).or(outcome.rule_index);
        let rules = component.rules.as_deref().unwrap_or_default();
        let id = outcome.id();
        let named = |rule: &&Rule| id.is_none_or(|id| is_called(rule, id));
        let indexed = index.and_then(|index| rules.get(usize::try_from(index).ok()?));
        indexed.filter(named).or_else(|| {
            let all = || [driver].into_iter().chain(extensions()).flat_map(|c| c.rules.iter());
            all().flatten().find(|rule| id == Some(&*rule.id))
        })
    }
}

/// Whether `id` names the rule, or a part of it: the ids of results may go on after a slash.
fn is_called(rule: &Rule, id: &str) -> bool {
    id.strip_prefix(&*rule.id).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl Outcome {
    /// The id of its rule, if it says.
    pub(super) fn id(&self) -> Option<&str> {
        self.rule_id.as_deref().or_else(|| self.rule.as_ref()?.id.as_deref())
    }

    /// Whether it is about something wrong that is there.
    pub(super) fn is_failure(&self) -> bool {
        let kind = self.kind.as_deref().unwrap_or("fail");
        let gone = self.baseline_state.as_deref() == Some("absent");
        matches!(kind, "fail" | "open" | "review") && !gone
    }

    /// Whether the tool was told to let it pass.
    pub(super) fn is_suppressed(&self) -> bool {
        let mut all = self.suppressions.iter().flatten();
        let accepted = |s: &Suppression| s.status.as_deref().is_none_or(|word| word == "accepted");
        all.any(accepted)
    }

    /// Where values go on their way, in order.
    pub(super) fn steps(&self) -> impl Iterator<Item = &Location> {
        let flow = self.code_flows.iter().flatten().next();
        let threads = flow.and_then(|flow| flow.thread_flows.as_ref()?.first());
        let locations = threads.and_then(|thread| thread.locations.as_ref());
        locations.into_iter().flatten().filter_map(|step| step.location.as_ref())
    }
}

impl Properties {
    /// Its tags, and the weaknesses it names.
    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        let all = [&self.tags, &self.cwe].into_iter().flatten();
        all.flat_map(|value| match value {
            Value::Array(list) => list.iter().collect(),
            one => vec![one],
        })
        .filter_map(Value::as_str)
    }
}
