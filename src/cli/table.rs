//! Tables for people: on a terminal each row is one line. Columns shrink, then the least important
//! ones go, until a row fits. In a pipe everything is there.

use textwrap::core::display_width;

use super::output;

/// What a column that may shrink keeps at least.
const MIN_WIDTH: usize = 12;
/// Between two columns.
const GAP: usize = 2;

/// A column of a table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    name: &'static str,
    shrinks: bool,
    /// Higher ones go first; 0 never goes.
    drop: u8,
}

impl Column {
    /// A column that is shown whole.
    pub(super) const fn new(name: &'static str) -> Self {
        Self { name, shrinks: false, drop: 0 }
    }

    /// The same, cut where there is no room.
    pub(super) const fn shrinks(self) -> Self {
        Self { shrinks: true, ..self }
    }

    /// The same, left out where there is no room; those of a higher number go first.
    pub(super) const fn drops(self, order: u8) -> Self {
        Self { drop: order, ..self }
    }
}

/// The rows under their head, as wide as stdout's terminal, if it is one.
pub(super) fn table(columns: &[Column], rows: &[Vec<String>]) -> String {
    fit(columns, rows, output::width())
}

fn fit(columns: &[Column], rows: &[Vec<String>], width: Option<usize>) -> String {
    let tamed = |row: &Vec<String>| -> Vec<String> {
        row.iter().map(|cell| output::tame(first_line(cell))).collect()
    };
    let cells: Vec<Vec<String>> = rows.iter().map(tamed).collect();
    let natural = |index: usize| {
        let widths = cells.iter().filter_map(|row| row.get(index)).map(|cell| display_width(cell));
        widths.chain([columns[index].name.len()]).max().unwrap_or(0)
    };
    let mut shown: Vec<(usize, usize)> = (0..columns.len()).map(|i| (i, natural(i))).collect();
    // An empty column says nothing.
    shown.retain(|(i, _)| columns[*i].drop == 0 || cells.iter().any(|row| !row[*i].is_empty()));
    if let Some(width) = width {
        shrink(columns, &mut shown, width);
    }
    let line = |row: &[String]| {
        let mut line = String::new();
        for (index, width) in &shown {
            let cell = cut(row.get(*index).map(String::as_str).unwrap_or_default(), *width);
            let pad = width.saturating_sub(display_width(&cell)) + GAP;
            line.push_str(&cell);
            line.extend(std::iter::repeat_n(' ', pad));
        }
        format!("{}\n", line.trim_end())
    };
    let head: Vec<String> = columns.iter().map(|column| column.name.to_owned()).collect();
    std::iter::once(line(&head)).chain(cells.iter().map(|row| line(row))).collect()
}

/// Narrows the widest columns that may be narrowed, and drops what has no room even so.
fn shrink(columns: &[Column], shown: &mut Vec<(usize, usize)>, width: usize) {
    let total = |shown: &[(usize, usize)]| {
        shown.iter().map(|(_, width)| width + GAP).sum::<usize>().saturating_sub(GAP)
    };
    let natural = shown.clone();
    loop {
        while total(shown) > width {
            let widest = shown
                .iter_mut()
                .filter(|(i, width)| columns[*i].shrinks && *width > MIN_WIDTH)
                .max_by_key(|(_, width)| *width);
            let Some((_, widest)) = widest else { break };
            *widest -= 1;
        }
        let droppable = shown.iter().map(|(i, _)| *i).filter(|i| columns[*i].drop > 0);
        let Some(least) = droppable.max_by_key(|i| columns[*i].drop) else { return };
        if total(shown) <= width {
            return;
        }
        let kept: Vec<usize> = shown.iter().map(|(i, _)| *i).filter(|i| *i != least).collect();
        *shown = natural.iter().filter(|(i, _)| kept.contains(i)).copied().collect();
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// `text` in so many columns, with `…` where it was cut.
fn cut(text: &str, width: usize) -> String {
    if display_width(text) <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    for c in text.chars() {
        kept.push(c);
        if display_width(&kept) >= width {
            kept.pop();
            break;
        }
    }
    format!("{kept}…")
}

/// A run's key as people know it: commits by their first digits, folders by their last name.
pub(super) fn short_key(key: &str) -> String {
    let id = |word: &str| word.len() >= 32 && word.bytes().all(|b| b.is_ascii_hexdigit());
    let part = |part: &str| match part.rsplit_once('/') {
        Some((folder, name)) if folder.starts_with('/') || folder.is_empty() => name.to_owned(),
        _ => part
            .split("..")
            .map(|end| if id(end) { &end[..10] } else { end })
            .collect::<Vec<_>>()
            .join(".."),
    };
    key.split(':').map(part).collect::<Vec<_>>().join(":")
}
