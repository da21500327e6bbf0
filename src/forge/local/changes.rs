//! Every changed path of a range with its hunks: one `diff-tree` for the paths, read by NUL, and
//! one for the hunks, read line by line in constant memory and matched by order and object id.

use std::collections::HashSet;

use super::{
    batch,
    error::{GitError, Result},
    git::Git,
};
use crate::forge::{
    COMPARED_BYTES, Entry, EntryKind, FileChange, Status, Target,
    diff::{FilePatch, InvalidPatch, PatchParser},
};

/// Beyond this many candidates renames are looked for by equal content only.
const RENAMES: &[&str] = &["-M", "-l2000"];

/// More paths than this are too many to name on a command line.
const MOST_NAMED: usize = 500;

pub(super) async fn changes(git: &Git, target: &Target) -> Result<Vec<FileChange>> {
    // Attributes have no say in the list.
    let list = async {
        let mut files = listed(git, target, RENAMES, &[]).await?;
        let large = measure(git, &mut files).await?;
        if large.is_empty() { Ok(files) } else { Err(Hindrance::Large(files, large)) }
    };
    let hunks = async { Ok(patches(&git.apart().await?, target, &[]).await?) };
    // Most changes have nothing large: their hunks need not wait for the sizes.
    let compared = match tokio::try_join!(list, hunks) {
        Ok((files, patches)) => attach(files, &[], patches),
        Err(Hindrance::Large(files, large)) => {
            compared(&git.apart().await?, target, (files, large), &[]).await
        }
        Err(Hindrance::Failed(error)) => Err(error),
    };
    match compared {
        // Content that is not here stops git altogether; only its own paths shall suffer.
        Err(error @ GitError::Git { .. }) => {
            around_missing(&git.apart().await?, target, error).await
        }
        other => other,
    }
}

/// Why all files cannot be compared at once.
enum Hindrance {
    /// These paths have a large side.
    Large(Vec<FileChange>, Vec<String>),
    Failed(GitError),
}

impl From<GitError> for Hindrance {
    fn from(error: GitError) -> Self {
        Self::Failed(error)
    }
}

/// The contents of either side that a comparison of the two commits reads.
pub(super) async fn changed_blobs(git: &Git, base: &str, head: &str) -> Result<Vec<String>> {
    let raw = ["--no-renames", "--raw", "-z", "--no-abbrev", base, head];
    let files = parse_raw(&git.output(&[&diff_tree()[..], &raw].concat()).await?)?;
    let sides = files.into_iter().flat_map(|file| [file.base, file.head]);
    Ok(sides.filter(has_content).map(|entry| entry.blob).collect())
}

/// Files of which some are large, every path but those that `without` names, with their hunks.
async fn compared(
    git: &Git,
    target: &Target,
    (files, large): (Vec<FileChange>, Vec<String>),
    without: &[String],
) -> Result<Vec<FileChange>> {
    let without = [without, &large].concat();
    attach(files, &large, patches(git, target, &without).await?)
}

/// The hunks of every path but those that `without` names.
async fn patches(git: &Git, target: &Target, without: &[String]) -> Result<Vec<FilePatch>> {
    let (sparing, paths) = all_but(git, without.iter());
    let patch = ["-p", "-U0", "--full-index", "--no-color", "--diff-algorithm=histogram"];
    let mut parser = PatchParser::default();
    let args = [&diff_tree(), RENAMES, &patch, &ends(target), &strs(&paths)].concat();
    sparing.lines(&args, PatchParser::PREFIX, |line| parser.line(line).map_err(garbled)).await?;
    parser.finish().map_err(garbled)
}

/// What names every path but these.
fn all_but<'p>(git: &Git, without: impl Iterator<Item = &'p String>) -> (Git, Vec<String>) {
    let out: Vec<String> = without.map(|path| format!(":(top,exclude,literal){path}")).collect();
    if out.is_empty() {
        return (git.clone(), out);
    }
    let paths = ["--".to_owned(), ":(top)".to_owned()].into_iter().chain(out).collect();
    (Git { literal_paths: false, ..git.clone() }, paths)
}

fn strs(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}

/// The same without their hunks.
async fn listed(
    git: &Git,
    target: &Target,
    renames: &[&str],
    without: &[String],
) -> Result<Vec<FileChange>> {
    let raw = ["--raw", "-z", "--no-abbrev"];
    let (git, paths) = all_but(git, without.iter());
    let args = [&diff_tree(), renames, &raw, &ends(target), &strs(&paths)].concat();
    parse_raw(&git.output(&args).await?)
}

/// As [`changes`], in a repository that lacks some of the content: those paths come without
/// hunks. If nothing is lacking, `error` was about something else.
async fn around_missing(git: &Git, target: &Target, error: GitError) -> Result<Vec<FileChange>> {
    let all = listed(git, target, &["--no-renames"], &[]).await?;
    let blobs: Vec<String> =
        all.iter().flat_map(|f| [f.base.blob.clone(), f.head.blob.clone()]).collect();
    let sizes = batch::sizes(git, &blobs).await?;
    let lacks = |entry: &Entry, size: Option<u64>| size.is_none() && has_content(entry);
    let (lacking, whole): (Vec<_>, Vec<_>) = all
        .into_iter()
        .zip(sizes.chunks_exact(2))
        .partition(|(f, sizes)| lacks(&f.base, sizes[0]) || lacks(&f.head, sizes[1]));
    if lacking.is_empty() || lacking.len() > MOST_NAMED {
        return Err(error);
    }
    let unavailable = |(file, sizes): (FileChange, &[Option<u64>])| FileChange {
        unavailable: true,
        size: sizes[1],
        ..file
    };
    let mut files: Vec<FileChange> = lacking.into_iter().map(unavailable).collect();
    if !whole.is_empty() {
        let without: Vec<String> = files.iter().map(|f| f.path.clone()).collect();
        let mut whole = listed(git, target, RENAMES, &without).await?;
        let large = measure(git, &mut whole).await?;
        files.extend(compared(git, target, (whole, large), &without).await?);
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// Whether git holds an object of that id here.
fn has_content(entry: &Entry) -> bool {
    !matches!(entry.kind, EntryKind::Absent | EntryKind::Submodule)
}

fn diff_tree() -> [&'static str; 5] {
    ["diff-tree", "-r", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none"]
}

fn ends(target: &Target) -> [&str; 2] {
    [&target.base, &target.head]
}

/// Reads `:<mode> <mode> <id> <id> <status>\0<path>\0[<path>\0]` records.
fn parse_raw(raw: &[u8]) -> Result<Vec<FileChange>> {
    let mut fields = raw.split(|b| *b == 0).filter(|f| !f.is_empty());
    let mut files = Vec::new();
    while let Some(meta) = fields.next() {
        let bad = || GitError::Garbled("diff-tree", lossy(meta));
        let text = std::str::from_utf8(meta).map_err(|_| bad())?;
        let words: Vec<&str> = text.strip_prefix(':').ok_or_else(bad)?.split(' ').collect();
        let [old_mode, new_mode, old, new, status] = words[..] else { return Err(bad()) };
        let status = status_of(status).ok_or_else(bad)?;
        let first = lossy(fields.next().ok_or_else(bad)?);
        let (path, old_path) = match status {
            Status::Renamed | Status::Copied => {
                (lossy(fields.next().ok_or_else(bad)?), Some(first))
            }
            _ => (first, None),
        };
        files.push(FileChange {
            path,
            old_path,
            status,
            base: Entry { kind: kind_of(old_mode), blob: old.to_owned() },
            head: Entry { kind: kind_of(new_mode), blob: new.to_owned() },
            binary: false,
            unavailable: false,
            size: None,
            hunks: Vec::new(),
        });
    }
    Ok(files)
}

fn status_of(word: &str) -> Option<Status> {
    Some(match word.as_bytes().first()? {
        b'A' => Status::Added,
        b'M' => Status::Modified,
        b'D' => Status::Deleted,
        b'R' => Status::Renamed,
        b'C' => Status::Copied,
        b'T' => Status::TypeChanged,
        _ => return None,
    })
}

fn kind_of(mode: &str) -> EntryKind {
    match mode {
        "000000" => EntryKind::Absent,
        "100755" => EntryKind::Executable,
        "120000" => EntryKind::Symlink,
        "160000" => EntryKind::Submodule,
        _ => EntryKind::File,
    }
}

/// Gives each file but those that are `large` the patch that is its own. A changed type is shown as
/// a removal followed by an addition.
fn attach(
    mut files: Vec<FileChange>,
    large: &[String],
    patches: Vec<FilePatch>,
) -> Result<Vec<FileChange>> {
    let mut patches = patches.into_iter();
    for file in &mut files {
        if large.contains(&file.path) {
            file.binary = true;
            continue;
        }
        let next = patches.next().ok_or_else(|| mismatch(file))?;
        let patch = match file.status {
            Status::TypeChanged => {
                let second = patches.next().ok_or_else(|| mismatch(file))?;
                let hunks = next.hunks.into_iter().chain(second.hunks).collect();
                FilePatch { hunks, binary: next.binary || second.binary, index: None }
            }
            _ => next,
        };
        if let Some((old, new)) = &patch.index
            && (*old != file.base.blob || *new != file.head.blob)
        {
            return Err(mismatch(file));
        }
        file.binary = patch.binary;
        file.hunks = patch.hunks;
    }
    match patches.next() {
        None => Ok(files),
        Some(_) => Err(GitError::Garbled("diff-tree", "more patches than paths".into())),
    }
}

/// Fills in the sizes of the heads. Answers the paths with a large side: git would hold it whole only
/// to say that it differs.
async fn measure(git: &Git, files: &mut [FileChange]) -> Result<Vec<String>> {
    let blobs: Vec<String> =
        files.iter().flat_map(|f| [f.base.blob.clone(), f.head.blob.clone()]).collect();
    let sizes = batch::sizes(git, &blobs).await?;
    let mut large = Vec::new();
    for (file, sizes) in files.iter_mut().zip(sizes.chunks_exact(2)) {
        file.size = sizes[1].filter(|_| has_content(&file.head));
        let paths = [Some(&file.path), file.old_path.as_ref()].into_iter().flatten();
        // A path that is not text cannot be named.
        let named = !paths.clone().any(|path| path.contains("\\x"));
        let room = large.len() + 2 <= MOST_NAMED;
        if named && room && sizes.iter().flatten().any(|size| *size > COMPARED_BYTES) {
            large.extend(paths.cloned());
        }
    }
    Ok(large)
}

/// Together, both sides of a small change have at most so many bytes.
const SMALL_BYTES: u64 = 256 * 1024;

/// The contents of both sides of these files, by object id, if they are small; their sizes were asked for.
pub(super) fn small_sides(git: &Git, files: &[FileChange]) -> Option<Vec<String>> {
    let sides = files.iter().flat_map(|file| [&file.base, &file.head]);
    let blobs: Vec<String> = sides.filter(|it| has_content(it)).map(|it| it.blob.clone()).collect();
    let bytes: u64 = git.sizes.of(&blobs).into_iter().sum::<Option<u64>>()?;
    (bytes <= SMALL_BYTES).then_some(blobs)
}

/// Path and entry of every file in what `ls-tree -z` lists.
pub(super) fn listed_files(listing: &[u8]) -> impl Iterator<Item = (String, Entry)> + '_ {
    let file = |record: &[u8]| {
        let tab = record.iter().position(|b| *b == b'\t')?;
        let words: Vec<&str> = std::str::from_utf8(&record[..tab]).ok()?.split(' ').collect();
        let (kind, id) = match words[..] {
            ["100644", "blob", id] => (EntryKind::File, id),
            ["100755", "blob", id] => (EntryKind::Executable, id),
            _ => return None,
        };
        Some((lossy(&record[tab + 1..]), Entry { kind, blob: id.to_owned() }))
    };
    listing.split(|b| *b == 0).filter_map(file)
}

/// The names that `ls-tree -z --name-only` lists.
pub(super) fn names(listing: &[u8]) -> HashSet<String> {
    listing.split(|b| *b == 0).filter(|name| !name.is_empty()).map(lossy).collect()
}

/// A path as text. Bytes that are no UTF-8 are written out, so that two paths stay two.
fn lossy(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
    }
    text
}

fn garbled(error: InvalidPatch) -> GitError {
    GitError::Garbled("diff-tree", error.to_string())
}

fn mismatch(file: &FileChange) -> GitError {
    GitError::Garbled(
        "diff-tree",
        format!("the patch of `{}` is not where it should be", file.path),
    )
}
