//! Lock files against their manifests.

use verdict::analysis::sides::lock_file::{Format, locks_for};

use super::super::support::{Repo, found};

/// How a lock file contradicts the manifest beside it, or the one in `member` below it.
fn contradictions(lock: &str, manifest: &str, member: &str, lock_text: &str) -> Vec<String> {
    let format = Format::of(lock).unwrap();
    let beside = format.manifest_beside(lock);
    let path = if member.is_empty() { beside } else { format!("{member}/{beside}") };
    format.contradictions((&path, manifest), (lock, lock_text))
}

/// The one contradiction of each `(manifest, lock)`; nothing where nothing is expected.
fn each(lock: &str, cases: &[(&str, &str, &str)]) {
    for (manifest, text, expected) in cases {
        let expected: Vec<&str> = Some(*expected).filter(|e| !e.is_empty()).into_iter().collect();
        assert_eq!(contradictions(lock, manifest, "", text), expected, "{lock} {manifest}\n{text}");
    }
}

/// A lock file is compared with its manifest requirement by requirement, and with nothing else.
#[test]
fn lock_files_and_their_manifests() {
    let how = |manifest: &str, root: &str| {
        let lock = format!(r#"{{"packages": {{"": {root}}}}}"#);
        contradictions("package-lock.json", manifest, "", &lock).pop()
    };
    let wrong = [
        (
            r#"{"dependencies": {"a": "1"}}"#,
            r#"{"dependencies": {"a": "2"}}"#,
            "`a` is required as `1` and locked as `2`",
        ),
        (r#"{"dependencies": {"a": "1"}}"#, "{}", "`a` is required and not locked"),
        ("{}", r#"{"dependencies": {"a": "1"}}"#, "`a` is locked as a requirement and is none"),
        (
            r#"{"devDependencies": {"a": "1"}}"#,
            r#"{"devDependencies": {"a": "2"}}"#,
            "`a` is required as `1` and locked as `2`",
        ),
        (r#"{"devDependencies": {"a": "1"}}"#, "{}", "`a` is required and not locked"),
        (r#"{"optionalDependencies": {"a": "1"}}"#, "{}", "`a` is required and not locked"),
        (
            r#"{"dependencies": {"a": "1", "b": "1"}}"#,
            r#"{"dependencies": {"a": "1", "b": "2"}}"#,
            "`b` is required as `1` and locked as `2`",
        ),
        (
            r#"{"dependencies": {"a": "1"}}"#,
            r#"{"dependencies": {"a": "1", "b": "2"}}"#,
            "`b` is locked as a requirement and is none",
        ),
    ];
    for (manifest, root, expected) in wrong {
        assert_eq!(how(manifest, root).as_deref(), Some(expected), "{manifest} {root}");
    }
    let fine = [
        ("{}", "{}"),
        (r#"{"dependencies": {}}"#, "{}"),
        (r#"{"dependencies": {"a": "1"}}"#, r#"{"dependencies": {"a": "1"}}"#),
        (
            r#"{"name": "x", "dependencies": {"a": "1"}}"#,
            r#"{"name": "y", "dependencies": {"a": "1"}}"#,
        ),
        (
            r#"{"version": "1", "devDependencies": {"a": "1"}}"#,
            r#"{"version": "2", "devDependencies": {"a": "1"}}"#,
        ),
        (r#"{"optionalDependencies": {"a": "1"}}"#, r#"{"optionalDependencies": {"a": "1"}}"#),
        (r#"{"peerDependencies": {"a": "1"}}"#, "{}"),
        (r#"{"scripts": {"a": "1"}}"#, "{}"),
        (r#"{"dependencies": {"a": "1", "b": "2"}}"#, r#"{"dependencies": {"b": "2", "a": "1"}}"#),
        (r#"{"dependencies": {"a": "1"}}"#, r#"{"license": "MIT", "dependencies": {"a": "1"}}"#),
        (r#"{"dependencies": ["a"]}"#, r#"{"dependencies": {"a": "1"}}"#),
        ("no JSON", r#"{"dependencies": {"a": "1"}}"#),
    ];
    for (manifest, root) in fine {
        assert_eq!(how(manifest, root), None, "{manifest} {root}");
    }
    assert_eq!(how("{}", r#"{"dependencies": {"a": {}}}"#), None);
    // Addresses are written in more than one way, and what is replaced may be anything.
    assert_eq!(
        how(r#"{"dependencies": {"a": "b/a"}}"#, r#"{"dependencies": {"a": "github:b/a"}}"#),
        None
    );
    let replaced = r#"{"dependencies": {"a": "1"}, "overrides": {"a": "2"}}"#;
    assert_eq!(how(replaced, r#"{"dependencies": {"a": "2"}}"#), None);
    let peer =
        r#"{"peerDependencies": {"a": "1"}, "peerDependenciesMeta": {"a": {"optional": true}}}"#;
    assert_eq!(how(peer, r#"{"dependencies": {"a": "1"}}"#), None);
}

/// npm keeps the version that it locked while that fits what the manifest says now.
#[test]
fn a_locked_version_that_fits_is_no_contradiction() {
    let how = |wanted: &str, version: &str| {
        let lock = format!(
            r#"{{"packages": {{"": {{"dependencies": {{"a": "^1.1.0"}}}}, "node_modules/a": {{"version": "{version}"}}}}}}"#
        );
        let manifest = format!(r#"{{"dependencies": {{"a": "{wanted}"}}}}"#);
        contradictions("package-lock.json", &manifest, "", &lock).pop()
    };
    for wanted in ["^1.0.0", "~1.2.0", "1.2.3", "1.2", "1", "1.x", "*", ">=1.2.3"] {
        assert_eq!(how(wanted, "1.2.3"), None, "{wanted}");
    }
    for wanted in ["^2.0.0", "1.2.2", "~1.1.0", "1.1", "0", "latest"] {
        let expected = format!("`a` is required as `{wanted}` and locked as `^1.1.0`");
        assert_eq!(how(wanted, "1.2.3"), Some(expected));
    }
}

/// Which files belong together.
#[test]
fn lock_files_by_path() {
    let beside = |path: &str| Format::of(path).map(|f| f.manifest_beside(path));
    assert_eq!(beside("web/package-lock.json").unwrap(), "web/package.json");
    assert_eq!(beside("Cargo.lock").unwrap(), "Cargo.toml");
    assert_eq!(beside("my-package-lock.json"), None);
    let paths = |manifest: &str| -> Vec<Vec<String>> {
        locks_for(manifest).into_iter().map(|f| f.into_iter().map(|l| l.0).collect()).collect()
    };
    assert_eq!(paths("a/go.mod"), [["a/go.sum"]]);
    assert_eq!(paths("a/b/Cargo.toml"), [["a/b/Cargo.lock"], ["a/Cargo.lock"], ["Cargo.lock"]]);
    assert_eq!(paths("a/pyproject.toml"), [vec!["a/poetry.lock", "a/uv.lock"], vec!["uv.lock"]]);
    assert_eq!(paths("a.toml"), [[""; 0]; 0]);
    let rivals = Format::of("a/go.sum").unwrap().rivals("a/go.sum");
    assert_eq!(rivals, ["a/go.work", "go.work", "a/vendor/modules.txt", "vendor/modules.txt"]);
}

/// A member of a workspace is compared with its own part of the lock file.
#[test]
fn members_of_workspaces() {
    let wanted = r#"{"dependencies": {"a": "2"}}"#;
    let differs = ["`a` is required as `2` and locked as `1`"];
    let npm = r#"{"packages": {"": {}, "packages/x": {"dependencies": {"a": "1"}}}}"#;
    let of = |member, text| contradictions("package-lock.json", wanted, member, text);
    assert_eq!(of("packages/x", npm), differs);
    assert_eq!(of("packages/y", npm), [""; 0]);
    let pnpm = "importers:\n\n  .: {}\n\n  packages/x:\n    dependencies:\n      a:\n        specifier: '1'\n        version: 1.0.0\n";
    let of = |member, text| contradictions("pnpm-lock.yaml", wanted, member, text);
    assert_eq!(of("packages/x", pnpm), differs);
    assert_eq!(of("packages/y", pnpm), [""; 0]);
    // What the root replaces is not known: names only.
    let berry = "__metadata:\n  version: 8\n\n\"x@workspace:packages/x\":\n  version: 0.0.0-use.local\n  resolution: \"x@workspace:packages/x\"\n  dependencies:\n    a: \"npm:1\"\n";
    let of = |text| contradictions("yarn.lock", text, "packages/x", berry);
    assert_eq!(of(wanted), [""; 0]);
    assert_eq!(of(r#"{"dependencies": {"a": "1", "b": "1"}}"#), ["`b` is required and not locked"]);
    let crates = "[[package]]\nname = \"x\"\nversion = \"0.1.0\"\ndependencies = [\n \"a\",\n]\n";
    let own = "[package]\nname = \"x\"\n[dependencies]\na = \"1\"\nb = \"1\"\n";
    assert_eq!(contradictions("Cargo.lock", own, "x", crates), ["`b` is required and not locked"]);
    // Another crate than those of the workspace.
    let other = "[package]\nname = \"y\"\n[dependencies]\nb = \"1\"\n";
    assert_eq!(contradictions("Cargo.lock", other, "y", crates), [""; 0]);
    // No lock file but its own counts there.
    assert_eq!(
        contradictions("composer.lock", r#"{"require": {"a/b": "1"}}"#, "x", r#"{"packages": []}"#),
        [""; 0]
    );
}

#[test]
fn lock_files_of_pnpm() {
    let v9 = |spec: &str| {
        format!(
            "lockfileVersion: '9.0'\n\nimporters:\n\n  .:\n    devDependencies:\n      a:\n        specifier: {spec}\n        version: 1.0.0\n\npackages:\n\n  a@1.0.0: {{}}\n"
        )
    };
    let wanted = r#"{"devDependencies": {"a": "^2.0.0"}}"#;
    let v5 = "lockfileVersion: 5.4\n\nspecifiers:\n  a: ^1.0.0\n\ndevDependencies:\n  a: 1.0.0\n";
    let v6 = "lockfileVersion: '6.0'\n\ndevDependencies:\n  a:\n    specifier: ^1.0.0\n    version: 1.0.0\n";
    let differs = "`a` is required as `^2.0.0` and locked as `^1.0.0`";
    each(
        "pnpm-lock.yaml",
        &[
            (wanted, &v9("^1.0.0"), differs),
            (wanted, v6, differs),
            (wanted, v5, differs),
            (
                r#"{"devDependencies": {"a": "^1.0.0", "b": "1"}}"#,
                v5,
                "`b` is required and not locked",
            ),
            ("{}", v6, "`a` is locked as a requirement and is none"),
            (wanted, &v9("^2.0.0"), ""),
            // Replaced, put in from elsewhere, or changed by a hook.
            (wanted, &format!("overrides:\n  a@^2: ^1.0.0\n\n{}", v9("^1.0.0")), ""),
            (wanted, &format!("pnpmfileChecksum: x\n\n{}", v9("^1.0.0")), ""),
            (r#"{"devDependencies": {"a": "^2.0.0"}, "pnpm": {"overrides": {"a": "1"}}}"#, v6, ""),
            (r#"{"devDependencies": {"a": "workspace:*"}}"#, v6, ""),
            (r#"{"devDependencies": {"a": "^1.0.0", "b": "link:../b"}}"#, v6, ""),
            (r#"{"devDependencies": {"a": "catalog:"}}"#, &v9("'catalog:'"), ""),
            (r#"{"peerDependencies": {"a": "1"}}"#, v6, ""),
            (wanted, "lockfileVersion: 9\n", "`a` is required and not locked"),
            (wanted, "importers: [", ""),
            ("no manifest", v6, ""),
        ],
    );
}

#[test]
fn lock_files_of_yarn() {
    let first = "# yarn lockfile v1\n\n\n\"@b/a@^1.0.0\", \"@b/a@^1.1.0\":\n  version \"1.1.0\"\n\nc@1.x:\n  version \"1.0.0\"\n";
    let later = "__metadata:\n  version: 6\n\n\"a@npm:^1.0.0\":\n  version: 1.0.0\n  resolution: \"a@npm:1.0.0\"\n\n\"own@workspace:.\":\n  version: 0.0.0-use.local\n  resolution: \"own@workspace:.\"\n  dependencies:\n    a: ^1.0.0\n    b: \"npm:2\"\n  languageName: unknown\n";
    each(
        "yarn.lock",
        &[
            (
                r#"{"dependencies": {"c": "2.x"}}"#,
                first,
                "`c` is required as `2.x` and locked as `1.x`",
            ),
            (r#"{"dependencies": {"d": "1"}}"#, first, "`d` is required and not locked"),
            (r#"{"dependencies": {"@b/a": "^1.1.0"}, "devDependencies": {"c": "1.x"}}"#, first, ""),
            (r#"{"dependencies": {"d": "1"}, "workspaces": ["x"]}"#, first, ""),
            (r#"{"dependencies": {"c": "2.x"}, "resolutions": {"**/c": "1.x"}}"#, first, ""),
            (r#"{"dependencies": {"d": "link:../d", "e": "file:../e", "f": "a/b"}}"#, first, ""),
            (r#"{"peerDependencies": {"d": "1"}}"#, first, ""),
            (r#"{"dependencies": {"d": "1"}}"#, "no lock file", ""),
            (
                r#"{"dependencies": {"a": "^2.0.0", "b": "2"}}"#,
                later,
                "`a` is required as `^2.0.0` and locked as `^1.0.0`",
            ),
            (
                r#"{"dependencies": {"a": "^1.0.0"}}"#,
                later,
                "`b` is locked as a requirement and is none",
            ),
            (r#"{"dependencies": {"a": "^1.0.0"}, "devDependencies": {"b": "2"}}"#, later, ""),
            (r#"{"dependencies": {"a": "^1.0.0"}, "peerDependencies": {"b": "2"}}"#, later, ""),
            (
                r#"{"dependencies": {"a": "^2.0.0", "b": "2"}, "resolutions": {"a": "1"}}"#,
                later,
                "",
            ),
            (r#"{"dependencies": {"a": "workspace:^", "b": "patch:b@2#x"}}"#, later, ""),
        ],
    );
}

#[test]
fn lock_files_of_php_ruby_and_go() {
    let lock = r#"{"packages": [{"name": "a/b", "replace": {"a/part": "1"}}], "packages-dev": [{"name": "a/test"}]}"#;
    each(
        "composer.lock",
        &[
            (r#"{"require": {"a/c": "^1"}}"#, lock, "`a/c` is required and not locked"),
            (r#"{"require-dev": {"a/c": "^1"}}"#, lock, "`a/c` is required and not locked"),
            (
                r#"{"require": {"A/B": "^1", "a/part": "1", "php": ">=8", "ext-json": "*"}, "require-dev": {"a/test": "*"}}"#,
                lock,
                "",
            ),
            (r#"{"require": {"a/own": "1"}, "provide": {"a/own": "1"}}"#, lock, ""),
            ("{", lock, ""),
            (r#"{"require": {"a/c": "^1"}}"#, "{}", ""),
        ],
    );
    let lock = "GEM\n  specs:\n    a (1.2)\n\nDEPENDENCIES\n  a (~> 1.0)\n  b!\n  c (>= 1, < 3)\n  d\n\nBUNDLED WITH\n   2.5\n";
    each(
        "Gemfile.lock",
        &[
            ("gem \"e\"\n", lock, "`e` is required and not locked"),
            ("gem 'a', '~> 2.0'\n", lock, "`a` is required as `~> 2.0` and locked as `~> 1.0`"),
            ("gem 'a', '1.0' # old\n", lock, "`a` is required as `= 1.0` and locked as `~> 1.0`"),
            (
                "gem 'a', '~> 1.0'\ngem 'b', git: 'x'\ngem 'c', '< 3', '>= 1'\ngem 'd', '>= 0'\n",
                lock,
                "",
            ),
            ("gem 'a', '~> 2.0', '> 1'\ngem 'd', require: false\n", lock, ""),
            (
                "gem 'e' if windows\nif ENV['E']\n  gem 'e'\nend\ngem \"e#{x}\"\ngem name\n",
                lock,
                "",
            ),
            ("gem 'e'\n", "GEM\n", ""),
        ],
    );
    let sums = "a.org/b v1.0.0 h1:x=\na.org/b v1.0.0/go.mod h1:y=\na.org/c v1.1.0/go.mod h1:z=\n";
    each(
        "go.sum",
        &[
            (
                "module m\n\nrequire a.org/b v1.1.0\n",
                sums,
                "`a.org/b` is required as `v1.1.0` and locked as `v1.0.0`",
            ),
            (
                "module m\n\nrequire (\n\ta.org/b v1.0.0\n\ta.org/d v1.0.0 // indirect\n)\n",
                sums,
                "`a.org/d` is required and not locked",
            ),
            (
                "module m\n\nrequire (\n\ta.org/b v1.0.0\n\ta.org/c v1.1.0 // indirect\n)\n",
                sums,
                "",
            ),
            ("module m\n\nrequire a.org/d v1.0.0\n\nreplace a.org/d => ../d\n", sums, ""),
            (
                "module m\n\nrequire a.org/d v1.0.0\nreplace (\n\ta.org/d v1.0.0 => a.org/e v1.0.0\n)\n",
                sums,
                "",
            ),
            ("module m\n\nexclude a.org/d v1.0.0\n", sums, ""),
            ("module m\n\nrequire a.org/d v1.0.0\n", "", ""),
        ],
    );
}

#[test]
fn lock_files_in_toml() {
    let lock = "version = 4\n\n[[package]]\nname = \"own\"\nversion = \"0.1.0\"\ndependencies = [\n \"a\",\n \"b 1.0.0\",\n \"c 2.0.0 (registry+x)\",\n]\n\n[[package]]\nname = \"own\"\nversion = \"9.0.0\"\nsource = \"registry+x\"\n";
    let own = |rest: &str| format!("[package]\nname = \"own\"\n{rest}");
    let all = "[dependencies]\na = \"1\"\n[dev-dependencies]\nb = { version = \"1\" }\n[build-dependencies]\nc = \"2\"\n";
    each(
        "Cargo.lock",
        &[
            (&own(&format!("{all}d = \"1\"\n")), lock, "`d` is required and not locked"),
            (
                &own(&format!("{all}[target.'cfg(unix)'.dependencies]\nd = \"1\"\n")),
                lock,
                "`d` is required and not locked",
            ),
            (
                &own(&format!("{all}x = {{ package = \"d\", version = \"1\" }}\n")),
                lock,
                "`d` is required and not locked",
            ),
            (
                &own("[dependencies]\na = \"1\"\nb = \"1\"\n"),
                lock,
                "`c` is locked as a requirement and is none",
            ),
            (&own(all), lock, ""),
            (&own(&format!("{all}d = {{ version = \"1\", optional = true }}\n")), lock, ""),
            (&own(&format!("{all}x = {{ package = \"a\", version = \"2\" }}\n")), lock, ""),
            (&own(&format!("{all}own = {{ path = \".\" }}\n")), lock, ""),
            // The root may give it another name.
            (&own("[dependencies]\na = \"1\"\nb = \"1\"\nx = { workspace = true }\n"), lock, ""),
            ("[workspace]\nmembers = []\n", lock, ""),
            ("[package]\nname = \"other\"\n[dependencies]\nd = \"1\"\n", lock, ""),
            ("[package", lock, ""),
        ],
    );
    let lock =
        "[[package]]\nname = \"a-b\"\nversion = \"1\"\n\n[metadata]\nlock-version = \"2.0\"\n";
    each(
        "poetry.lock",
        &[
            (
                "[tool.poetry.dependencies]\npython = \"^3\"\nc = \"1\"\n",
                lock,
                "`c` is required and not locked",
            ),
            (
                "[tool.poetry.group.dev.dependencies]\nc = { version = \"1\" }\n",
                lock,
                "`c` is required and not locked",
            ),
            (
                "[project]\ndependencies = [\"a_b>=1\", \"c[x] >=1\"]\n",
                lock,
                "`c` is required and not locked",
            ),
            ("[tool.poetry.dependencies]\npython = \"^3\"\nA_B = \"1\"\n", lock, ""),
            ("[tool.poetry.dependencies]\nc = { version = \"1\", python = \"<3.8\" }\n", lock, ""),
            ("[tool.poetry.dependencies]\nc = { path = \"../c\" }\n", lock, ""),
            (
                "[project]\ndependencies = [\"c; python_version < '3.8'\", \"d @ file:d\"]\n",
                lock,
                "",
            ),
        ],
    );
    let lock = "[[package]]\nname = \"own\"\nsource = { editable = \".\" }\n\n[package.metadata]\nrequires-dist = [\n    { name = \"a-b\", specifier = \">=1.0\" },\n    { name = \"c\", marker = \"extra == 'x'\", specifier = \">=2\" },\n]\n";
    let own = |rest: &str| format!("[project]\nname = \"Own\"\n{rest}");
    let extra = "[project.optional-dependencies]\nx = [\"c>=3\"]\n";
    each(
        "uv.lock",
        &[
            (
                &own(&format!("dependencies = [\"a_b>=2.0\"]\n{extra}")),
                lock,
                "`a-b` is required as `>=2.0` and locked as `>=1.0`",
            ),
            (
                &own(&format!("dependencies = [\"a-b >= 1.0\", \"d\"]\n{extra}")),
                lock,
                "`d` is required and not locked",
            ),
            (
                &own("dependencies = [\"a-b>=1.0\"]\n"),
                lock,
                "`c` is locked as a requirement and is none",
            ),
            (&own(&format!("dependencies = [\"a-b >= 1.0\"]\n{extra}")), lock, ""),
            (&own(&format!("dependencies = [\"a-b >=1.0,<2\", \"own[x]\"]\n{extra}")), lock, ""),
            (&own("dynamic = [\"dependencies\"]\n"), lock, ""),
            ("[project]\nname = \"other\"\ndependencies = [\"d\"]\n", lock, ""),
            (&own("dependencies = [\"d\"]\n"), "version = 1\n", ""),
        ],
    );
    let lock = r#"{"_meta": {}, "default": {"a-b": {}}, "develop": {"c": {}}}"#;
    each(
        "Pipfile.lock",
        &[
            ("[packages]\nd = \"*\"\n", lock, "`d` is required and not locked"),
            ("[dev-packages]\nd = { version = \"*\" }\n", lock, "`d` is required and not locked"),
            ("[packages]\nA_b = \"*\"\n[dev-packages]\nc = \"*\"\n", lock, ""),
            ("[packages]\nd = { path = \".\", editable = true }\n", lock, ""),
        ],
    );
}

/// A manifest that changed alone is held to the lock file that stands beside or above it.
#[tokio::test]
async fn a_lock_file_left_behind() {
    let repo = Repo::new();
    let manifest =
        |version: &str| format!("{{\n  \"dependencies\": {{\n    \"a\": \"{version}\"\n  }}\n}}\n");
    let lock = "importers:\n\n  web:\n    dependencies:\n      a:\n        specifier: ^1.0.0\n        version: 1.0.0\n";
    repo.write("web/package.json", manifest("^1.0.0")).write("pnpm-lock.yaml", lock).commit("base");
    repo.write("web/package.json", manifest("^2.0.0")).commit("alone");
    let state = repo.review("HEAD^!").await;
    assert_eq!(found(&state), ["lock-contradicts-manifest web/package.json:0-0"]);
    let body = &state.judgement.unwrap().findings[0].body;
    let told = "In `pnpm-lock.yaml`, which was not changed: `a` is required as `^2.0.0` and locked as `^1.0.0`.";
    assert!(body.starts_with(told), "{body}");
    // With both changed, the lock file is where it is said.
    repo.write("web/package.json", manifest("^3.0.0"));
    repo.write("pnpm-lock.yaml", lock.replace("^1.0.0", "^2.0.0")).commit("both");
    let state = repo.review("HEAD^!").await;
    assert_eq!(found(&state), ["lock-contradicts-manifest pnpm-lock.yaml:0-0"]);
    let body = &state.judgement.unwrap().findings[0].body;
    assert!(body.starts_with("Of `web/package.json`: `a` is required as `^3.0.0`"), "{body}");
    repo.write("web/package.json", manifest("^2.0.0")).write("pnpm-lock.yaml", lock);
    repo.commit("back");
    // What was so before is not this change's.
    repo.write(
        "web/package.json",
        manifest("^2.0.0").replace("}\n}", "},\n  \"name\": \"web\"\n}"),
    );
    repo.commit("something else");
    assert_eq!(found(&repo.review("HEAD^!").await), [""; 0]);
}

/// It is said once of a manifest, as surely as it is known.
#[tokio::test]
async fn a_lock_file_left_behind_is_said_once() {
    let repo = Repo::new();
    let manifest =
        |version: &str| format!("{{\n  \"dependencies\": {{\n    \"a\": \"{version}\"\n  }}\n}}\n");
    repo.write("package.json", manifest("^1.0.0"));
    repo.write("yarn.lock", "# yarn lockfile v1\n\n\na@^1.0.0:\n  version \"1.0.0\"\n")
        .commit("base");
    repo.write("package.json", manifest("^2.0.0")).commit("alone");
    assert_eq!(found(&repo.review("HEAD^!").await), ["lock-contradicts-manifest package.json:0-0"]);
    // Of two lock files it is not known which counts.
    repo.write("package-lock.json", "{\"lockfileVersion\": 1}\n").commit("another");
    repo.write("package.json", manifest("^3.0.0")).commit("alone again");
    assert_eq!(found(&repo.review("HEAD^!").await), ["lock-not-updated package.json:0-0"]);
}

/// Sums of a workspace may stand in another file.
#[tokio::test]
async fn a_workspace_of_go() {
    let repo = Repo::new();
    let module = |version: &str| format!("module m\n\nrequire a.org/b {version}\n");
    let sums = |version: &str| format!("a.org/b {version}/go.mod h1:x=\n");
    repo.write("m/go.mod", module("v1.0.0")).write("m/go.sum", sums("v1.0.0")).commit("base");
    repo.write("m/go.sum", sums("v1.1.0")).commit("alone");
    let state = repo.review("HEAD^!").await;
    assert_eq!(found(&state), ["lock-contradicts-manifest m/go.sum:0-0"]);
    repo.write("m/go.sum", sums("v1.0.0")).write("go.work", "use ./m\n").commit("workspace");
    repo.write("m/go.sum", sums("v1.1.0")).commit("alone again");
    assert_eq!(found(&repo.review("HEAD^!").await), [""; 0]);
}
