//! Variables, in layers: one for each function and each branch. A branch writes into its own layer,
//! so what it costs follows from what it writes.

use std::collections::HashMap;

use super::value::Value;

/// What one branch wrote.
pub(super) type Layer<'t> = HashMap<&'t str, Value>;

/// The variables in sight.
#[derive(Debug, Default)]
pub(super) struct Env<'t> {
    layers: Vec<Layer<'t>>,
}

impl<'t> Env<'t> {
    pub(super) fn new() -> Self {
        Self { layers: vec![Layer::new()] }
    }

    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.layers.iter().rev().find_map(|layer| layer.get(name))
    }

    pub(super) fn set(&mut self, name: &'t str, value: Value) {
        if let Some(top) = self.layers.last_mut() {
            top.insert(name, value);
        }
    }

    /// Every variable of the function that comes from the same places is checked by a check of
    /// `value`.
    pub(super) fn weaken(&mut self, value: &Value) {
        let from = |v: &Value| {
            v.taints().iter().any(|t| value.taints().iter().any(|o| o.origin == t.origin))
        };
        let mut weak: Layer<'t> = Layer::new();
        for layer in &self.layers {
            for (name, value) in layer.iter().filter(|(_, v)| from(v)) {
                weak.insert(name, value.clone());
            }
        }
        for (name, mut value) in weak {
            value.each(|t| {
                t.weak = true;
                true
            });
            self.set(name, value);
        }
    }

    pub(super) fn push(&mut self) {
        self.layers.push(Layer::new());
    }

    pub(super) fn pop(&mut self) -> Layer<'t> {
        self.layers.pop().unwrap_or_default()
    }

    /// Leaves what the file itself sets in sight, and gives back the rest.
    pub(super) fn leave(&mut self) -> Vec<Layer<'t>> {
        self.layers.split_off(self.layers.len().min(1))
    }

    pub(super) fn enter_again(&mut self, layers: Vec<Layer<'t>>) {
        self.layers.truncate(1);
        self.layers.extend(layers);
    }

    /// After a branch that is not certain to be taken: its values, or those before it.
    pub(super) fn may(&mut self, branch: Layer<'t>) {
        self.either(branch, Layer::new());
    }

    /// After a branch that is certain to be taken.
    pub(super) fn must(&mut self, branch: Layer<'t>) {
        if let Some(top) = self.layers.last_mut() {
            top.extend(branch);
        }
    }

    /// After two branches, one of which is taken.
    pub(super) fn either(&mut self, one: Layer<'t>, mut other: Layer<'t>) {
        for (name, value) in one {
            let against = other.remove(name).or_else(|| self.get(name).cloned());
            let joined = match against {
                Some(against) => value.join(&against),
                None => value,
            };
            self.set(name, joined);
        }
        for (name, value) in other {
            let joined = match self.get(name) {
                Some(before) => value.join(before),
                None => value,
            };
            self.set(name, joined);
        }
    }
}
