//! The arithmetic of budgets, and what every keyed side refuses.

use std::time::Duration;

use crate::base::{
    Fault, Result, Timestamp,
    keyed::{Budget, Spent},
};

/// The most bytes a value may have.
const MAX_VALUE: usize = 1 << 20;

/// Refuses a value that is too large.
pub fn check_value(space: &str, value: &[u8]) -> Result<()> {
    if value.len() <= MAX_VALUE {
        return Ok(());
    }
    let size = value.len();
    Err(Fault::permanent(format!(
        "a value of {size} bytes is too large for the keyed space `{space}`: at most {MAX_VALUE}"
    )))
}

/// Refuses an amount that could never be granted.
pub fn check_amount(space: &str, amount: f64, budget: Budget) -> Result<()> {
    if amount >= 0.0 && amount <= budget.capacity {
        return Ok(());
    }
    let capacity = budget.capacity;
    Err(Fault::permanent(format!(
        "{amount} units can never be spent from the budget `{space}`: it holds at most {capacity}"
    )))
}

/// What is left in a bucket, as of a moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bucket {
    /// Units it holds.
    pub units: f64,
    /// When they were counted.
    pub as_of: Timestamp,
    /// When it will be full again, and thereby as good as absent.
    pub full_at: Timestamp,
}

/// Spends from what `before` (absent: full) has become by now. Answers the bucket after it when
/// something was taken.
pub fn spend(
    before: Option<Bucket>,
    amount: f64,
    budget: Budget,
    now: Timestamp,
) -> (Spent, Option<Bucket>) {
    // Sums of fractions miss whole numbers by a hair.
    const HAIR: f64 = 1e-9;
    let there = before.map_or(budget.capacity, |bucket| {
        let regained = now.since(bucket.as_of).as_secs_f64() * budget.per_second;
        (bucket.units + regained).min(budget.capacity)
    });
    if there + HAIR < amount {
        return (Spent::Wait(time_for(amount - there, budget.per_second)), None);
    }
    let units = (there - amount).max(0.0);
    let full_at = now.plus(time_for(budget.capacity - units, budget.per_second));
    // A clock that went back must not make the same second count twice.
    let as_of = before.map_or(now, |bucket| bucket.as_of.max(now));
    (Spent::Granted, Some(Bucket { units, as_of, full_at }))
}

/// Whole milliseconds, rounded up: that is how finely clocks are read.
fn time_for(units: f64, per_second: f64) -> Duration {
    let seconds = Duration::try_from_secs_f64(units / per_second).unwrap_or(Duration::MAX);
    let millis = seconds.as_nanos().div_ceil(1_000_000);
    Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: Budget = Budget { capacity: 10.0, per_second: 3.0 };

    #[test]
    fn after_the_wait_it_is_granted() {
        let mut bucket = None;
        let mut now = Timestamp(1000);
        for _ in 0..100 {
            let (spent, after) = spend(bucket, 1.7, BUDGET, now);
            bucket = after.or(bucket);
            if let Spent::Wait(wait) = spent {
                now = now.plus(wait);
                let (spent, after) = spend(bucket, 1.7, BUDGET, now);
                assert_eq!(spent, Spent::Granted);
                bucket = after;
            }
        }
        let spent = 100.0 * 1.7 - BUDGET.capacity;
        let seconds = now.since(Timestamp(1000)).as_secs_f64();
        assert!(seconds >= spent / BUDGET.per_second - 0.001, "{seconds}");
    }

    #[test]
    fn a_bucket_without_income_makes_wait_for_ever() {
        let budget = Budget { capacity: 1.0, per_second: 0.0 };
        let (_, bucket) = spend(None, 1.0, budget, Timestamp(0));
        let (spent, _) = spend(bucket, 1.0, budget, Timestamp(1 << 40));
        assert!(matches!(spent, Spent::Wait(wait) if wait > Duration::from_secs(1 << 32)));
    }

    #[test]
    fn what_can_never_be_granted_is_refused() {
        assert!(check_amount("s", 10.0, BUDGET).is_ok());
        for amount in [10.1, -1.0, f64::NAN] {
            assert!(!check_amount("s", amount, BUDGET).unwrap_err().is_transient());
        }
    }
}
