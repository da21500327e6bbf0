//! A finding, its words, and the fingerprint that names it across runs.

use std::{collections::HashMap, fmt, str::FromStr};

use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The text stands for none of the words allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is not one of {allowed}")]
pub struct UnknownWord {
    word: String,
    allowed: String,
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name { $($(#[$vdoc])* #[serde(rename = $word)] $variant),+ }

        impl $name {
            /// Every value, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word it is written as.
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.word())
            }
        }

        impl FromStr for $name {
            type Err = UnknownWord;

            fn from_str(text: &str) -> Result<Self, UnknownWord> {
                let allowed = || Self::ALL.iter().map(|v| v.word()).collect::<Vec<_>>().join(", ");
                Self::ALL.iter().copied().find(|v| v.word() == text)
                    .ok_or_else(|| UnknownWord { word: text.to_owned(), allowed: allowed() })
            }
        }
    };
}

words! {
    /// What a rule is about. The findings of a category belong to the agent of that name.
    Category {
        /// How it reads.
        Style = "style",
        /// Whom it exposes.
        Security = "security",
        /// Whether it does what it should.
        Logic = "logic",
        /// Habits that end badly.
        Pattern = "pattern",
    }
}

impl From<Category> for String {
    fn from(category: Category) -> Self {
        category.word().to_owned()
    }
}

words! {
    /// How much it matters, least first.
    Severity {
        /// Worth knowing.
        Info = "info",
        /// Worth a thought.
        Low = "low",
        /// Worth fixing.
        Medium = "medium",
        /// Must be fixed.
        High = "high",
        /// Must be fixed before anything else happens.
        Critical = "critical",
    }
}

words! {
    /// Which side of the diff.
    Side {
        /// The base.
        Left = "LEFT",
        /// The head.
        Right = "RIGHT",
    }
}

words! {
    /// What kind of analyser found it.
    Source {
        /// A structural rule.
        Rule = "rule",
        /// The secret detector.
        Secret = "secret",
        /// A check that needs no grammar.
        Check = "check",
        /// A value followed through functions.
        Flow = "flow",
        /// A model.
        Model = "model",
        /// Another tool, whose log was brought into the review.
        Tool = "tool",
        /// verdict itself, about its own settings or coverage.
        Verdict = "verdict",
    }
}

/// How sure the analyser is: hundredths, 0 to 100. Written as a number from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Confidence(u8);

impl Confidence {
    /// `hundredths` of certainty, at most 100.
    pub const fn hundredths(hundredths: u8) -> Self {
        Self(if hundredths > 100 { 100 } else { hundredths })
    }

    /// In hundredths.
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl TryFrom<f64> for Confidence {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        if !(0.0..=1.0).contains(&value) {
            return Err(format!("confidence {value} is not between 0 and 1"));
        }
        let hundredths = (0..=100_u8).find(|h| f64::from(*h) / 100.0 + 0.005 > value);
        Ok(Self(hundredths.unwrap_or(100)))
    }
}

impl From<Confidence> for f64 {
    fn from(confidence: Confidence) -> Self {
        Self::from(confidence.0) / 100.0
    }
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2}", f64::from(*self))
    }
}

/// Something a reviewer would say about some lines.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Names the same finding across runs: it survives lines moving. 16 hex digits.
    #[serde(default)]
    pub fingerprint: String,
    /// The id of the agent it belongs to.
    pub agent: String,
    /// The rule that found it.
    pub rule: String,
    /// The file, as named on its side.
    pub path: String,
    /// The side its lines count on.
    pub side: Side,
    /// First line, from 1; 0 when it is about the file as a whole.
    pub start_line: u32,
    /// Last line, inclusive.
    pub end_line: u32,
    /// How much it matters.
    pub severity: Severity,
    /// How sure the analyser is.
    pub confidence: Confidence,
    /// What is wrong, in one line.
    pub title: String,
    /// Why it is wrong and what to do. Markdown.
    pub body: String,
    /// What to put in place of lines `start_line..=end_line`, where that is safe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
    /// The first line it is about, as it stands there (secrets masked); empty for a whole file.
    pub quote: String,
    /// What kind of analyser found it.
    pub source: Source,
    /// The way a value takes to the harm it does, in order; empty for what is no flow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flow: Vec<FlowStep>,
    /// What decides whether it is told, and is not stored.
    #[serde(skip)]
    pub unless: Unless,
}

/// What may keep a finding from being told, once more is known of the change than its texts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Unless {
    /// The line on which the code that it is about begins, where the change left that line as it was; else 0.
    pub begins: u32,
    /// The first day on which to tell it (UTC), where it did not always hold: a version got updates before.
    pub since: Option<Date>,
    /// What it is about, where that is only worth telling of what strangers own.
    pub strangers: Option<String>,
}

/// A place on the way of a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowStep {
    /// The file.
    pub path: String,
    /// The line, from 1.
    pub line: u32,
    /// What happens there.
    pub note: String,
}

impl Finding {
    /// Quotes are shown and stored up to this many characters.
    pub const QUOTE_CHARS: usize = 400;

    /// Below the usual threshold.
    pub const SOFTENED: Confidence = Confidence::hundredths(45);

    /// Makes it less sure than the usual threshold asks for, if it was surer: it still counts.
    pub fn soften(&mut self) {
        self.confidence = self.confidence.min(Self::SOFTENED);
    }

    /// A finding about the file as a whole.
    pub fn is_whole_file(&self) -> bool {
        self.start_line == 0
    }
}

/// `line` as a quote.
pub fn quote(line: &str) -> String {
    line.chars().take(Finding::QUOTE_CHARS).collect()
}

/// Names each finding by rule, path, quote (blanks collapsed) and its number among equals, in the
/// order given. Line numbers stay out of it, so it survives lines moving.
pub fn assign_fingerprints(findings: &mut [Finding]) {
    let mut seen: HashMap<[u8; 32], u32> = HashMap::new();
    for finding in findings {
        let quote: Vec<&str> = finding.quote.split_whitespace().collect();
        let parts = [&finding.rule, &finding.path, finding.side.word(), &quote.join(" ")];
        let what = digest(&parts.map(str::as_bytes));
        let number = seen.entry(what).or_default();
        let name = digest(&[&what, &number.to_le_bytes()]);
        *number += 1;
        finding.fingerprint = name[..8].iter().map(|b| format!("{b:02x}")).collect();
    }
}

fn digest(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}
