//! Compiled rules: the built-in ones, and a repository's own beside them.

use std::{
    collections::{BTreeSet, HashMap},
    ops::Range,
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use ast_grep_config::{DeserializeEnv, Fixer, RuleCore, SerializableRule};
use ast_grep_core::Matcher;
use ast_grep_language::SupportLang;
use globset::GlobSet;
use regex::Regex;

use super::{
    Category, Confidence, Finding, Lang, Lines, RuleError, RuleFile, Severity, SourceText, globs,
    lifetimes::Lifetimes,
    meter::both,
    page_scripts,
    parse::Unparsed,
    rule_cost,
    rules::{self, BUILT_IN, BuiltIn, InTests},
    scan::{self, Scanned},
};

/// A rule ready for one language.
pub(super) struct CompiledRule {
    pub(super) id: String,
    pub(super) category: Category,
    pub(super) severity: Severity,
    pub(super) confidence: Confidence,
    pub(super) tests: InTests,
    /// Whether it matters only where somebody else supplies the values.
    pub(super) about_input: bool,
    /// Whether it is about values that are put into a statement or a command.
    pub(super) puts_in: bool,
    /// What a match must contain one of, and when each ended.
    pub(super) ends: Option<&'static Lifetimes>,
    pub(super) strangers: bool,
    /// The weakness it is an instance of.
    pub(super) cwe: Option<u32>,
    pub(super) title: String,
    pub(super) body: String,
    pub(super) needs: Vec<String>,
    pub(super) files: GlobSet,
    pub(super) matcher: RuleCore,
    pub(super) fix: Option<Fixer>,
    /// The expressions that the text of a match fits, where nothing else tells what it is about.
    expressions: Vec<String>,
    compiled_expressions: OnceLock<Vec<Regex>>,
}

impl CompiledRule {
    /// Where in the text of a match the rule's expressions fit: what it is about, of something that takes
    /// several lines.
    pub(super) fn spot(&self, matched: &str) -> Option<Range<usize>> {
        let compile = || self.expressions.iter().filter_map(|text| Regex::new(text).ok()).collect();
        let all = self.compiled_expressions.get_or_init(compile).iter();
        let found = all.filter_map(|regex| regex.find(matched)).map(|found| found.range());
        found.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end))
    }

    /// Whether it could find anything in a text, by what is known without parsing it.
    pub(super) fn wants(&self, source: SourceText<'_>, test: bool) -> bool {
        (self.files.is_empty()
            || self.files.is_match(source.path)
            || globs::is_workflow(source.path, source.text)
                && self.files.is_match(".github/workflows/any.yml"))
            && !(test && self.tests == InTests::Skip)
            && (self.needs.is_empty()
                || self.needs.iter().any(|n| source.text.contains(n.as_str())))
    }
}

/// The rules of one language.
#[derive(Default)]
pub(super) struct LanguageRules {
    rules: Vec<Rule>,
}

/// A rule of one language, compiled when a text first holds what it needs: most texts hold what few rules need.
struct Rule {
    /// As [`RuleFile::needs`]; empty for what is compiled.
    needs: &'static [&'static str],
    compile: Box<dyn Fn() -> Option<Compiled> + Send + Sync>,
    compiled: OnceLock<Option<Compiled>>,
}

impl Rule {
    fn ready(compiled: Compiled) -> Self {
        Self { needs: &[], compile: Box::new(|| None), compiled: Some(compiled).into() }
    }

    fn built_in(rule: &'static BuiltIn, language: Lang) -> Self {
        let compile = move || compile(&rule.to_scan_with().ok()?, language).ok();
        Self { needs: rule.needs, compile: Box::new(compile), compiled: OnceLock::new() }
    }

    fn is_needed(&self, text: &str) -> bool {
        self.needs.is_empty() || self.needs.iter().any(|word| text.contains(word))
    }

    fn get(&self) -> Option<&Compiled> {
        self.compiled.get_or_init(&self.compile).as_ref()
    }
}

impl LanguageRules {
    /// Those that could find anything in a text, with the kinds of node they can match.
    pub(super) fn wanted(
        &self,
        source: SourceText<'_>,
        test: bool,
    ) -> impl Iterator<Item = (&CompiledRule, &[u16])> {
        let needed = self.rules.iter().filter(|rule| rule.is_needed(source.text));
        let needed: Vec<&Rule> = needed.collect();
        compile_all(&needed);
        let compiled = needed.into_iter().filter_map(Rule::get);
        compiled
            .filter(move |(rule, _)| rule.wants(source, test))
            .map(|(rule, kinds)| (rule, kinds.as_slice()))
    }
}

/// Compiles those that are not yet, on two processors: it is most of what a short review takes.
fn compile_all(rules: &[&Rule]) {
    let missing: Vec<&Rule> =
        rules.iter().filter(|rule| rule.compiled.get().is_none()).copied().collect();
    if missing.len() < WORTH_A_THREAD {
        return;
    }
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(rule) = missing.get(next.fetch_add(1, Ordering::Relaxed)) {
            rule.get();
        }
    };
    both(work, work);
}

/// Compiled rules, ready to scan. Those built in are compiled once in a process, each language
/// when a text first needs it.
#[derive(Default)]
pub struct Ruleset {
    built_in: bool,
    languages: HashMap<Lang, LanguageRules>,
    ids: BTreeSet<String>,
    /// About how many bytes the expressions of the rules take.
    weight: usize,
}

impl Ruleset {
    /// The rules that come with verdict, to scan with or to add others to. One of them that is
    /// broken finds nothing, which its examples rule out.
    pub fn built_in() -> Self {
        Self { built_in: true, ..Self::default() }
    }

    /// Compiles `(file name, text)` pairs.
    ///
    /// # Errors
    /// At the first file that is no rule.
    pub fn parse(files: &[(&str, &str)]) -> Result<Self, RuleError> {
        let mut set = Self::default();
        for (name, text) in files {
            set.add(name, text)?;
        }
        Ok(set)
    }

    /// Adds the rule of one file.
    ///
    /// # Errors
    /// When it is no rule, or its name is taken.
    pub fn add(&mut self, name: &str, text: &str) -> Result<RuleFile, RuleError> {
        let file = rules::read(name, text)?;
        let wrong = |cause: String| RuleError::new(name, text, cause);
        if self.contains(&file.id) {
            return Err(wrong(format!("the name `{}` is taken by another rule", file.id)));
        }
        let weight = rule_cost::weigh(&rules::parse(name, text)?).map_err(wrong)?;
        let weight = self.weight + weight * file.languages.len();
        if weight > rule_cost::MOST {
            return Err(wrong("the expressions of all rules together are too large".into()));
        }
        let mut compiled = Vec::new();
        for language in &file.languages {
            if let Some(lang) = Lang::named(language).map_err(wrong)? {
                compiled.push((lang, compile(&file, lang).map_err(wrong)?));
            }
        }
        for (lang, compiled) in compiled {
            self.languages.entry(lang).or_default().rules.push(Rule::ready(compiled));
        }
        self.ids.insert(file.id.clone());
        self.weight = weight;
        Ok(file)
    }

    /// The findings of every rule on the touched lines of `source`; fingerprints not yet set. None
    /// when the text costs too much to parse.
    pub fn scan(&self, source: SourceText<'_>, lines: &Lines<'_>) -> Vec<Finding> {
        self.find(source, lines).map(|found| found.findings).unwrap_or_default()
    }

    /// As [`Ruleset::scan`], with whether bounds were met. Values are followed where the rules
    /// are those built in.
    ///
    /// # Errors
    /// When the text costs too much to parse.
    pub(super) fn find(
        &self,
        source: SourceText<'_>,
        lines: &Lines<'_>,
    ) -> Result<Scanned, Unparsed> {
        self.walk(source, lines, self.built_in)
    }

    /// What the rules match by themselves, values not followed.
    pub(super) fn matches(&self, source: SourceText<'_>, lines: &Lines<'_>) -> Vec<Finding> {
        self.walk(source, lines, false).map(|found| found.findings).unwrap_or_default()
    }

    fn walk(
        &self,
        source: SourceText<'_>,
        lines: &Lines<'_>,
        flows: bool,
    ) -> Result<Scanned, Unparsed> {
        let Some(language) = Lang::of(source.path, source.text) else {
            return Ok(Scanned::default());
        };
        let mut scanned = self.walk_as(language, source, lines, flows)?;
        let script = Lang::Known(SupportLang::JavaScript);
        if language == Lang::Known(SupportLang::Html) && page_scripts::is_page(source.text) {
            let in_scripts = self.walk_as(script, source, lines, flows)?;
            scanned.findings.extend(in_scripts.findings);
            scanned.cut_off.extend(in_scripts.cut_off);
        }
        Ok(scanned)
    }

    fn walk_as(
        &self,
        language: Lang,
        source: SourceText<'_>,
        lines: &Lines<'_>,
        flows: bool,
    ) -> Result<Scanned, Unparsed> {
        let shared = self.built_in.then(|| built_in(language)).flatten();
        let sets: Vec<_> = shared.into_iter().chain(self.languages.get(&language)).collect();
        scan::scan(&sets, flows, language, source, lines)
    }

    /// Whether there is a rule of this name.
    pub fn contains(&self, id: &str) -> bool {
        self.ids.contains(id) || self.built_in && BuiltIn::named(id).is_some()
    }
}

/// How many rules take longer to compile than a thread to start.
const WORTH_A_THREAD: usize = 8;

type Compiled = (CompiledRule, Vec<u16>);

/// The built-in rules of one language; none for a language without any.
fn built_in(language: Lang) -> Option<&'static LanguageRules> {
    type Sets = Vec<(Lang, OnceLock<LanguageRules>)>;
    static SETS: OnceLock<Sets> = OnceLock::new();
    let sets = SETS.get_or_init(|| Lang::all().map(|lang| (lang, OnceLock::new())).collect());
    let (_, set) = sets.iter().find(|(lang, _)| *lang == language)?;
    let is_it = |name: &&str| matches!(Lang::named(name), Ok(Some(it)) if it == language);
    Some(set.get_or_init(|| {
        let rules = BUILT_IN.iter().filter(|rule| rule.languages.iter().any(&is_it));
        LanguageRules { rules: rules.map(|rule| Rule::built_in(rule, language)).collect() }
    }))
}

/// The rule for one language, and the kinds of node it can match.
fn compile(file: &RuleFile, language: Lang) -> Result<Compiled, String> {
    let env = DeserializeEnv::new(language);
    let matcher = file.matcher.get_matcher(env).map_err(|e| chain(&e))?;
    let kinds =
        matcher.potential_kinds().ok_or("it matches every kind of node: name one with `kind`")?;
    let kinds =
        kinds.iter().map(u16::try_from).collect::<Result<_, _>>().map_err(|e| e.to_string())?;
    let fix = file.fix.as_deref().map(|fix| Fixer::from_str(fix, &language)).transpose();
    let cwe = file.cwe.map(|n| format!(" (CWE-{n})")).unwrap_or_default();
    let softened = file.category == Category::Security;
    let rule = CompiledRule {
        id: file.id.clone(),
        category: file.category,
        severity: file.severity,
        confidence: file.confidence,
        tests: file.tests.unwrap_or(if softened { InTests::Soften } else { InTests::Report }),
        about_input: file.files.is_empty() && matches!(file.cwe, Some(22 | 78 | 89 | 400 | 502)),
        puts_in: file.files.is_empty() && matches!(file.cwe, Some(78 | 89)),
        ends: file.ends.as_deref().map(Lifetimes::named).transpose()?,
        strangers: file.strangers,
        cwe: file.cwe,
        title: file.title.trim().to_owned(),
        body: format!("{}{cwe}\n\n{}", file.problem.trim(), file.advice.trim()),
        needs: file.needs.clone(),
        files: globs::compile(&file.files)?,
        matcher,
        fix: fix.map_err(|e| chain(&e))?,
        expressions: expressions(&file.matcher.rule).unwrap_or_default(),
        compiled_expressions: OnceLock::new(),
    };
    Ok((rule, kinds))
}

/// The expressions for the text of a match; `None` where its parts or a pattern decide, too.
fn expressions(rule: &SerializableRule) -> Option<Vec<String>> {
    if rule.pattern.is_present() || rule.has.is_present() || rule.matches.is_present() {
        return None;
    }
    let mut found: Vec<String> = Option::from(rule.regex.clone()).into_iter().collect();
    let parts = [&rule.any, &rule.all].map(|all| Option::<Vec<_>>::from(all.clone()));
    for part in parts.iter().flatten().flatten() {
        found.extend(expressions(part)?);
    }
    Some(found)
}

/// An error with everything behind it: the outermost alone says little.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `\w` means in a built-in rule, and in a repository's own.
    #[test]
    fn built_in_expressions_are_ascii() {
        let unicode = |expression: &String| {
            let without = expression.replace(r"\\", "");
            [r"\w", r"\d", r"\s"].iter().any(|class| without.contains(class))
        };
        for rule in BUILT_IN {
            let file = rule.read().unwrap();
            let all = expressions(&file.matcher.rule).unwrap_or_default();
            assert!(!all.iter().any(unicode), "{}", rule.file);
        }
        let rule = "id: a\nlanguages: [Python]\ncategory: style\nseverity: low\nconfidence: 0.9\ntitle: t\n\
                    problem: p\nadvice: a\nrule: { kind: identifier, regex: '^\\w+$' }\n";
        let (rule, _) =
            compile(&rules::read("a", rule).unwrap(), Lang::named("Python").unwrap().unwrap())
                .unwrap();
        assert!(rule.spot("größe").is_some());
    }

    /// A built-in file has the keys of any rule, and all of what it says is read.
    #[test]
    fn built_in_rules_are_read_as_their_files() {
        for rule in BUILT_IN {
            let path = format!("{}/src/rules/{}", env!("CARGO_MANIFEST_DIR"), rule.file);
            let (file, read) = (
                rules::read(rule.file, &std::fs::read_to_string(path).unwrap()).unwrap(),
                rule.read().unwrap(),
            );
            let told = |it: &RuleFile| {
                let words =
                    [&it.languages, &it.files, &it.needs, &it.valid, &it.invalid].map(Vec::clone);
                let texts = [&it.id, &it.title, &it.problem, &it.advice].map(String::clone);
                (
                    words,
                    texts,
                    it.category,
                    it.severity,
                    it.confidence,
                    it.tests,
                    (it.cwe, it.strangers),
                    [&it.ends, &it.fix].map(Option::clone),
                )
            };
            assert_eq!(told(&read), told(&file), "{}", rule.file);
            let listed = [rule.languages, rule.needs].map(|words| words.join(","));
            assert_eq!(listed, [file.languages.join(","), file.needs.join(",")]);
            assert_eq!(rule.id, file.id);
        }
    }
}
