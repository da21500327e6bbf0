//! Which review comments GitHub accepts: pure functions over a diff.
//!
//! One comment that is not accepted refuses the whole review, and the answer does not name it.

use serde_json::Value;

use crate::{
    git::{Diff, FileDiff, Side},
    world::reviews::Anchor,
};

/// The longest body of a review, comment or reply, in characters.
pub(crate) const MAX_BODY_CHARACTERS: usize = 65_536;

pub(crate) const PATH_UNRESOLVED: &str = "Path could not be resolved";
pub(crate) const LINE_UNRESOLVED: &str = "Line could not be resolved";
pub(crate) const START_UNRESOLVED: &str = "Start line could not be resolved";
pub(crate) const START_NOT_BEFORE: &str = "Start line must precede the end line.";
pub(crate) const OTHER_HUNK: &str = "Start line must be part of the same hunk as the line.";
pub(crate) const POSITION_UNRESOLVED: &str = "Pull request review thread position is invalid";
pub(crate) const BODY_BLANK: &str = "Body can't be blank";
pub(crate) const BODY_TOO_LONG: &str = "Body is too long (maximum is 65536 characters)";

/// Whether a body can be kept.
pub(crate) fn check_body(body: &str) -> Result<(), &'static str> {
    if body.trim().is_empty() {
        return Err(BODY_BLANK);
    }
    if body.chars().count() > MAX_BODY_CHARACTERS { Err(BODY_TOO_LONG) } else { Ok(()) }
}

/// Where a comment of a request is in a diff.
///
/// # Errors
/// Why GitHub refuses it.
pub(crate) fn anchor(diff: &Diff, comment: &Value) -> Result<Anchor, &'static str> {
    let path = comment["path"].as_str().unwrap_or_default();
    let file = diff.files.iter().find(|file| file.path == path).ok_or(PATH_UNRESOLVED)?;
    if comment["subject_type"] == "file" {
        return Ok(of_file(file));
    }
    if let Some(position) = comment["position"].as_u64().filter(|_| comment["line"].is_null()) {
        return at_position(file, position);
    }
    let line = comment["line"].as_u64().ok_or(LINE_UNRESOLVED)?;
    let side = side(&comment["side"], Side::Right).ok_or(LINE_UNRESOLVED)?;
    let end = file.place(side, line).ok_or(LINE_UNRESOLVED)?;
    let start = start(file, comment, side)?;
    if let Some((first, first_side, place)) = start {
        let same_side_after = first_side == side && first >= line;
        if place.hunk != end.hunk {
            return Err(if same_side_after { START_NOT_BEFORE } else { OTHER_HUNK });
        }
        if place.position >= end.position {
            return Err(START_NOT_BEFORE);
        }
    }
    Ok(Anchor {
        path: file.path.clone(),
        line: Some(line),
        side,
        start: start.map(|(line, side, _)| (line, side)),
        position: Some(end.position),
        hunk: file.hunk_until(end),
        file: false,
    })
}

type Start = Option<(u64, Side, crate::git::Place)>;

fn start(file: &FileDiff, comment: &Value, end: Side) -> Result<Start, &'static str> {
    if comment["start_line"].is_null() {
        return Ok(None);
    }
    let line = comment["start_line"].as_u64().ok_or(START_UNRESOLVED)?;
    let side = side(&comment["start_side"], end).ok_or(START_UNRESOLVED)?;
    let place = file.place(side, line).ok_or(START_UNRESOLVED)?;
    Ok(Some((line, side, place)))
}

fn side(value: &Value, unset: Side) -> Option<Side> {
    match value.as_str() {
        None if value.is_null() => Some(unset),
        Some("LEFT") => Some(Side::Left),
        Some("RIGHT") => Some(Side::Right),
        _ => None,
    }
}

fn of_file(file: &FileDiff) -> Anchor {
    let path = file.path.clone();
    Anchor {
        path,
        line: None,
        side: Side::Right,
        start: None,
        position: None,
        hunk: String::new(),
        file: true,
    }
}

fn at_position(file: &FileDiff, position: u64) -> Result<Anchor, &'static str> {
    let position = usize::try_from(position).map_err(|_| POSITION_UNRESOLVED)?;
    let (side, line) = file.at_position(position).ok_or(POSITION_UNRESOLVED)?;
    let place = file.place(side, line).ok_or(POSITION_UNRESOLVED)?;
    let (path, hunk) = (file.path.clone(), file.hunk_until(place));
    Ok(Anchor {
        path,
        line: Some(line),
        side,
        start: None,
        position: Some(position),
        hunk,
        file: false,
    })
}
