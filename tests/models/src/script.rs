//! Which reply is for which call.

use std::{collections::VecDeque, sync::Arc};

use crate::{Call, Reply, Wire, reply::Kind};

type Condition = Arc<dyn Fn(&Call) -> bool + Send + Sync>;

/// Which calls a script is for.
#[derive(Clone)]
pub struct When(Vec<Condition>);

impl When {
    /// All of them.
    pub fn any() -> Self {
        Self(Vec::new())
    }

    /// Those that say this, in their instructions or after.
    pub fn says(words: impl Into<String>) -> Self {
        Self::any().and_says(words)
    }

    /// Those that say this as well.
    #[must_use]
    pub fn and_says(self, words: impl Into<String>) -> Self {
        let words = words.into();
        self.matching(move |call| call.says(&words))
    }

    /// Those of them for this model.
    #[must_use]
    pub fn of_model(self, model: impl Into<String>) -> Self {
        let model = model.into();
        self.matching(move |call| call.model == model)
    }

    /// Those of them in this format.
    #[must_use]
    pub fn of_wire(self, wire: Wire) -> Self {
        self.matching(move |call| call.wire == wire)
    }

    /// Those of them for which this holds.
    #[must_use]
    pub fn matching(mut self, condition: impl Fn(&Call) -> bool + Send + Sync + 'static) -> Self {
        self.0.push(Arc::new(condition));
        self
    }

    fn holds(&self, call: &Call) -> bool {
        self.0.iter().all(|condition| condition(call))
    }
}

/// Every script, the latest last.
#[derive(Default)]
pub(crate) struct Scripts(Vec<(When, VecDeque<Reply>)>);

impl Scripts {
    pub(crate) fn add(&mut self, when: When, replies: impl IntoIterator<Item = Reply>) {
        let replies: VecDeque<Reply> = replies.into_iter().collect();
        assert!(!replies.is_empty(), "a script has at least one reply");
        self.0.push((when, replies));
    }

    /// What a call is answered.
    pub(crate) fn reply(&mut self, call: &Call) -> Reply {
        for (when, replies) in self.0.iter_mut().rev() {
            if !when.holds(call) {
                continue;
            }
            let next =
                if replies.len() > 1 { replies.pop_front() } else { replies.front().cloned() };
            let mut reply = next.unwrap_or_else(Reply::next_script);
            while let Kind::By(answer) = &reply.kind {
                let answered = answer(call);
                reply = reply.around(answered);
            }
            if !matches!(reply.kind, Kind::NextScript) {
                return reply;
            }
        }
        Reply::error(400, "no script is for this request")
    }
}
