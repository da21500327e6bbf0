//! Where in nested graphs something is.

use std::{fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Serialize};

/// A task of a graph whose node is a subgraph. Written down as `[step, node, index]`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "(u32, Arc<str>, u32)", into = "(u32, Arc<str>, u32)")]
pub struct Place {
    /// The step of the graph around it.
    pub step: u32,
    /// The node there.
    pub node: Arc<str>,
    /// The task's place in its step.
    pub index: u32,
}

impl From<(u32, Arc<str>, u32)> for Place {
    fn from((step, node, index): (u32, Arc<str>, u32)) -> Self {
        Self { step, node, index }
    }
}

impl From<Place> for (u32, Arc<str>, u32) {
    fn from(place: Place) -> Self {
        (place.step, place.node, place.index)
    }
}

/// The tasks whose subgraphs something is in, the outermost first; empty in the workflow's own
/// graph. Cheap to clone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "Vec<Place>", into = "Vec<Place>")]
pub struct Path(Option<Arc<[Place]>>);

impl From<Vec<Place>> for Path {
    fn from(places: Vec<Place>) -> Self {
        Self((!places.is_empty()).then(|| places.into()))
    }
}

impl From<Path> for Vec<Place> {
    fn from(path: Path) -> Self {
        path.places().to_vec()
    }
}

impl Path {
    /// Whether it is the workflow's own graph.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The tasks, the outermost first.
    pub fn places(&self) -> &[Place] {
        self.0.as_deref().unwrap_or_default()
    }

    /// The path of the subgraph of a task here.
    #[must_use]
    pub fn inside(&self, place: Place) -> Self {
        let mut places = self.places().to_vec();
        places.push(place);
        places.into()
    }

    /// The outermost task, and the path as the graph in it sees it.
    pub(super) fn split(&self) -> Option<(&Place, Self)> {
        let (first, rest) = self.places().split_first()?;
        Some((first, rest.to_vec().into()))
    }

    /// The tasks as [`StepRef`] names them: `2.0/1.3`.
    pub fn tasks(&self) -> String {
        let tasks = self.places().iter().map(|place| format!("{}.{}", place.step, place.index));
        tasks.collect::<Vec<_>>().join("/")
    }

    /// The name of a node there, led by those around it: `agent/plan`.
    pub fn name(&self, node: &Arc<str>) -> Arc<str> {
        if self.is_empty() {
            return node.clone();
        }
        let mut name = String::new();
        for place in self.places() {
            name.push_str(&place.node);
            name.push('/');
        }
        (name + node).into()
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, Place { step, node, index }) in self.places().iter().enumerate() {
            let between = if at == 0 { "" } else { "/" };
            write!(f, "{between}{step}.{node}.{index}")?;
        }
        Ok(())
    }
}

/// A finished step, in the workflow's own graph (`3`) or in a subgraph: `2.0/3` is step 3 in the
/// subgraph of task 0 of step 2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepRef {
    /// (step, task) of the tasks around it, the outermost first.
    pub inside: Vec<(u32, u32)>,
    /// The step; 0 is the start.
    pub step: u32,
}

impl StepRef {
    pub(super) fn is_in(&self, path: &Path) -> bool {
        let places = path.places().iter().map(|place| (place.step, place.index));
        places.eq(self.inside.iter().copied())
    }
}

impl From<u32> for StepRef {
    fn from(step: u32) -> Self {
        Self { inside: Vec::new(), step }
    }
}

impl fmt::Display for StepRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inside.iter().try_for_each(|(step, index)| write!(f, "{step}.{index}/"))?;
        write!(f, "{}", self.step)
    }
}

impl FromStr for StepRef {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refused = || format!("`{text}` is no step: expected `3`, or `2.0/3` in a subgraph");
        let mut parts: Vec<&str> = text.split('/').collect();
        let step = parts.pop().and_then(|last| last.parse().ok()).ok_or_else(refused)?;
        let task = |part: &str| {
            let (step, index) = part.split_once('.')?;
            Some((step.parse().ok()?, index.parse().ok()?))
        };
        let inside: Option<Vec<_>> = parts.into_iter().map(task).collect();
        Ok(Self { inside: inside.ok_or_else(refused)?, step })
    }
}
