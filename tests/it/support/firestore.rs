//! Google's Firestore emulator.
//!
//! The shared one keeps the tests apart by project: each has one of its own, with a random name.
//! What a test made there stays until the emulator ends, in a project that nobody names again.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use verdict::{
    base::Clock,
    checkpoint::{FirestoreOptions, FirestoreStore},
};

use super::service::Service;

/// An emulator and a project on it. One that is private ends with it.
pub struct Firestore {
    address: String,
    project: String,
    http: reqwest::Client,
    service: Option<Service>,
}

impl Firestore {
    /// The one of the whole test run.
    pub fn shared() -> Self {
        Self::at(super::told("VERDICT_TEST_FIRESTORE"), None)
    }

    /// The same, and a project that another process has made.
    pub fn named(project: &str) -> Self {
        Self { project: project.to_owned(), ..Self::shared() }
    }

    /// One of this test's own, to be broken.
    pub async fn private() -> Self {
        let mut service = Service::new("firestore");
        let told = service.start().await;
        Self::at(told["VERDICT_TEST_FIRESTORE"].clone(), Some(service))
    }

    fn at(address: String, service: Option<Service>) -> Self {
        Self { address, project: super::unique(), http: reqwest::Client::new(), service }
    }

    /// `HOST:PORT`: what FIRESTORE_EMULATOR_HOST holds, or the target of a proxy.
    pub fn address(&self) -> &str {
        &self.address
    }

    pub fn project(&self) -> &str {
        &self.project
    }

    /// A store in the project, which tells the time by `clock`, if any.
    pub async fn store(&self, clock: Option<Clock>) -> FirestoreStore {
        let options = FirestoreOptions {
            emulator: Some(self.address.clone()),
            clock,
            // A busy machine is no outage.
            timeout: super::PATIENCE,
            ..FirestoreOptions::new(&self.project, "(default)")
        };
        FirestoreStore::connect(options).await.unwrap()
    }

    /// Who is no owner may, from now on, do what these rules let them: `allow read: if true;`.
    pub async fn set_rules(&self, rules: &str) {
        let everywhere = "match /databases/{database}/documents/{document=**}";
        let rules = format!(
            "rules_version = '2'; service cloud.firestore {{ {everywhere} {{ {rules} }} }}"
        );
        let files = json!({"rules": {"files": [{"name": "rules", "content": rules}]}});
        let (address, project) = (&self.address, &self.project);
        let url = format!("http://{address}/emulator/v1/projects/{project}:securityRules");
        let request = self.http.put(url).header("content-type", "application/json");
        let answer = request.body(files.to_string()).send().await.unwrap();
        answer.error_for_status().unwrap();
    }

    /// What makes somebody a user, for whom the rules are: a token that nobody has signed.
    pub fn user() -> String {
        let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
        format!("{}.{}.", part(json!({"alg": "none", "typ": "JWT"})), part(json!({"sub": "user"})))
    }

    /// How many documents there are in collections of this name, wherever they are, as the service
    /// has them.
    pub async fn count(&self, collection: &str) -> usize {
        self.find(collection, Some(json!({"fields": [{"fieldPath": "__name__"}]}))).await.len()
    }

    /// All of these documents, as the service has them.
    pub async fn documents(&self, collection: &str) -> Vec<Value> {
        self.find(collection, None).await
    }

    async fn find(&self, collection: &str, select: Option<Value>) -> Vec<Value> {
        let from = json!([{"collectionId": collection, "allDescendants": true}]);
        let mut query = json!({"from": from});
        if let Some(select) = select {
            query["select"] = select;
        }
        let query = json!({"structuredQuery": query}).to_string();
        let (address, project) = (&self.address, &self.project);
        let place = format!("projects/{project}/databases/(default)/documents");
        let request = self.http.post(format!("http://{address}/v1/{place}:runQuery")).body(query);
        // Whom the emulator lets do anything.
        let answer = request.header("authorization", "Bearer owner").send().await.unwrap();
        let answer = answer.error_for_status().unwrap().text().await.unwrap();
        let rows: Vec<Value> = serde_json::from_str(&answer).unwrap();
        rows.into_iter().filter_map(|mut row| Some(row.get_mut("document")?.take())).collect()
    }

    /// Its connections stay open, and nothing answers. Private ones only, as everything below.
    pub fn freeze(&self) {
        self.service.as_ref().unwrap().freeze();
    }

    /// It goes on where it stood.
    pub fn thaw(&self) {
        self.service.as_ref().unwrap().thaw();
    }
}
