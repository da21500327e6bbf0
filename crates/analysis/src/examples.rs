//! The examples in rule files, tried.

use super::{Lang, LineSet, Lines, MaskedText, RuleFile, Ruleset, SourceText};

/// An example that does not keep what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// The rule.
    pub rule: String,
    /// The language it was tried in.
    pub language: String,
    /// How many findings the rule should have: 1 for an `invalid` example, 0 for a `valid` one.
    pub expected: usize,
    /// How many it has.
    pub found: usize,
    /// The example.
    pub example: String,
}

/// Tries every example of `file`, whose rule is in `rules`, in each language this binary has a
/// grammar for. Answers how many were tried, and those that went wrong.
pub fn check(rules: &Ruleset, file: &RuleFile) -> (usize, Vec<Wrong>) {
    let mut tried = 0;
    let mut wrong = Vec::new();
    for language in &file.languages {
        let Ok(Some(lang)) = Lang::named(language) else { continue };
        let path = file
            .files
            .first()
            .map_or_else(|| lang.file_name().to_owned(), |glob| like(glob, lang.file_name()));
        let valid = file.valid.iter().map(|example| (example, 0));
        for (example, expected) in valid.chain(file.invalid.iter().map(|example| (example, 1))) {
            tried += 1;
            let found = count(rules, &file.id, &path, example);
            if found != expected {
                wrong.push(Wrong {
                    rule: file.id.clone(),
                    language: language.clone(),
                    expected,
                    found,
                    example: example.clone(),
                });
            }
        }
    }
    (tried, wrong)
}

fn count(rules: &Ruleset, id: &str, path: &str, text: &str) -> usize {
    let (text, touched) = (MaskedText::from(text), LineSet::all());
    let source = SourceText { path, text: &text, touched: &touched };
    // By itself: a flow that is surer would stand in its place.
    rules.matches(source, &Lines::new(&text)).iter().filter(|f| f.rule == id).count()
}

/// A path that a simple glob matches, of a file of this name where the glob names only folders.
fn like(glob: &str, name: &str) -> String {
    let (folders, name) = glob.strip_suffix("**").map_or((glob, ""), |folders| (folders, name));
    folders.replace("**/", "").replace('*', "a") + name
}
