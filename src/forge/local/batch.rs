//! Contents by object id, through one `git cat-file --batch` conversation per call.

use std::collections::HashMap;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::ChildStdout;

use super::{
    error::{GitError, Result},
    git::{Git, feed},
};
use crate::forge::Content;

const CHECK: &[&str] = &["cat-file", "--batch-check", "--buffer"];
const READ: &[&str] = &["cat-file", "--batch", "--buffer"];

/// The sizes of `blobs`, in their order; `None` where the repository does not hold one.
pub(super) async fn sizes(git: &Git, blobs: &[String]) -> Result<Vec<Option<u64>>> {
    if blobs.is_empty() {
        return Ok(Vec::new());
    }
    let work = async {
        let (running, input, mut out) = git.converse(CHECK)?;
        let read = async {
            let mut sizes = Vec::with_capacity(blobs.len());
            for _ in blobs {
                sizes.push(header(git, &mut out).await?.map(|(_, size)| size));
            }
            Ok(sizes)
        };
        // Both ways at once: a full pipe on one side must not stop the other.
        let (fed, sizes) = tokio::join!(feed(input, blobs.to_vec()), read);
        let sizes = git.end_after(CHECK, running, sizes).await?;
        fed.map_err(|e| git.io(CHECK, &e))?;
        Ok(sizes)
    };
    git.bounded(CHECK, work).await?
}

/// As [`contents`], and only the first of them that together have at most `all` bytes; the others
/// count as too large.
pub(super) async fn first_contents(
    git: &Git,
    blobs: &[String],
    limit: u64,
    all: u64,
) -> Result<Vec<Content>> {
    let sizes = sizes(git, blobs).await?;
    let mut left = all;
    let fits = |size: &&Option<u64>| {
        let size = size.filter(|s| *s <= limit).unwrap_or(0);
        left.checked_sub(size).map(|rest| left = rest).is_some()
    };
    let count = sizes.iter().take_while(fits).count();
    let mut contents = contents(git, &blobs[..count], limit).await?;
    let beyond = sizes[count..].iter().map(|s| s.map_or(Content::Missing, Content::TooLarge));
    contents.extend(beyond);
    Ok(contents)
}

/// The contents of `blobs`, in their order, none of them above `limit` bytes.
pub(super) async fn contents(git: &Git, blobs: &[String], limit: u64) -> Result<Vec<Content>> {
    let sizes = sizes(git, blobs).await?;
    let mut wanted: Vec<String> = blobs
        .iter()
        .zip(&sizes)
        .filter(|(_, size)| size.is_some_and(|s| s <= limit))
        .map(|(blob, _)| blob.clone())
        .collect();
    wanted.sort_unstable();
    wanted.dedup();
    let read = read_all(git, wanted, limit).await?;
    let content = |(blob, size): (&String, &Option<u64>)| match size {
        None => Content::Missing,
        Some(size) if *size > limit => Content::TooLarge(*size),
        Some(_) => read.get(blob).cloned().unwrap_or(Content::Missing),
    };
    Ok(blobs.iter().zip(&sizes).map(content).collect())
}

async fn read_all(git: &Git, wanted: Vec<String>, limit: u64) -> Result<HashMap<String, Content>> {
    if wanted.is_empty() {
        return Ok(HashMap::new());
    }
    let work = async {
        let (running, input, mut out) = git.converse(READ)?;
        let read = async {
            let mut contents = HashMap::with_capacity(wanted.len());
            for blob in &wanted {
                let content = match header(git, &mut out).await? {
                    None => Content::Missing,
                    Some((kind, size)) => body(git, &mut out, (&kind, size), limit).await?,
                };
                contents.insert(blob.clone(), content);
            }
            Ok(contents)
        };
        let (fed, contents) = tokio::join!(feed(input, wanted.clone()), read);
        let contents = git.end_after(READ, running, contents).await?;
        fed.map_err(|e| git.io(READ, &e))?;
        Ok(contents)
    };
    git.bounded(READ, work).await?
}

/// Reads `<id> <kind> <size>`, `None` for `<id> missing`.
async fn header(git: &Git, out: &mut BufReader<ChildStdout>) -> Result<Option<(String, u64)>> {
    let mut line = String::new();
    out.read_line(&mut line).await.map_err(|e| git.io(READ, &e))?;
    if !line.ends_with('\n') {
        return Err(git.cut_short(READ, "it ended in the middle of its answer"));
    }
    let mut words = line.split_whitespace();
    match (words.next(), words.next(), words.next()) {
        (Some(_), Some("missing"), None) => Ok(None),
        (Some(_), Some(kind), Some(size)) => {
            let size = size.parse().map_err(|_| garbled(&line))?;
            Ok(Some((kind.to_owned(), size)))
        }
        _ => Err(garbled(&line)),
    }
}

async fn body(
    git: &Git,
    out: &mut BufReader<ChildStdout>,
    (kind, size): (&str, u64),
    limit: u64,
) -> Result<Content> {
    if size > limit {
        return Err(garbled("an object changed its size"));
    }
    let mut bytes = vec![0; usize::try_from(size).unwrap_or(usize::MAX)];
    out.read_exact(&mut bytes).await.map_err(|e| git.io(READ, &e))?;
    out.read_u8().await.map_err(|e| git.io(READ, &e))?;
    Ok(if kind == "blob" { text(bytes) } else { Content::Missing })
}

/// Bytes as text: NUL bytes make it binary, invalid UTF-8 is replaced and said so.
fn text(bytes: Vec<u8>) -> Content {
    if bytes.contains(&0) {
        return Content::Binary;
    }
    match String::from_utf8(bytes) {
        Ok(text) => Content::Text { text, lossy: false },
        Err(error) => Content::Text {
            text: String::from_utf8_lossy(error.as_bytes()).into_owned(),
            lossy: true,
        },
    }
}

fn garbled(said: &str) -> GitError {
    GitError::Garbled("cat-file", said.trim().chars().take(100).collect())
}
