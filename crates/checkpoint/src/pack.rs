//! Records as one string of bytes: those of one append are one row, or one document.
//!
//! Each item is a tag, then its byte strings, each led by its length. Where a store keeps answers to
//! interrupts with the records, they stand beside the record they came with.

use bytes::{Buf, Bytes};

use verdict_graph::store::StoredRecord;

const BARE: u8 = 0;
const FULL: u8 = 1;
const ANSWER: u8 = 2;

/// What one append brought.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Pack {
    pub records: Vec<StoredRecord>,
    pub answers: Vec<Bytes>,
}

/// A length goes seven bits at a time, the low ones first; the eighth says that more follow.
fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    let mut length = bytes.len();
    while length >= 0x80 {
        out.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
    out.extend_from_slice(bytes);
}

fn take(from: &mut Bytes) -> Option<Bytes> {
    let mut length = 0;
    for shift in (0..usize::BITS).step_by(7) {
        let byte = from.try_get_u8().ok()?;
        length |= usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return (length <= from.len()).then(|| from.split_to(length));
        }
    }
    None
}

impl Pack {
    pub(super) fn encode(records: &[StoredRecord], answers: &[&[u8]]) -> Vec<u8> {
        let payload = |record: &StoredRecord| record.payload.as_ref().map_or(0, Bytes::len);
        let sizes = records.iter().map(|record| record.meta.len() + payload(record) + 9);
        let mut out = Vec::with_capacity(sizes.sum());
        for record in records {
            out.push(if record.payload.is_some() { FULL } else { BARE });
            put(&mut out, &record.meta);
            if let Some(payload) = &record.payload {
                put(&mut out, payload);
            }
        }
        for answer in answers {
            out.push(ANSWER);
            put(&mut out, answer);
        }
        out
    }

    /// `None` when the bytes are no pack.
    pub(super) fn decode(mut bytes: Bytes) -> Option<Self> {
        let mut pack = Self::default();
        while let Ok(tag) = bytes.try_get_u8() {
            let first = take(&mut bytes)?;
            match tag {
                BARE => pack.records.push(StoredRecord { meta: first, payload: None }),
                FULL => {
                    let payload = Some(take(&mut bytes)?);
                    pack.records.push(StoredRecord { meta: first, payload });
                }
                ANSWER => pack.answers.push(first),
                _ => return None,
            }
        }
        Some(pack)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_packed_comes_out_and_what_is_cut_does_not() {
        let records = vec![
            StoredRecord { meta: Bytes::new(), payload: None },
            StoredRecord { meta: "m".into(), payload: Some(Bytes::new()) },
            StoredRecord { meta: "\0".into(), payload: Some(vec![255; 300].into()) },
            StoredRecord { meta: vec![7; 127].into(), payload: Some(vec![8; 1 << 21].into()) },
        ];
        let bytes = Bytes::from(Pack::encode(&records, &[b"yes", b""]));
        let answers = vec!["yes".into(), Bytes::new()];
        assert_eq!(Pack::decode(bytes.clone()), Some(Pack { records, answers }));
        assert_eq!(Pack::decode(Bytes::new()), Some(Pack::default()));
        assert_eq!(Pack::decode(bytes.slice(..bytes.len() - 3)), None);
        assert_eq!(Pack::decode(vec![9, 0].into()), None, "no such tag");
        assert_eq!(Pack::decode(vec![0; 1].into()), None, "no length");
        assert_eq!(Pack::decode([&[0][..], &[0xff; 12]].concat().into()), None, "no end of it");
    }
}
