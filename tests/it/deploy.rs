//! What `deploy/` and the Dockerfile say, held against what verdict is: rendered by `kubectl kustomize`, which
//! needs no cluster, and read as data. The settings of every container are loaded as verdict would.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use regex::Regex;
use serde_json::{Map, Value, json};
use verdict::{
    config::{Settings, StoreUrl, known_keys, variable_of},
    queue::{amqp, pubsub},
};

const OVERLAYS: &[&str] = &["rabbitmq", "pubsub"];

/// What a container may be told beside verdict's own settings.
const FOREIGN: &[&str] = &["RUST_LOG"];

fn in_project(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn read(path: &str) -> String {
    fs::read_to_string(in_project(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The text at a JSON pointer; empty where there is none.
fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn map<'a>(value: &'a Value, pointer: &str) -> &'a Map<String, Value> {
    let found = value.pointer(pointer).and_then(Value::as_object);
    found.unwrap_or_else(|| panic!("no {pointer} in {value}"))
}

/// Everything a folder of `deploy/kustomize` renders to.
struct Rendered(Vec<Value>);

impl Rendered {
    fn of(folder: &str) -> Self {
        let path = in_project("deploy/kustomize").join(folder);
        let told = Command::new("kubectl").arg("kustomize").arg(&path).output();
        let told = told.unwrap_or_else(|error| panic!("kubectl: {error}; {INSTALL}"));
        let (yaml, said) = (String::from_utf8(told.stdout).unwrap(), told.stderr);
        let said = String::from_utf8_lossy(&said);
        assert!(told.status.success(), "{folder}: {said}; {INSTALL}");
        assert!(!said.contains("deprecated"), "{folder}: {said}");
        Self(serde_saphyr::from_multiple(&yaml).unwrap())
    }

    fn overlay(name: &str) -> Self {
        Self::of(&format!("overlays/{name}"))
    }

    fn all(&self, kind: &str) -> Vec<&Value> {
        self.0.iter().filter(|found| found["kind"] == kind).collect()
    }

    fn one(&self, kind: &str, name: &str) -> &Value {
        let mut found = self.all(kind).into_iter();
        let found = found.find(|found| text(found, "/metadata/name") == name);
        found.unwrap_or_else(|| panic!("no {kind} {name}"))
    }

    /// The names of the Deployments whose pods the labels select.
    fn selected(&self, labels: &Map<String, Value>) -> Vec<&str> {
        assert!(!labels.is_empty(), "selects everything");
        let chosen = self.all("Deployment").into_iter().filter(|deployment| {
            let pods = map(deployment, "/spec/template/metadata/labels");
            labels.iter().all(|(name, value)| pods.get(name) == Some(value))
        });
        chosen.map(|deployment| text(deployment, "/metadata/name")).collect()
    }

    /// The variables of the Deployment's container; one of its own beats one of a ConfigMap.
    fn variables(&self, deployment: &Value) -> BTreeMap<String, String> {
        let container = &list(deployment, "/spec/template/spec/containers")[0];
        let mut found = BTreeMap::new();
        for from in list(container, "/envFrom") {
            for (name, value) in
                map(self.one("ConfigMap", text(from, "/configMapRef/name")), "/data")
            {
                found.insert(name.clone(), value.as_str().unwrap().to_owned());
            }
        }
        for variable in list(container, "/env") {
            let (name, value) = (text(variable, "/name"), text(variable, "/value"));
            found.insert(name.to_owned(), value.to_owned());
        }
        found
    }
}

const INSTALL: &str = "install kubectl 1.27 or newer, from the apt repository of Kubernetes or of Google \
    (Debian 12's own kubernetes-client is too old)";

/// The keys and values of a `KEY=VALUE` file.
fn example(overlay: &str, name: &str) -> BTreeMap<String, String> {
    let text = read(&format!("deploy/kustomize/overlays/{overlay}/{name}.example.env"));
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let pairs = lines.map(|line| line.split_once('=').unwrap());
    pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// The settings a container of the overlay would run with, given the example's Secret.
fn settings(overlay: &str, rendered: &Rendered, deployment: &Value) -> Settings {
    let secrets = tempfile::tempdir().unwrap();
    for (key, mut value) in example(overlay, "secret") {
        // A store this build has no adapter for stands for itself, as far as it can be read.
        let lacking = key == "store-url" && value.parse::<StoreUrl>().unwrap().missing().is_some();
        if lacking {
            value = "memory:".to_owned();
        }
        fs::write(secrets.path().join(key), value).unwrap();
    }
    let mounted = "/run/secrets/verdict";
    let moved = |value: String| value.replace(mounted, secrets.path().to_str().unwrap());
    let variables = rendered.variables(deployment).into_iter();
    let variables = variables.map(|(name, value)| (name, moved(value)));
    let home = ("HOME".to_owned(), "/var/lib/verdict".to_owned());
    Settings::load(None, variables.chain([home]), secrets.path()).unwrap()
}

fn containers(deployment: &Value) -> Vec<&Value> {
    let pod = "/spec/template/spec";
    let all =
        ["containers", "initContainers"].map(|kind| list(deployment, &format!("{pod}/{kind}")));
    all.into_iter().flatten().collect()
}

#[test]
fn both_roles_are_deployed_from_this_versions_image() {
    for overlay in OVERLAYS {
        let rendered = Rendered::overlay(overlay);
        assert_eq!(rendered.all("Deployment").len(), 2);
        for role in ["gateway", "worker"] {
            let deployment = rendered.one("Deployment", &format!("verdict-{role}"));
            let [container] = containers(deployment)[..] else { panic!("one container") };
            assert_eq!(container["args"], json!(["serve", "--role", role]));
            let tag = concat!("/verdict:", env!("CARGO_PKG_VERSION"));
            let image = text(container, "/image");
            assert!(image.ends_with(tag), "{overlay}: {image} is not {tag}");
        }
    }
}

#[test]
fn nothing_names_a_namespace_or_holds_a_secret() {
    for overlay in OVERLAYS {
        let rendered = Rendered::overlay(overlay);
        assert!(rendered.all("Secret").is_empty(), "{overlay} renders a Secret");
        for object in &rendered.0 {
            assert_eq!(object.pointer("/metadata/namespace"), None, "{object}");
            assert!(!object.to_string().contains("CHANGE-ME"), "{object}");
        }
        let examples = example(overlay, "secret");
        let fit = |value: &String| value.contains("CHANGE-ME") || value.starts_with("pubsub:");
        assert!(examples.values().all(fit), "{overlay}: a value is no placeholder");
    }
}

#[test]
fn containers_can_write_two_folders_and_nothing_more() {
    for overlay in OVERLAYS {
        for deployment in Rendered::overlay(overlay).all("Deployment") {
            let pod = &deployment["spec"]["template"]["spec"];
            assert_eq!(pod["automountServiceAccountToken"], false);
            assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
            assert_eq!(text(pod, "/securityContext/seccompProfile/type"), "RuntimeDefault");
            let user = format!(
                "USER {0}:{1}",
                pod["securityContext"]["runAsUser"], pod["securityContext"]["runAsGroup"]
            );
            assert!(read("Dockerfile").lines().any(|line| line == user), "{user}");
            for container in containers(deployment) {
                let security = &container["securityContext"];
                assert_eq!(security["readOnlyRootFilesystem"], true);
                assert_eq!(security["allowPrivilegeEscalation"], false);
                assert_eq!(security["capabilities"], json!({ "drop": ["ALL"] }));
            }
            let volumes =
                list(pod, "/volumes").iter().filter(|volume| volume["emptyDir"].is_object());
            let writable: BTreeSet<_> = volumes.map(|volume| text(volume, "/name")).collect();
            assert_eq!(writable, BTreeSet::from(["state", "tmp"]));
        }
    }
}

#[test]
fn containers_have_limits_and_probes_on_the_port_they_listen_on() {
    for overlay in OVERLAYS {
        let rendered = Rendered::overlay(overlay);
        for deployment in rendered.all("Deployment") {
            let listen = settings(overlay, &rendered, deployment).server.listen;
            assert!(listen.ip().is_unspecified(), "{listen}");
            for container in containers(deployment) {
                for pointer in ["limits/cpu", "limits/memory", "requests/cpu", "requests/memory"] {
                    assert_ne!(text(container, &format!("/resources/{pointer}")), "", "{pointer}");
                }
                let port = json!({ "name": "http", "containerPort": listen.port() });
                assert_eq!(list(container, "/ports"), [port]);
                let probes =
                    [("startup", "/livez"), ("liveness", "/livez"), ("readiness", "/readyz")];
                for (probe, path) in probes {
                    let asked = &container[format!("{probe}Probe")]["httpGet"];
                    assert_eq!(*asked, json!({ "path": path, "port": "http" }), "{probe}");
                }
            }
        }
    }
}

#[test]
fn pods_are_given_longer_to_stop_than_the_workers_grace() {
    for overlay in OVERLAYS {
        let rendered = Rendered::overlay(overlay);
        for deployment in rendered.all("Deployment") {
            let given = &deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"];
            let container = containers(deployment)[0];
            let before = container.pointer("/lifecycle/preStop/sleep/seconds");
            let before = before.and_then(Value::as_u64).unwrap_or_default();
            let grace = settings(overlay, &rendered, deployment).worker.grace.as_secs();
            let needed = before + grace + 10;
            assert!(given.as_u64().unwrap() >= needed, "{given} s, of {needed} s");
        }
    }
}

#[test]
fn every_variable_is_a_setting_and_every_file_is_of_the_secret() {
    let known: BTreeSet<_> = known_keys().iter().map(|key| variable_of(key)).collect();
    for overlay in OVERLAYS {
        let rendered = Rendered::overlay(overlay);
        let keys = example(overlay, "secret");
        for deployment in rendered.all("Deployment") {
            let mut read = BTreeSet::new();
            for (name, value) in rendered.variables(deployment) {
                let behind = name.strip_suffix("_FILE").unwrap_or(&name);
                let fits = known.contains(behind) || FOREIGN.contains(&name.as_str());
                assert!(fits, "{overlay}: {name} is no setting");
                read.extend(value.strip_prefix("/run/secrets/verdict/").map(str::to_owned));
            }
            assert_eq!(read, keys.keys().cloned().collect(), "{overlay}: the example's keys");
            let volumes = list(deployment, "/spec/template/spec/volumes");
            let secret = volumes.iter().find(|volume| volume["name"] == "secrets").unwrap();
            assert_eq!(secret["secret"]["secretName"], "verdict");
        }
    }
}

#[test]
fn selectors_select_the_pods_they_are_for() {
    for overlay in OVERLAYS {
        let rendered = Rendered::overlay(overlay);
        for (kind, pointer) in [
            ("Deployment", "/spec/selector/matchLabels"),
            ("Service", "/spec/selector"),
            ("PodDisruptionBudget", "/spec/selector/matchLabels"),
            ("NetworkPolicy", "/spec/podSelector/matchLabels"),
        ] {
            let all = rendered.all(kind);
            let named = all.iter().map(|object| text(object, "/metadata/name"));
            let named: BTreeSet<_> = named.collect();
            let roles = BTreeSet::from(["verdict-gateway", "verdict-worker"]);
            // Nobody calls a worker.
            let roles = if kind == "Service" { BTreeSet::from(["verdict-gateway"]) } else { roles };
            assert_eq!(named, roles, "{overlay}: {kind}");
            for object in all {
                let selected = rendered.selected(map(object, pointer));
                assert_eq!(selected, [text(object, "/metadata/name")], "{overlay}: {kind}");
            }
        }
    }
}

#[test]
fn only_who_is_named_reaches_a_pod() {
    for overlay in OVERLAYS {
        let rendered = Rendered::overlay(overlay);
        for (role, callers) in [("gateway", 2), ("worker", 1)] {
            let policy = rendered.one("NetworkPolicy", &format!("verdict-{role}"));
            assert_eq!(policy["spec"]["policyTypes"], json!(["Ingress"]));
            let rules = list(policy, "/spec/ingress");
            assert_eq!(rules.len(), callers, "{role}");
            for rule in rules {
                let [from] = list(rule, "/from") else { panic!("{rule}") };
                assert!(!map(from, "/namespaceSelector/matchLabels").is_empty());
                assert_eq!(rule["ports"], json!([{ "port": "http", "protocol": "TCP" }]));
            }
        }
    }
}

/// A number of replicas in the manifest would undo the scaler's choice each time it is applied.
#[test]
fn each_role_is_scaled_by_one_scaler_and_by_nothing_else() {
    for overlay in OVERLAYS {
        let rendered = Rendered::overlay(overlay);
        let [gateways] = rendered.all("HorizontalPodAutoscaler")[..] else { panic!("one") };
        let [workers] = rendered.all("ScaledObject")[..] else { panic!("one") };
        for (scaler, name) in [(gateways, "verdict-gateway"), (workers, "verdict-worker")] {
            let target = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "name": name });
            assert_eq!(scaler["spec"]["scaleTargetRef"], target);
            assert_eq!(rendered.one("Deployment", name).pointer("/spec/replicas"), None);
        }
        assert_eq!(gateways["spec"]["minReplicas"], 2);
        assert_eq!(workers["spec"]["minReplicaCount"], 1);
        assert_eq!(workers["spec"]["maxReplicaCount"], 20);
    }
}

#[test]
fn workers_are_scaled_on_the_queue_they_read() {
    for overlay in OVERLAYS {
        let rendered = Rendered::overlay(overlay);
        let [trigger] = list(rendered.one("ScaledObject", "verdict-worker"), "/spec/triggers")
        else {
            panic!("one trigger")
        };
        let url: url::Url = example(overlay, "secret")["queue-url"].parse().unwrap();
        let queue = url.query_pairs().find(|(name, _)| name == "queue");
        let (kind, name, expected) = match queue {
            Some((_, queue)) => ("rabbitmq", "queueName", queue.into_owned()),
            None => {
                let project = url.host_str().unwrap();
                let name = format!("projects/{project}/subscriptions{}", url.path());
                ("gcp-pubsub", "subscriptionName", name)
            }
        };
        assert_eq!(trigger["type"], kind);
        assert_eq!(trigger["metadata"][name], expected.as_str());
        let worker = rendered.one("Deployment", "verdict-worker");
        let in_hand = settings(overlay, &rendered, worker).worker.concurrency;
        let value: usize = text(trigger, "/metadata/value").parse().unwrap();
        assert!(value >= in_hand && value.is_multiple_of(in_hand), "{value}, of {in_hand} in hand");
        let by = text(trigger, "/authenticationRef/name");
        let by = rendered.one("TriggerAuthentication", by);
        for secret in list(by, "/spec/secretTargetRef") {
            assert_eq!(text(secret, "/name"), "verdict-scaler");
            assert!(example(overlay, "scaler").contains_key(text(secret, "/key")));
        }
    }
}

#[test]
fn metrics_are_scraped_with_the_servers_token() {
    let component = Rendered::of("components/podmonitor");
    let monitor = component.one("PodMonitor", "verdict");
    let [endpoint] = list(monitor, "/spec/podMetricsEndpoints") else { panic!("one") };
    assert_eq!((text(endpoint, "/port"), text(endpoint, "/path")), ("http", "/metrics"));
    let credentials = json!({ "name": "verdict", "key": "server-token" });
    assert_eq!(endpoint["authorization"]["credentials"], credentials);
    for overlay in OVERLAYS {
        assert!(example(overlay, "secret").contains_key("server-token"));
        let rendered = Rendered::overlay(overlay);
        let labels = map(monitor, "/spec/selector/matchLabels");
        assert_eq!(rendered.selected(labels).len(), 2, "{overlay}: both roles");
    }
}

#[test]
fn the_brokers_user_may_use_verdicts_queues_and_no_others() {
    let definitions: Value =
        serde_json::from_str(&read("deploy/rabbitmq/definitions.json")).unwrap();
    let users = list(&definitions, "/users");
    assert!(users.iter().all(|user| user["password_hash"] == ""), "a password is committed");
    let grants = list(&definitions, "/permissions").iter();
    let grant = grants.clone().find(|grant| grant["user"] == "verdict").unwrap();
    let may =
        |what: &str, name: &str| Regex::new(grant[what].as_str().unwrap()).unwrap().is_match(name);
    let delays = amqp::Options::default().delays.into_iter();
    let later = delays.map(|delay| format!("verdict.later.{}", humantime::format_duration(delay)));
    for queue in later.chain(["verdict".to_owned(), "verdict.dead".to_owned()]) {
        assert!(["configure", "write", "read"].iter().all(|what| may(what, &queue)), "{queue}");
    }
    assert!(may("write", "amq.default") && !may("configure", "amq.default"));
    for other in ["other", "verdicts", "my.verdict", "amq.topic"] {
        assert!(!["configure", "write", "read"].iter().any(|what| may(what, other)), "{other}");
    }
    let scaler = grants.clone().find(|grant| grant["user"] == "verdict-scaler").unwrap();
    assert!(["configure", "write", "read"].iter().all(|what| scaler[what] == "^$"));
}

#[test]
fn the_subscription_is_made_as_verdict_would_make_it() {
    let script = read("deploy/pubsub/setup.sh").replace("\\\n", " ");
    let made =
        |start: &str| script.lines().find(|line| line.starts_with(start)).unwrap_or_default();
    let options = pubsub::Options::default();
    let line = made("make subscriptions verdict ");
    let words: BTreeSet<_> = line.split_whitespace().collect();
    for word in [
        format!("--ack-deadline={}", options.ack_deadline.as_secs()),
        format!("--min-retry-delay={}s", options.min_backoff.as_secs()),
        format!("--max-retry-delay={}s", options.max_backoff.as_secs()),
        format!("--max-delivery-attempts={}", options.delivery_attempts),
        "--dead-letter-topic=verdict-dead".to_owned(),
    ] {
        assert!(words.contains(word.as_str()), "{word} is not in `{line}`");
    }
    assert!(made("make subscriptions verdict-dead ").contains("--topic=verdict-dead "));
}

#[test]
fn the_image_is_built_with_this_toolchain_and_from_files_that_reach_it() {
    let dockerfile = read("Dockerfile");
    let toolchain = concat!("rust:", env!("CARGO_PKG_RUST_VERSION"), "-");
    let froms: Vec<_> = dockerfile.lines().filter_map(|line| line.strip_prefix("FROM ")).collect();
    let [build, run] = froms[..] else { panic!("two stages: {froms:?}") };
    let debian = build.strip_prefix(toolchain).and_then(|rest| rest.split(' ').next());
    assert_eq!(run, format!("debian:{}-slim", debian.unwrap()), "{build}");
    let builds = dockerfile.matches("cargo build --release --locked --all-features --bin verdict");
    assert_eq!(builds.count(), 1, "everything, adapters included");

    let ignore = read(".dockerignore");
    assert!(ignore.lines().any(|line| line == "*"), "what is not named is ignored");
    let sent: BTreeSet<_> = ignore.lines().filter_map(|line| line.strip_prefix('!')).collect();
    let copies = dockerfile.lines().filter_map(|line| line.strip_prefix("COPY "));
    let mut copied = BTreeSet::new();
    for line in copies.filter(|line| !line.starts_with("--from=")) {
        let words: Vec<_> = line.split_whitespace().collect();
        copied.extend(words[..words.len() - 1].iter().copied());
    }
    assert_eq!(copied, sent);
    assert!(copied.iter().all(|path| in_project(path).exists()), "{copied:?}");
    // Cargo refuses a manifest that names a target or a member without its files.
    let manifest: toml::Table = read("Cargo.toml").parse().unwrap();
    assert!(!manifest.contains_key("bench") || copied.contains("benches"));
    for member in manifest["workspace"]["members"].as_array().unwrap() {
        let folder = member.as_str().unwrap().trim_end_matches("/*");
        assert!(copied.contains(folder), "workspace member {folder} does not reach the image");
    }
}
