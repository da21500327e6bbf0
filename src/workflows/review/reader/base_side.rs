//! The base side of a change.

use std::collections::{HashMap, HashSet};

use futures_util::future::join_all;

use super::{ChangeReader, Head, lock};
use crate::{
    analysis::{Finding, Lang, MaskedText, secrets},
    base::Result,
    forge::{Content, FileChange},
};

impl ChangeReader {
    /// The base texts of those of `files` that lost a line, by object id.
    ///
    /// # Errors
    /// When the forge does not answer.
    pub async fn base_texts(&self, files: &[&FileChange]) -> Result<HashMap<String, MaskedText>> {
        let lost = files.iter().filter(|file| file.removed().next().is_some());
        let blobs: Vec<String> = lost.map(|file| file.base.blob.clone()).collect();
        if blobs.is_empty() {
            return Ok(HashMap::new());
        }
        let contents = self.contents(&blobs).await?;
        let masked = blobs.into_iter().zip(contents).map(|(blob, content)| async {
            let Content::Text { text, .. } = content else { return None };
            let masked = self.compute(move || MaskedText::from(text)).await?;
            Some((blob, masked))
        });
        Ok(join_all(masked).await.into_iter().flatten().collect())
    }

    /// The file at `path` on the base side, read once however many tasks want it.
    ///
    /// # Errors
    /// When the forge does not answer.
    pub async fn base_file(&self, path: &str, limit: u64) -> Result<Option<Content>> {
        let known = lock(&self.base_files).entry(path.to_owned()).or_default().clone();
        known.get_or_try_init(|| self.change.base_file(path, limit)).await.cloned()
    }

    /// Makes secrets less sure that were in the file before: whoever wants one has it already.
    pub(super) async fn soften_known_secrets(
        &self,
        files: &[&FileChange],
        heads: &mut [Head],
    ) -> Result<()> {
        let told = |(file, head): &(&&FileChange, &mut Head)| {
            !head.secrets.is_empty() && file.removed().next().is_some()
        };
        let told: Vec<(&&FileChange, &mut Head)> = files.iter().zip(heads).filter(told).collect();
        let blobs = told.iter().flat_map(|(f, _)| [f.base.blob.clone(), f.head.blob.clone()]);
        let contents = self.contents(&blobs.collect::<Vec<_>>()).await?;
        for ((_, head), sides) in told.into_iter().zip(contents.chunks_exact(2)) {
            let [Content::Text { text: base, .. }, Content::Text { text, .. }] = sides else {
                continue;
            };
            let (base, text) = (base.clone(), text.clone());
            let known =
                self.compute(move || secrets::known_lines(&text, &secrets::values(&base))).await;
            let known = known.unwrap_or_default();
            let known = |finding: &&mut Finding| known.contains(finding.start_line);
            head.secrets.iter_mut().filter(known).for_each(Finding::soften);
        }
        Ok(())
    }

    /// The fingerprints of those `found` secrets, each with its file, that another file had which lost lines.
    ///
    /// # Errors
    /// When the forge does not answer.
    pub async fn secrets_elsewhere(
        &self,
        found: Vec<(Finding, FileChange)>,
        files: &[&FileChange],
    ) -> Result<Vec<String>> {
        let lost = |file: &&&FileChange| file.removed().next().is_some();
        let lost: Vec<&FileChange> = files.iter().filter(lost).copied().collect();
        if found.is_empty() || lost.is_empty() {
            return Ok(Vec::new());
        }
        let blobs =
            |files: &[&FileChange]| files.iter().map(|f| f.base.blob.clone()).collect::<Vec<_>>();
        let mut known = HashSet::new();
        for batch in self.batches(&lost) {
            let contents = self.contents(&blobs(batch)).await?;
            let values = move || {
                let text = |it: Content| match it {
                    Content::Text { text, .. } => Some(text),
                    _ => None,
                };
                contents
                    .into_iter()
                    .filter_map(text)
                    .flat_map(|text| secrets::values(&text))
                    .collect()
            };
            known.extend(self.compute(values).await.unwrap_or_else(HashSet::new));
        }
        let heads = self.unmasked(&found.iter().map(|(_, file)| file).collect::<Vec<_>>()).await?;
        let moved = found.into_iter().zip(heads).filter_map(|((finding, _), head)| {
            let Content::Text { text, .. } = head else { return None };
            let known = secrets::known_lines(&text, &known);
            known.contains(finding.start_line).then_some(finding.fingerprint)
        });
        Ok(moved.collect())
    }

    /// The base sides of those files that something is compared with: what has a grammar and lost a line, and whatever
    /// lost one of its first lines.
    pub(super) async fn bases(&self, files: &[&FileChange]) -> Result<HashMap<String, Content>> {
        let wanted = |file: &&&FileChange| {
            let first = file.removed().next();
            first.is_some_and(|r| *r.start() <= 5 || Lang::of(&file.path, "").is_some())
        };
        let blobs: Vec<String> = files.iter().filter(wanted).map(|f| f.base.blob.clone()).collect();
        if blobs.is_empty() {
            return Ok(HashMap::new());
        }
        let contents = self.contents(&blobs).await?;
        Ok(blobs.into_iter().zip(contents).collect())
    }
}
