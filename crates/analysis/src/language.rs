//! The languages rules are written for: which a file is in, by its name and its first lines, and
//! which of them this binary has a grammar for.

use std::{borrow::Cow, fmt};

use ast_grep_core::{
    Language, Pattern, PatternError,
    matcher::PatternBuilder,
    meta_var::MetaVariable,
    tree_sitter::{LanguageExt, TSLanguage},
};
use ast_grep_language::SupportLang;

use crate::{page_scripts, template_json};

/// A language this binary has a grammar for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lang {
    /// One of ast-grep's.
    Known(SupportLang),
    /// Dockerfile, also called Containerfile.
    #[cfg(feature = "languages")]
    Dockerfile,
}

use SupportLang as S;

/// In every binary.
const ALWAYS: &[S] = &[S::Python, S::JavaScript, S::TypeScript, S::Tsx, S::Go, S::Rust, S::Java];

/// With the feature `languages`, besides Dockerfile.
const FEATURED: &[S] = &[
    S::Bash,
    S::C,
    S::Cpp,
    S::CSharp,
    S::Hcl,
    S::Html,
    S::Json,
    S::Kotlin,
    S::Php,
    S::Ruby,
    S::Scala,
    S::Swift,
    S::Yaml,
];

impl Lang {
    /// Every language this binary has a grammar for.
    pub fn all() -> impl Iterator<Item = Self> {
        let featured = if cfg!(feature = "languages") { FEATURED } else { &[] };
        ALWAYS.iter().chain(featured).copied().map(Self::Known).chain(dockerfile())
    }

    /// The language called `name`; `None` for one that this binary was built without.
    ///
    /// # Errors
    /// When there is no such language.
    pub fn named(name: &str) -> Result<Option<Self>, String> {
        if name.eq_ignore_ascii_case("dockerfile") {
            return Ok(dockerfile());
        }
        match name.parse::<S>() {
            Ok(lang) if ALWAYS.contains(&lang) => Ok(Some(Self::Known(lang))),
            Ok(lang) if FEATURED.contains(&lang) => {
                Ok(cfg!(feature = "languages").then_some(Self::Known(lang)))
            }
            _ => Err(format!("`{name}` is not a language that rules can be written for")),
        }
    }

    /// A language that stands for all whose programs call each other's functions by name.
    pub(super) fn family(self) -> Self {
        match self {
            Self::Known(S::JavaScript | S::Tsx) => Self::Known(S::TypeScript),
            Self::Known(S::Kotlin | S::Scala) => Self::Known(S::Java),
            Self::Known(S::C) => Self::Known(S::Cpp),
            other => other,
        }
    }

    /// Whether indentation says what lies in what.
    pub(super) fn is_indented(self) -> bool {
        matches!(self, Self::Known(S::Yaml | S::Python))
    }

    /// Whether it has functions and statements.
    pub(super) fn is_program(self) -> bool {
        matches!(self, Self::Known(known) if !matches!(known, S::Yaml | S::Json | S::Hcl | S::Html))
    }

    /// A name that a file in this language could have.
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Known(S::Python) => "a.py",
            Self::Known(S::JavaScript) => "a.js",
            Self::Known(S::TypeScript) => "a.ts",
            Self::Known(S::Tsx) => "a.tsx",
            Self::Known(S::Go) => "a.go",
            Self::Known(S::Rust) => "a.rs",
            Self::Known(S::Java) => "A.java",
            Self::Known(S::C) => "a.c",
            Self::Known(S::Cpp) => "a.cpp",
            Self::Known(S::CSharp) => "A.cs",
            Self::Known(S::Ruby) => "a.rb",
            Self::Known(S::Php) => "a.php",
            Self::Known(S::Kotlin) => "A.kt",
            Self::Known(S::Scala) => "A.scala",
            Self::Known(S::Html) => "a.html",
            Self::Known(S::Swift) => "a.swift",
            Self::Known(S::Bash) => "a.sh",
            Self::Known(S::Yaml) => "a.yml",
            Self::Known(S::Json) => "a.json",
            Self::Known(S::Hcl) => "a.tf",
            Self::Known(_) => "a",
            #[cfg(feature = "languages")]
            Self::Dockerfile => "Dockerfile",
        }
    }

    /// The language of the file at `path` that holds `text`.
    pub fn of(path: &str, text: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        if is_dockerfile(name) {
            return dockerfile();
        }
        let lang =
            by_name(name).or_else(|| SupportLang::from_path(path)).or_else(|| script(text))?;
        let typed = is_component(name) && page_scripts::is_typed(text);
        let lang = if typed { S::TypeScript } else { lang };
        let template = lang == S::Json && template_json::is_template(text);
        let lang = if template { S::Yaml } else { lang };
        let lang = if lang == S::C && name.ends_with(".h") && is_cpp(text) { S::Cpp } else { lang };
        if lang == S::TypeScript && is_markup(text) {
            return None;
        }
        let built = cfg!(feature = "languages") && FEATURED.contains(&lang);
        (built || ALWAYS.contains(&lang)).then_some(Self::Known(lang))
    }
}

/// Markup, whatever the name says: translations of Qt's bear the same ending as TypeScript.
pub(super) fn is_markup(text: &str) -> bool {
    let text = text.trim_start();
    ["<?xml", "<!DOCTYPE", "<TS"].iter().any(|start| text.starts_with(start))
}

fn dockerfile() -> Option<Lang> {
    #[cfg(feature = "languages")]
    return Some(Lang::Dockerfile);
    #[cfg(not(feature = "languages"))]
    None
}

fn is_dockerfile(name: &str) -> bool {
    let low = name.to_ascii_lowercase();
    ["dockerfile", "containerfile"].iter().any(|word| {
        low == *word
            || low.strip_prefix(word).is_some_and(|rest| rest.starts_with(['.', '-', '_']))
                && !SupportLang::from_path(&low).is_some_and(|l| l != S::Bash)
            || low.strip_suffix(word).is_some_and(|rest| rest.ends_with('.'))
    })
}

/// Of Vue or Svelte: markup, style and script in one file.
fn is_component(name: &str) -> bool {
    name.ends_with(".vue") || name.ends_with(".svelte")
}

fn by_name(name: &str) -> Option<S> {
    match name {
        "Rakefile" | "Gemfile" | "Guardfile" | "Capfile" | "Vagrantfile" => Some(S::Ruby),
        "wscript" | "SConstruct" | "SConscript" => Some(S::Python),
        _ if is_component(name) => Some(S::JavaScript),
        _ => None,
    }
}

/// The language a first line like `#!/usr/bin/env python3` names.
fn script(text: &str) -> Option<S> {
    let line = text.strip_prefix("#!")?.lines().next()?;
    let mut words = line.split_whitespace().map(|w| w.rsplit('/').next().unwrap_or(w));
    let program = words.find(|w| *w != "env" && !w.starts_with('-') && !w.contains('='))?;
    match program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.') {
        "sh" | "bash" | "dash" | "ksh" | "zsh" => Some(S::Bash),
        "python" => Some(S::Python),
        "node" => Some(S::JavaScript),
        "ruby" => Some(S::Ruby),
        "php" => Some(S::Php),
        _ => None,
    }
}

/// Whether a header is C++ rather than C, by the words only one of them has.
fn is_cpp(text: &str) -> bool {
    text.lines().map(str::trim_start).any(|line| {
        ["namespace ", "class ", "template <", "template<", "public:", "private:", "using "]
            .iter()
            .any(|word| line.starts_with(word))
    })
}

impl fmt::Display for Lang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(lang) => lang.fmt(f),
            #[cfg(feature = "languages")]
            Self::Dockerfile => f.write_str("Dockerfile"),
        }
    }
}

macro_rules! ask {
    ($me:expr, $known:ident => $answer:expr, $grammar:ident => $own:expr) => {
        match $me {
            Lang::Known($known) => $answer,
            #[cfg(feature = "languages")]
            Lang::Dockerfile => {
                let $grammar: TSLanguage = tree_sitter_containerfile::LANGUAGE.into();
                $own
            }
        }
    };
}

impl Language for Lang {
    fn kind_to_id(&self, kind: &str) -> u16 {
        ask!(self, known => known.kind_to_id(kind), g => g.id_for_node_kind(kind, true))
    }

    fn field_to_id(&self, field: &str) -> Option<u16> {
        ask!(self, known => known.field_to_id(field), g => g.field_id_for_name(field).map(|f| f.get()))
    }

    fn expando_char(&self) -> char {
        ask!(self, known => known.expando_char(), _g => 'µ')
    }

    fn pre_process_pattern<'q>(&self, query: &'q str) -> Cow<'q, str> {
        ask!(self, known => known.pre_process_pattern(query), _g => Cow::Borrowed(query))
    }

    fn extract_meta_var(&self, source: &str) -> Option<MetaVariable> {
        ask!(self, known => known.extract_meta_var(source), _g => None)
    }

    fn build_pattern(&self, builder: &PatternBuilder<'_>) -> Result<Pattern, PatternError> {
        let lang = *self;
        builder.build(|src| ast_grep_core::tree_sitter::StrDoc::try_new(src, lang))
    }
}

impl LanguageExt for Lang {
    fn get_ts_language(&self) -> TSLanguage {
        ask!(self, known => known.get_ts_language(), g => g)
    }
}
