//! Bounds what one match of a rule may cost. A rule may ask for all that lies in all that lies in a
//! node, over and over: its cost grows with a power of the text's size, and nothing else ends it.
//!
//! A match runs over [`Metered`] nodes, which count each step from node to node and each text that
//! is read. Once the steps are used up, or nobody wants the answer any more, there are no nodes, and
//! the match comes to its end; what it says then does not count. The count depends on nothing but
//! rule and text, so the same text always gives the same answer.

use std::{
    borrow::Cow,
    cell::{Cell, RefCell},
    ops::Range,
    panic,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use ast_grep_core::{
    Doc, Position,
    source::{Edit, SgNode},
    tree_sitter::StrDoc,
};
use tree_sitter::Node;

use super::Lang;

/// How often it is looked whether the answer is still wanted: each so many steps.
const STEPS_BETWEEN_LOOKS: u64 = 4096;

/// A text's bytes read for one step.
const BYTES_PER_STEP: usize = 16;

thread_local! {
    /// Steps left of the match that runs; no bound between matches.
    static LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
    static UNWANTED: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Analyses on this thread, until `unwanted` is set: then they end soon, and say nothing of worth.
pub fn while_wanted<T>(unwanted: Arc<AtomicBool>, work: impl FnOnce() -> T) -> T {
    let before = UNWANTED.replace(Some(unwanted));
    let done = work();
    UNWANTED.set(before);
    done
}

/// Does both at once, `second` on a thread of its own. Analyses in either end when this thread's answer is no longer
/// wanted.
pub fn both<A, B: Send>(first: impl FnOnce() -> A, second: impl FnOnce() -> B + Send) -> (A, B) {
    let unwanted = UNWANTED.with_borrow(Clone::clone);
    thread::scope(|scope| {
        let second = scope.spawn(move || match unwanted {
            Some(unwanted) => while_wanted(unwanted, second),
            None => second(),
        });
        let first = first();
        (first, second.join().unwrap_or_else(|panic| panic::resume_unwind(panic)))
    })
}

/// Whether nobody wants the answer any more.
pub(super) fn is_unwanted() -> bool {
    UNWANTED.with_borrow(|flag| flag.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)))
}

/// Does `work` with so many steps. `None` if they did not suffice; and how many are left.
pub(super) fn bounded<T>(steps: u64, work: impl FnOnce() -> T) -> (Option<T>, u64) {
    let _unbounded = Unbounded;
    LEFT.set(steps);
    let done = work();
    let left = LEFT.get();
    ((left > 0).then_some(done), left)
}

/// Ends the bound of a match, also of one that panics: the thread reads other texts after it.
struct Unbounded;

impl Drop for Unbounded {
    fn drop(&mut self) {
        LEFT.set(u64::MAX);
    }
}

/// Takes so many steps; `false` when there are not so many left.
fn spend(steps: u64) -> bool {
    let before = LEFT.get();
    if before == u64::MAX {
        return true;
    }
    let left = before.saturating_sub(steps);
    let look = before / STEPS_BETWEEN_LOOKS != left / STEPS_BETWEEN_LOOKS;
    let left = if look && is_unwanted() { 0 } else { left };
    LEFT.set(left);
    left > 0
}

/// A text whose nodes count the steps.
#[derive(Clone)]
pub(super) struct MeteredDoc(pub(super) StrDoc<Lang>);

impl Doc for MeteredDoc {
    type Source = String;
    type Lang = Lang;
    type Node<'r> = Metered<'r>;

    fn get_lang(&self) -> &Lang {
        self.0.get_lang()
    }

    fn get_source(&self) -> &String {
        self.0.get_source()
    }

    fn do_edit(&mut self, _: &Edit<String>) -> Result<(), String> {
        Err("a text that is matched does not change".to_owned())
    }

    fn root_node(&self) -> Metered<'_> {
        Metered(self.0.root_node())
    }

    fn get_node_text<'a>(&'a self, node: &Metered<'a>) -> Cow<'a, str> {
        let bytes = node.0.end_byte().saturating_sub(node.0.start_byte());
        let steps = u64::try_from(1 + bytes / BYTES_PER_STEP).unwrap_or(u64::MAX);
        if spend(steps) { self.0.get_node_text(&node.0) } else { Cow::Borrowed("") }
    }
}

/// A node that counts.
#[derive(Clone, Copy)]
pub(super) struct Metered<'r>(pub(super) Node<'r>);

/// The first `left` of these nodes. The matcher relies on their number, which `Take` does not keep.
struct Children<I> {
    nodes: I,
    left: usize,
}

impl<'r, I: Iterator<Item = Node<'r>>> Iterator for Children<I> {
    type Item = Metered<'r>;

    fn next(&mut self) -> Option<Metered<'r>> {
        self.left = self.left.checked_sub(1)?;
        self.nodes.next().map(Metered)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<'r, I: Iterator<Item = Node<'r>>> ExactSizeIterator for Children<I> {}

/// As many as there are steps for.
fn counted<'r>(nodes: impl Iterator<Item = Node<'r>>) -> impl Iterator<Item = Metered<'r>> {
    nodes.take_while(|_| spend(1)).map(Metered)
}

fn one<'r>(find: impl FnOnce() -> Option<Node<'r>>) -> Option<Metered<'r>> {
    spend(1).then(find).flatten().map(Metered)
}

impl<'r> SgNode<'r> for Metered<'r> {
    fn parent(&self) -> Option<Self> {
        one(|| SgNode::parent(&self.0))
    }

    fn ancestors(&self, root: Self) -> impl Iterator<Item = Self> {
        let all: Vec<_> = if spend(1) { self.0.ancestors(root.0).collect() } else { Vec::new() };
        counted(all.into_iter())
    }

    fn dfs(&self) -> impl Iterator<Item = Self> {
        counted(self.0.dfs())
    }

    fn child(&self, nth: usize) -> Option<Self> {
        one(|| SgNode::child(&self.0, nth))
    }

    fn children(&self) -> impl ExactSizeIterator<Item = Self> {
        let children = SgNode::children(&self.0);
        let count = children.len();
        let steps = u64::try_from(count).unwrap_or(u64::MAX).saturating_add(1);
        Children { nodes: children, left: if spend(steps) { count } else { 0 } }
    }

    fn child_by_field_id(&self, field: u16) -> Option<Self> {
        one(|| SgNode::child_by_field_id(&self.0, field))
    }

    fn next(&self) -> Option<Self> {
        one(|| SgNode::next(&self.0))
    }

    fn prev(&self) -> Option<Self> {
        one(|| SgNode::prev(&self.0))
    }

    fn next_all(&self) -> impl Iterator<Item = Self> {
        counted(self.0.next_all())
    }

    fn prev_all(&self) -> impl Iterator<Item = Self> {
        counted(self.0.prev_all())
    }

    fn is_named(&self) -> bool {
        SgNode::is_named(&self.0)
    }

    fn is_named_leaf(&self) -> bool {
        SgNode::is_named_leaf(&self.0)
    }

    fn is_leaf(&self) -> bool {
        SgNode::is_leaf(&self.0)
    }

    fn kind(&self) -> Cow<'_, str> {
        SgNode::kind(&self.0)
    }

    fn kind_id(&self) -> u16 {
        SgNode::kind_id(&self.0)
    }

    fn node_id(&self) -> usize {
        self.0.node_id()
    }

    fn range(&self) -> Range<usize> {
        SgNode::range(&self.0)
    }

    fn start_pos(&self) -> Position {
        self.0.start_pos()
    }

    fn end_pos(&self) -> Position {
        self.0.end_pos()
    }

    fn is_missing(&self) -> bool {
        SgNode::is_missing(&self.0)
    }

    fn is_error(&self) -> bool {
        SgNode::is_error(&self.0)
    }

    fn is_extra(&self) -> bool {
        SgNode::is_extra(&self.0)
    }

    fn field(&self, name: &str) -> Option<Self> {
        one(|| self.0.field(name))
    }

    fn field_children(&self, field: Option<u16>) -> impl Iterator<Item = Self> {
        counted(SgNode::field_children(&self.0, field))
    }
}
