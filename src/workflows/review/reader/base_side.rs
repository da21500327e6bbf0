//! The base side of a change.

use std::collections::HashMap;

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
            let known = self.compute(move || secrets::known_lines(&text, &base)).await;
            let known = known.unwrap_or_default();
            let known = |finding: &&mut Finding| known.contains(finding.start_line);
            head.secrets.iter_mut().filter(known).for_each(Finding::soften);
        }
        Ok(())
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
