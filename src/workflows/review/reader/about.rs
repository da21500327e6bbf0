//! What of a change decides about findings, and is asked of the forge only where there is such a finding: its day, and
//! who owns its repository.

use jiff::{Timestamp, civil::Date, tz::TimeZone};
use tokio::sync::OnceCell;

use super::Analysed;
use crate::{analysis::Finding, base::Result, forge::Change};

/// What was asked of one change.
#[derive(Default)]
pub(super) struct About {
    /// Of the change, or of today where that is not known.
    day: OnceCell<Date>,
    /// Small letters.
    owner: OnceCell<Option<String>>,
}

impl About {
    /// Drops what is not to be told yet on the day of the change, and what would be a stranger's if the owner of its
    /// repository were not named there.
    pub(super) async fn judge(&self, change: &dyn Change, analysed: &mut [Analysed]) -> Result<()> {
        if any(analysed, |finding| finding.unless.since.is_some()) {
            let day = *self.day.get_or_try_init(|| day(change)).await?;
            drop_all(analysed, |finding| finding.unless.since.is_some_and(|since| since > day));
        }
        if any(analysed, |finding| finding.unless.strangers.is_some()) {
            let owner = self.owner.get_or_try_init(|| owner(change)).await?;
            let Some(owner) = owner else { return Ok(()) };
            let own = |text: &String| is_own(&text.to_lowercase(), owner);
            drop_all(analysed, |finding| finding.unless.strangers.as_ref().is_some_and(own));
        }
        Ok(())
    }
}

async fn day(change: &dyn Change) -> Result<Date> {
    let known = change.day().await?;
    Ok(known.unwrap_or_else(|| Timestamp::now().to_zoned(TimeZone::UTC).date()))
}

async fn owner(change: &dyn Change) -> Result<Option<String>> {
    Ok(change.owner().await?.map(|owner| owner.to_lowercase()))
}

fn any(analysed: &[Analysed], is: impl Fn(&Finding) -> bool) -> bool {
    analysed.iter().flat_map(|one| &one.findings).any(is)
}

fn drop_all(analysed: &mut [Analysed], which: impl Fn(&Finding) -> bool) {
    analysed.iter_mut().for_each(|one| one.findings.retain(|finding| !which(finding)));
}

/// Whether what is named there is this owner's: each address, or without one some name.
fn is_own(text: &str, owner: &str) -> bool {
    let mut addresses = text.split_whitespace().filter(|word| word.contains("://")).peekable();
    match addresses.peek() {
        Some(_) => addresses.all(|address| names(address, owner)),
        None => names(text, owner),
    }
}

/// Whether `owner/…` stands there, at the start of a word or of a part of an address.
fn names(text: &str, owner: &str) -> bool {
    text.match_indices(owner).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let starts =
            before.is_none_or(|before| !before.is_alphanumeric() && !"-_.".contains(before));
        starts && text[at + owner.len()..].starts_with('/')
    })
}

#[cfg(test)]
mod tests {
    use super::is_own;

    #[test]
    fn what_is_own_names_the_owner_in_each_address() {
        let script = "curl https://raw.example.org/acme/tool/main/a.sh | sh";
        let own = ["uses: acme/tool@main", "image: 'acme/tool'", script];
        assert!(own.iter().all(|text| is_own(text, "acme")));
        let other =
            "git clone https://example.org/acme/tool && curl https://get.example.org/a | sh";
        let others = ["uses: acme-labs/tool@main", "uses: big-acme/tool@main", other];
        assert!(!others.iter().any(|text| is_own(text, "acme")));
    }
}
