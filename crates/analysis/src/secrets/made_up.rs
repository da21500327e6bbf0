//! What is said of a credential by the place it stands in: made up for tests and explanations, or
//! meant to be public. It is masked all the same.

use super::{
    super::{Lines, globs, lines::is_comment},
    Secret, kinds,
};

const HERE: &[&str] = &["localhost", "127.0.0.1", "host.docker.internal"];

/// Whether what a path holds is written in a language of programs, where a value without quotes is an
/// expression.
pub(super) fn is_code(path: &str) -> bool {
    const ENDS: &str = " c cc clj cpp cs css dart erl ex exs fs go gradle groovy h hcl hpp hs html java jl js \
                        jsx kt kts less lua m mjs cjs ml mm nix php pl pm py r rb rs sass scala scss sol sql \
                        svelte swift tf ts tsx vb vim vue zig md rst adoc ";
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.')
        .is_some_and(|(_, end)| ENDS.contains(&format!(" {} ", end.to_ascii_lowercase())))
}

/// Whether path and line tell that this credential opens nothing: one made up for tests and
/// explanations, or one that its vendor means to be public.
pub(super) fn made_up(secret: &Secret, path: &str, lines: &Lines<'_>) -> bool {
    const PUBLIC: &[&str] = &["authdomain", "messagingsenderid", "maps.googleapis.com/maps/api/js"];
    const INVENTED: &[&str] = &["test", "fake", "dummy", "example", "sample", "mock"];
    let kind = &kinds().all[secret.kind];
    let test = globs::is_test(path);
    let at = lines.at(secret.range.start);
    let line = lines.get(at).unwrap_or_default().to_ascii_lowercase();
    let shown = globs::is_translation(path);
    let explains = || globs::is_markup(path) && !path.ends_with(".txt") || line.contains("example");
    match kind.id {
        // Keys made for tests are committed on purpose.
        "private-key" => {
            let name = line.split("-----begin").next().unwrap_or_default();
            let made =
                |folder: &str| matches!(folder, "dev" | "integration") || folder.contains("fake");
            let dev = path.split('/').any(made);
            let file = path.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
            let sample = ["example", "sample"].iter().any(|word| file.contains(word));
            test || dev || sample || INVENTED.iter().any(|word| name.contains(word))
        }
        // The key of a page that talks to Firebase is in every visitor's hands.
        "google-api-key" if PUBLIC.iter().any(|word| line.contains(word)) => true,
        // Every copy of the app has it.
        "google-api-key" if path.ends_with("google-services.json") => true,
        "connection-password" | "connection-string-password" => {
            let idle = kind.id == "connection-string-password" && leads_to_container(path, &line);
            test || shown || stands_alone(path) || idle || opens_nothing(&line, secret.word)
        }
        "address-password" | "database-password" => {
            // Who is invited to a meeting gets the password with the address.
            let meeting = line.contains("zoom.us/");
            let sample = line.contains("example") || leads_here(&line);
            test || shown || stands_alone(path) || sample || meeting
        }
        // The format is a name's alone, and other programs have such names.
        "wordpress-salt" if is_code(path) && !path.ends_with(".php") => true,
        // Laravel writes one into the settings of tests.
        "laravel-app-key" => {
            let file = path.rsplit('/').next().unwrap_or_default();
            test || stands_alone(path) || explains() || file.contains("test")
        }
        "htpasswd-entry" if is_comment(&line) => true,
        "hardcoded-credential"
        | "assigned-token"
        | "token-in-settings"
        | "password-in-settings"
        | "password-element"
        | "password-option"
        | "environment-secret"
        | "htpasswd-entry"
        | "bearer-token" => {
            test || shown
                || stands_alone(path)
                || explains()
                || ["hash", "encrypted", "temp_keychain"].iter().any(|it| line.contains(it))
                // What Devise writes into its settings is never used.
                || line.trim_start().starts_with("# config.")
                || is_of_development(path, lines, at)
        }
        "json-web-token" => secret.spent || test || stands_alone(path) || explains(),
        // Who wrote the checksum wrong did not get it from where it would be issued.
        _ if secret.checksum == Some(false) => test || explains(),
        _ => test && kind.confidence < 90,
    }
}

/// Whether a connection string leads to this machine, or in a file of Compose to a container beside this one.
fn leads_to_container(path: &str, line: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let composed = name.starts_with("docker-compose") || name.starts_with("compose");
    let mut hosts = ["server=", "host=", "data source="].iter().filter_map(|key| {
        let (_, rest) = line.split_once(key)?;
        rest.split([';', ',', ':', '"']).next()
    });
    let is_name =
        |host: &str| host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b));
    hosts.any(|host| HERE.contains(&host) || composed && is_name(host))
}

/// Whether a line of settings stands in the section of an environment that nobody else reaches.
fn is_of_development(path: &str, lines: &Lines<'_>, line: u32) -> bool {
    const NAMES: &[&str] = &["development:", "dev:", "test:", "local:"];
    let section = |line: &&str| line.starts_with(|c: char| c.is_ascii_alphabetic());
    let yaml = path.ends_with(".yml") || path.ends_with(".yaml");
    let mut above = (1..line).rev().filter_map(|n| lines.get(n));
    yaml && above.find(section).is_some_and(|it| NAMES.iter().any(|name| it.starts_with(name)))
}

/// Whether a line names this machine.
fn leads_here(line: &str) -> bool {
    HERE.iter().any(|host| line.contains(host))
}

/// Whether a connection string, its password masked, leads nowhere: to this machine, or with a mere
/// word for a password to a container beside this one or from a comment.
fn opens_nothing(line: &str, word: bool) -> bool {
    let mut hosts = line.split("*@").skip(1).map(|rest| {
        rest.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '.' | '-' | '_'))
            .next()
            .unwrap_or_default()
    });
    let leads_nowhere = |host: &str| HERE.contains(&host) || word && !host.contains('.');
    word && is_comment(line) || hosts.any(leads_nowhere)
}

/// Whether a line beside it holds a hexadecimal value as long as this one: a list of digests.
pub(super) fn is_listed(lines: &Lines<'_>, line: u32, length: usize) -> bool {
    let digest = |word: &str| word.len() == length && word.bytes().all(|b| b.is_ascii_hexdigit());
    // `client_id` beside `client_secret`: both as long, and no list.
    let named_id = |text: &str| {
        let name = text.split([':', '=']).next().unwrap_or_default();
        let name = name.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        name.to_ascii_lowercase().ends_with("id")
    };
    let holds = |text: &str| {
        text.split(|c: char| !c.is_ascii_alphanumeric()).any(digest) && !named_id(text)
    };
    length >= 32
        && [line.saturating_sub(1), line + 1].iter().filter_map(|n| lines.get(*n)).any(holds)
}

/// Whether an expression with counted characters stands around: a sample of what a scanner looks
/// for.
pub(super) fn beside_its_pattern(lines: &Lines<'_>, line: u32) -> bool {
    let counted = |text: &str| {
        let classes = text.split("]{").skip(1);
        text.contains('[')
            && classes.into_iter().any(|c| c.starts_with(|d: char| d.is_ascii_digit()))
    };
    (line.saturating_sub(4)..=line + 1).filter_map(|n| lines.get(n)).any(counted)
}

/// Whether what a path holds is set up for one run and gone after it: databases of CI, seeds.
fn stands_alone(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let ci = |folder: &str| {
        matches!(
            folder,
            ".ci"
                | "ci"
                | ".github"
                | ".circleci"
                | ".devcontainer"
                | "dev"
                | "devel"
                | "development"
                | "dev-docs"
                | ".vscode"
                | ".idea"
        )
    };
    let ends = [
        ".example",
        ".sample",
        ".dist",
        ".template",
        ".tmpl",
        ".test",
        ".testing",
        ".ci",
        ".http",
        ".rest",
        ".postman_collection.json",
    ];
    folders.split('/').any(|folder| ci(folder) || folder.contains("seed"))
        || name.contains("seeder")
        || ["application-dev.", "application-local.", "application-test."]
            .iter()
            .any(|it| name.starts_with(it))
        || ends.iter().any(|end| name.ends_with(end))
        || ["docker-compose", "compose."].iter().any(|start| name.starts_with(start))
            && ["ci", "test", "dev", "cypress", "local"].iter().any(|w| name.contains(w))
}
