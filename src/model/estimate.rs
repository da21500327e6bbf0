//! About how many tokens a text has. No tokenizer fits all models, so this counts what all of them split at: words, digits,
//! marks. [`Measure`] corrects it by what providers report.

use std::sync::atomic::{AtomicU32, Ordering};

/// Characters of a word that make a token.
const WORD_TOKEN_CHARS: u64 = 5;

/// Tokens of a text, estimated. For source code and English within about a third of what common tokenizers count.
pub fn tokens(text: &str) -> u64 {
    let (mut halves, mut run) = (0_u64, 0_u64);
    let mut blank = false;
    let end_run = |run: &mut u64, halves: &mut u64| {
        *halves += run.div_ceil(WORD_TOKEN_CHARS) * 2;
        *run = 0;
    };
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            run += 1;
            blank = false;
            continue;
        }
        end_run(&mut run, &mut halves);
        // A run of blanks is about half a token, single blanks go with the word that follows.
        let is_blank = c.is_whitespace();
        halves += match c {
            '\n' => 1,
            _ if is_blank => u64::from(blank && c != ' '),
            c if c.is_ascii() => 1,
            _ => 2,
        };
        blank = is_blank;
    }
    end_run(&mut run, &mut halves);
    halves.div_ceil(2)
}

/// How the estimates compare with what a provider counts, learned from its answers.
#[derive(Debug)]
pub struct Measure {
    /// Thousandths of a reported token for each estimated one.
    ratio: AtomicU32,
}

impl Default for Measure {
    fn default() -> Self {
        Self { ratio: AtomicU32::new(1_000) }
    }
}

impl Measure {
    /// An estimate that is seldom exceeded: corrected, plus a margin of 30 %.
    pub fn with_margin(&self, estimated: u64) -> u64 {
        estimated.saturating_mul(u64::from(self.ratio.load(Ordering::Relaxed))).div_ceil(1_000) * 13
            / 10
    }

    /// Learns from an answer: a quarter of the difference at a time, within a factor of three.
    pub fn learn(&self, estimated: u64, reported: u64) {
        if estimated < 200 {
            return;
        }
        let seen = (reported.saturating_mul(1_000) / estimated).clamp(333, 3_000);
        let seen = u32::try_from(seen).unwrap_or(1_000);
        let _ = self
            .ratio
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |old| Some((old * 3 + seen) / 4));
    }
}

/// Whether a server that reports so many prompt tokens read less than was sent: far less than estimated, or less while it is just
/// what a default context holds. Servers of local models cut prompts without a word.
pub fn was_cut(estimated: u64, reported: u64) -> bool {
    if reported == 0 || estimated < 400 {
        return false;
    }
    let round = (10..=17).any(|power| reported.abs_diff(1 << power) <= 8);
    reported * 2 < estimated || round && reported * 5 < estimated * 4
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P4: the estimate is near what tokenizers of three families count for such texts (four characters a token of prose, three of
    /// code).
    #[test]
    fn estimates_are_near() {
        let prose = "The quick brown fox jumps over the lazy dog, and nobody minds it. ".repeat(50);
        let code =
            "    if let Some(value) = map.get(&key) {\n        total += value.len();\n    }\n"
                .repeat(50);
        for (text, chars_per_token) in [(prose, 4.4), (code, 3.2)] {
            #[expect(clippy::cast_precision_loss, reason = "small numbers")]
            let (estimated, expected) = (tokens(&text) as f64, text.len() as f64 / chars_per_token);
            let ratio = estimated / expected;
            assert!((0.7..1.4).contains(&ratio), "{estimated} for {expected}");
        }
        assert_eq!(tokens(""), 0);
        assert!(tokens("変更") >= 2);
    }

    /// P7: a prompt that a server cut is noticed; small differences of tokenizers are not taken for it.
    #[test]
    fn cut_prompts_are_noticed() {
        assert!(was_cut(10_000, 4_096) && was_cut(6_000, 4_095) && was_cut(5_000, 2_000));
        assert!(!was_cut(5_000, 4_096) && !was_cut(5_000, 3_000) && !was_cut(5_000, 9_000));
        assert!(!was_cut(300, 40) && !was_cut(5_000, 0), "too small to tell; not reported");
    }

    #[test]
    fn a_measure_learns() {
        let measure = Measure::default();
        assert_eq!(measure.with_margin(1_000), 1_300);
        for _ in 0..40 {
            measure.learn(1_000, 2_000);
        }
        assert!((2_500..=2_600).contains(&measure.with_margin(1_000)));
    }
}
