//! Lock files against their manifests.

use verdict::analysis::sides::lock_file;

/// A lock file is compared with its manifest requirement by requirement, and with nothing else.
#[test]
fn lock_files_and_their_manifests() {
    let how = |manifest: &str, root: &str| {
        lock_file::contradiction(manifest, &format!(r#"{{"packages": {{"": {root}}}}}"#))
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
    assert_eq!(lock_file::contradiction("{}", r#"{"dependencies": {"a": {}}}"#), None);
    assert_eq!(lock_file::manifest_of("web/package-lock.json").unwrap(), "web/package.json");
    assert_eq!(lock_file::manifest_of("package-lock.json").unwrap(), "package.json");
    assert_eq!(lock_file::manifest_of("my-package-lock.json"), None);
    assert_eq!(lock_file::manifest_of("Cargo.lock"), None);
}
