//! Cutting a list of operations where a statement for many would have to do one thing twice.

use std::{collections::HashSet, hash::Hash};

/// Cuts `ops` where one touches what another before it in the same piece touches.
pub(super) fn waves<'t, T, K: Hash + Eq>(
    mut ops: &'t [T],
    touches: impl Fn(&'t T) -> (K, Option<K>),
) -> Vec<&'t [T]> {
    let mut waves = Vec::new();
    while !ops.is_empty() {
        let mut seen = HashSet::with_capacity(ops.len());
        let mut fresh = |op: &'t T| {
            let (first, second) = touches(op);
            seen.insert(first) && second.is_none_or(|second| seen.insert(second))
        };
        let len = ops.iter().position(|op| !fresh(op)).unwrap_or(ops.len());
        let (wave, rest) = ops.split_at(len);
        waves.push(wave);
        ops = rest;
    }
    waves
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_wave_touches_a_thing_twice_and_none_is_left_out() {
        let ops = [(1, None), (2, Some(3)), (3, None), (4, None), (4, None), (5, Some(1))];
        let waves = waves(&ops, |op| *op);
        let cut: Vec<usize> = waves.iter().map(|wave| wave.len()).collect();
        assert_eq!(cut, [2, 2, 2]);
        assert_eq!(waves.concat(), ops);
    }
}
