//! What calls cost: a table of prices in the settings, and sums that add up exactly.

use std::{
    collections::HashMap,
    fmt,
    ops::{Add, AddAssign, Sub},
};

use serde::{Deserialize, Serialize};

/// An amount of money: millionths of the unit that prices are given in, dollars as a rule.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Cost(pub u64);

impl Cost {
    /// Reads `2.50`.
    ///
    /// # Errors
    /// What it is instead.
    pub fn parse(text: &str) -> Result<Self, String> {
        let amount: f64 = text.trim().parse().map_err(|_| format!("`{text}` is no amount"))?;
        let millionths = (amount * 1e6).round();
        if !(0.0..=1e15).contains(&millionths) {
            return Err(format!("`{text}` is no amount from 0 to a billion"));
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "bounded above"
        )]
        Ok(Self(millionths as u64))
    }
}

impl Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Cost {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl fmt::Display for Cost {
    /// With cents; below a dollar with four places.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / 1_000_000, self.0 % 1_000_000);
        if whole > 0 || self.0 == 0 {
            write!(f, "{whole}.{:02}", rest / 10_000)
        } else {
            write!(f, "0.{:04}", rest.div_ceil(100))
        }
    }
}

/// What a million tokens cost.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Price {
    input: f64,
    output: f64,
    cached: f64,
}

/// The price table: what a million tokens of each model cost.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Prices(HashMap<String, Price>);

impl Prices {
    /// Reads entries of the form `adapter::name = INPUT / OUTPUT` or `… / CACHED`, each the price of a million tokens.
    ///
    /// # Errors
    /// The entry that is none, and why.
    pub fn parse(entries: &[String]) -> Result<Self, String> {
        let entry = |text: &String| {
            let form = || format!("`{text}`: expected `adapter::name = INPUT / OUTPUT / CACHED`");
            let (name, prices) = text.split_once('=').ok_or_else(form)?;
            let prices: Vec<f64> = prices
                .split('/')
                .map(|price| price.trim().parse::<f64>().ok().filter(|p| (0.0..1e6).contains(p)))
                .collect::<Option<_>>()
                .ok_or_else(form)?;
            let (input, output, cached) = match prices[..] {
                [input, output] => (input, output, input),
                [input, output, cached] => (input, output, cached),
                _ => return Err(form()),
            };
            Ok((name.trim().to_owned(), Price { input, output, cached }))
        };
        entries.iter().map(entry).collect::<Result<_, _>>().map(Self)
    }

    /// Whether the price of a model is known.
    pub fn know(&self, model: &str) -> bool {
        self.0.contains_key(model)
    }

    /// What so many tokens of a model cost; nothing when its price is not known.
    pub fn cost(&self, model: &str, (input, output, cached): (u64, u64, u64)) -> Cost {
        let Some(price) = self.0.get(model) else { return Cost::default() };
        #[expect(clippy::cast_precision_loss, reason = "tokens of one call are few")]
        let of = |tokens: u64, price: f64| tokens as f64 * price;
        let fresh = input.saturating_sub(cached);
        let millionths =
            of(fresh, price.input) + of(cached.min(input), price.cached) + of(output, price.output);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "bounded by the tokens"
        )]
        Cost(millionths.round() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P7: cost follows the table to the millionth.
    #[test]
    fn calls_cost_what_the_table_says() {
        let entries = ["openai::a = 2.50 / 10 / 0.25".to_owned(), "x::b=1/2".to_owned()];
        let prices = Prices::parse(&entries).unwrap();
        assert_eq!(prices.cost("openai::a", (1_000_000, 0, 0)), Cost(2_500_000));
        assert_eq!(prices.cost("openai::a", (1000, 100, 400)), Cost(600 * 5 / 2 + 100 + 1000));
        assert_eq!(prices.cost("x::b", (10, 10, 10)), Cost(30));
        assert_eq!(prices.cost("unknown", (10, 10, 10)), Cost(0));
        for bad in ["a", "a=1", "a=1/2/3/4", "a=x/2", "a=-1/2"] {
            assert!(Prices::parse(&[bad.to_owned()]).unwrap_err().contains(bad));
        }
        assert_eq!(Cost::parse("2.5").unwrap(), Cost(2_500_000));
        assert!(Cost::parse("-1").is_err() && Cost::parse("x").is_err());
        let shown = [0, 99, 12_345, 1_500_000, 12_345_678].map(|c| Cost(c).to_string());
        assert_eq!(shown, ["0.00", "0.0001", "0.0124", "1.50", "12.34"]);
    }
}
