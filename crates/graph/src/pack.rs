//! JSON in a small package: plain, or compressed where that pays.

use std::cell::RefCell;

use bytes::Bytes;
use serde::{Serialize, de::DeserializeOwned};
use zstd::bulk::Compressor;

use crate::base::misfit;

const PLAIN: u8 = 0;
const ZSTD: u8 = 1;
/// Level 3 saves a twentieth of the bytes and costs about a twelfth of a whole run.
const LEVEL: i32 = 1;
/// Below this many bytes compression gains nothing worth its time.
const WORTH: usize = 512;
/// A compressed package says how long it will be; more than this is not believed.
const MOST: usize = 1 << 30;
/// A zstd block takes at least three bytes and holds at most 128 KiB: what a package claims beyond
/// that is not in it, and nothing is set aside for it.
const BLOCK: (usize, usize) = (3, 128 * 1024);

struct Tools {
    json: Vec<u8>,
    zstd: Option<Compressor<'static>>,
}

thread_local! {
    // A zstd context costs more to make than to use.
    static TOOLS: RefCell<Tools> = const { RefCell::new(Tools { json: Vec::new(), zstd: None }) };
}

/// `value` as JSON, compressed if `compress` and it is long enough for that to pay.
pub(super) fn pack(value: &impl Serialize, compress: bool) -> serde_json::Result<Bytes> {
    if !compress {
        let mut bytes = vec![PLAIN];
        serde_json::to_writer(&mut bytes, value)?;
        return Ok(bytes.into());
    }
    TOOLS.with_borrow_mut(|tools| {
        tools.json.clear();
        tools.json.push(PLAIN);
        serde_json::to_writer(&mut tools.json, value)?;
        let packed = compressed(tools).unwrap_or_else(|| tools.json.clone());
        // One very large value must not stay with the thread for ever.
        tools.json.shrink_to(1 << 20);
        Ok(packed.into())
    })
}

fn compressed(tools: &mut Tools) -> Option<Vec<u8>> {
    let json = tools.json.get(1..)?;
    if json.len() < WORTH {
        return None;
    }
    let length = u32::try_from(json.len()).ok()?;
    let zstd = match &mut tools.zstd {
        Some(zstd) => zstd,
        empty => empty.insert(Compressor::new(LEVEL).ok()?),
    };
    let body = zstd.compress(json).ok()?;
    if body.len() + 5 >= json.len() {
        return None;
    }
    let mut packed = Vec::with_capacity(body.len() + 5);
    packed.push(ZSTD);
    packed.extend_from_slice(&length.to_le_bytes());
    packed.extend_from_slice(&body);
    Some(packed)
}

/// What [`pack`] packed.
pub(super) fn unpack<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    match bytes.split_first() {
        Some((&PLAIN, json)) => serde_json::from_slice(json).map_err(|e| misfit(&e)),
        Some((&ZSTD, rest)) => {
            let json = decompress(rest)?;
            serde_json::from_slice(&json).map_err(|e| misfit(&e))
        }
        Some((tag, _)) => Err(format!("its packing {tag} is unknown to this version")),
        None => Err("it is empty".to_owned()),
    }
}

fn decompress(rest: &[u8]) -> Result<Vec<u8>, String> {
    let (length, body) = rest.split_first_chunk::<4>().ok_or("its length is cut off")?;
    let length = u32::from_le_bytes(*length) as usize;
    if length > MOST || length > (body.len() / BLOCK.0 + 1).saturating_mul(BLOCK.1) {
        return Err(format!("it claims to hold {length} bytes"));
    }
    let json = zstd::bulk::decompress(body, length).map_err(|e| e.to_string())?;
    if json.len() != length {
        return Err(format!("it holds {} bytes instead of {length}", json.len()));
    }
    Ok(json)
}
