//! Which parts of what a store takes are sealed, and opened when it gives them back.

use super::{KeyRing, frame::What};
use verdict_graph::store::{
    Append, Head, HeadChange, Letter, NewRun, RunId, StoreError, StoredRecord,
};

impl KeyRing {
    /// The first records of a run and its answers. The record for the runs it supersedes names this
    /// run and nothing else, and stays as it is: which runs they are is not known yet.
    pub(super) fn seal_new(&self, new: NewRun) -> Result<NewRun, StoreError> {
        let run = &new.id;
        let answer = |(interrupt, answer): (String, Option<bytes::Bytes>)| {
            let what = What::Answer { run, interrupt: &interrupt };
            let answer = answer.map(|answer| self.seal(answer, &what)).transpose()?;
            Ok::<_, StoreError>((interrupt, answer))
        };
        let records = self.seal_records(run, 0, new.records)?;
        let asks = new.asks.into_iter().map(answer).collect::<Result<_, _>>()?;
        Ok(NewRun { records, asks, ..new })
    }

    pub(super) fn seal_append(&self, append: Append) -> Result<Append, StoreError> {
        let run = &append.lease.run;
        let records = self.seal_records(run, append.expected, append.records)?;
        let error = append.head.error.map(|text| self.seal_text(text, &What::Error { run }));
        let head = HeadChange { error: error.transpose()?, ..append.head };
        let letter = append.letter.map(|letter| self.seal_letter(*letter).map(Box::new));
        Ok(Append { records, head, letter: letter.transpose()?, ..append })
    }

    fn seal_records(
        &self,
        run: &RunId,
        after: u64,
        records: Vec<StoredRecord>,
    ) -> Result<Vec<StoredRecord>, StoreError> {
        let numbered = (after + 1..).zip(records);
        numbered.map(|(seq, record)| self.seal_record(run, Some(seq), record)).collect()
    }

    /// Without a number the store gives it one: what is written from outside.
    pub(super) fn seal_record(
        &self,
        run: &RunId,
        seq: Option<u64>,
        record: StoredRecord,
    ) -> Result<StoredRecord, StoreError> {
        let StoredRecord { meta, payload } = record;
        let meta = self.seal(meta, &What::Meta { run, seq })?;
        let what = What::Payload { run, seq, meta: &meta };
        let payload = payload.map(|payload| self.seal(payload, &what)).transpose()?;
        Ok(StoredRecord { meta, payload })
    }

    pub(super) fn open_record(
        &self,
        run: &RunId,
        seq: u64,
        record: StoredRecord,
    ) -> Result<StoredRecord, StoreError> {
        let StoredRecord { meta: stored, payload } = record;
        let seq = Some(seq);
        let meta = self.open(stored.clone(), &What::Meta { run, seq })?;
        let what = What::Payload { run, seq, meta: &stored };
        let payload = payload.map(|payload| self.open(payload, &what)).transpose()?;
        Ok(StoredRecord { meta, payload })
    }

    /// An error's text that does not open stays as it is stored: a listing is not refused for it.
    pub(super) fn open_head(&self, head: &mut Head) {
        if let Some(text) = &mut head.error {
            self.open_text(text, &What::Error { run: &head.id });
        }
    }

    pub(super) fn seal_letter(&self, letter: Letter) -> Result<Letter, StoreError> {
        let id = &letter.id;
        let payload = self.seal(letter.payload, &What::LetterBody { id })?;
        let error = self.seal_text(letter.error, &What::LetterError { id })?;
        Ok(Letter { payload, error, ..letter })
    }

    /// Listings leave the body out.
    pub(super) fn open_letter(&self, mut letter: Letter) -> Result<Letter, StoreError> {
        let id = &letter.id;
        self.open_text(&mut letter.error, &What::LetterError { id });
        letter.payload = self.open(letter.payload, &What::LetterBody { id })?;
        Ok(letter)
    }
}
