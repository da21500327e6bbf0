//! The part of SARIF 2.1.0 that a review needs, as it is serialised. The published crates hold
//! types for all of it, generated from the schema by a build script and a dozen dependencies; this
//! needs few of them, and the tests check what is written against the schema itself.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

pub(super) type Properties = Map<String, Value>;

#[derive(Serialize)]
pub(super) struct Log {
    #[serde(rename = "$schema")]
    pub(super) schema: &'static str,
    pub(super) version: &'static str,
    pub(super) runs: [Run; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Run {
    pub(super) tool: Tool,
    pub(super) invocations: [Invocation; 1],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) version_control_provenance: Vec<VersionControl>,
    pub(super) original_uri_base_ids: BTreeMap<&'static str, BaseId>,
    pub(super) column_kind: &'static str,
    pub(super) results: Vec<Found>,
    pub(super) properties: Properties,
}

#[derive(Serialize)]
pub(super) struct Tool {
    pub(super) driver: Driver,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Driver {
    pub(super) name: &'static str,
    pub(super) version: &'static str,
    pub(super) semantic_version: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) information_uri: &'static str,
    pub(super) rules: Vec<Descriptor>,
    pub(super) notifications: Vec<Descriptor>,
}

/// A rule, or a kind of notification.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Descriptor {
    pub(super) id: String,
    pub(super) short_description: Message,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) full_description: Option<Message>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) help: Option<Message>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) help_uri: Option<String>,
    pub(super) default_configuration: Configuration,
    #[serde(skip_serializing_if = "Properties::is_empty")]
    pub(super) properties: Properties,
}

#[derive(Serialize)]
pub(super) struct Configuration {
    pub(super) level: &'static str,
}

#[derive(Serialize)]
pub(super) struct Message {
    pub(super) text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) markdown: Option<String>,
}

impl Message {
    pub(super) fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), markdown: None }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Invocation {
    pub(super) execution_successful: bool,
    pub(super) tool_execution_notifications: Vec<Notification>,
}

#[derive(Serialize)]
pub(super) struct Notification {
    pub(super) descriptor: Reference,
    pub(super) level: &'static str,
    pub(super) message: Message,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) locations: Vec<Location>,
}

#[derive(Serialize)]
pub(super) struct Reference {
    pub(super) id: String,
    pub(super) index: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct VersionControl {
    pub(super) repository_uri: String,
    pub(super) revision_id: String,
    pub(super) mapped_to: MappedTo,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MappedTo {
    pub(super) uri_base_id: &'static str,
}

#[derive(Serialize)]
pub(super) struct BaseId {
    pub(super) description: Message,
}

/// A result.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Found {
    pub(super) rule_id: String,
    pub(super) rule_index: usize,
    pub(super) level: &'static str,
    pub(super) message: Message,
    pub(super) locations: [Location; 1],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) code_flows: Vec<CodeFlow>,
    pub(super) partial_fingerprints: BTreeMap<&'static str, String>,
    pub(super) rank: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) fixes: Vec<Fix>,
    pub(super) properties: Properties,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CodeFlow {
    pub(super) thread_flows: [ThreadFlow; 1],
}

#[derive(Serialize)]
pub(super) struct ThreadFlow {
    pub(super) locations: Vec<FlowLocation>,
}

#[derive(Serialize)]
pub(super) struct FlowLocation {
    pub(super) location: Location,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Location {
    pub(super) physical_location: PhysicalLocation,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<Message>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PhysicalLocation {
    pub(super) artifact_location: ArtifactLocation,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) region: Option<Region>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ArtifactLocation {
    pub(super) uri: String,
    pub(super) uri_base_id: &'static str,
}

#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
pub(super) struct Region {
    pub(super) start_line: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) start_column: Option<u32>,
    pub(super) end_line: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) end_column: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) snippet: Option<Content>,
}

#[derive(Serialize)]
pub(super) struct Content {
    pub(super) text: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Fix {
    pub(super) description: Message,
    pub(super) artifact_changes: [ArtifactChange; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ArtifactChange {
    pub(super) artifact_location: ArtifactLocation,
    pub(super) replacements: [Replacement; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Replacement {
    pub(super) deleted_region: Region,
    pub(super) inserted_content: Content,
}
