//! A drawing as SVG, for pages that have no one else to lay it out.
//!
//! Nodes stand in rows by their longest way from the start; arrows down lead through the rows, those
//! that skip a row pass at the right, those that lead back at the left.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{Drawing, Line, PathMark, put};
use crate::command::{self, END};

/// Sizes, in the units of the picture.
const BOX: (usize, usize) = (150, 36);
const GAP: (usize, usize) = (24, 44);
const MARGIN: usize = 40;

const START: &str = "\u{25cf}";

impl Drawing {
    /// As an SVG picture that needs nothing else.
    pub fn svg(&self) -> String {
        let arrows = self.all_arrows();
        let names = self.places(&arrows);
        let (columns, rows) = names
            .values()
            .fold((0, 0), |(most, rows), place| (most.max(place.of), rows.max(place.row + 1)));
        let width = columns * (BOX.0 + GAP.0) + 2 * MARGIN;
        let height = rows * (BOX.1 + GAP.1) + MARGIN;
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" font-family=\"system-ui, sans-serif\" \
             font-size=\"13\">\n<defs><marker id=\"a\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" \
             markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0 8 4 0 8z\" \
             fill=\"#868e96\"/></marker></defs>\n"
        );
        let centre = |place: &Place| {
            let all = place.of * (BOX.0 + GAP.0);
            let left = (width - all) / 2 + place.column * (BOX.0 + GAP.0);
            (left + (BOX.0 + GAP.0) / 2, MARGIN / 2 + BOX.1 / 2 + place.row * (BOX.1 + GAP.1))
        };
        for (from, to, line) in &arrows {
            let (Some(from), Some(to)) = (names.get(from), names.get(to)) else { continue };
            let way = way((from.row, centre(from)), (to.row, centre(to)));
            let dashes = if *line == Line::Fixed { "" } else { " stroke-dasharray=\"5 4\"" };
            let colour = if *line == Line::Error { "#e03131" } else { "#868e96" };
            put(
                &mut text,
                format_args!(
                    "<path d=\"{way}\" fill=\"none\" stroke=\"{colour}\"{dashes} \
                     marker-end=\"url(#a)\"/>\n"
                ),
            );
        }
        for (name, place) in &names {
            let (x, y) = centre(place);
            put(&mut text, format_args!("{}", self.shape(name, x, y)));
        }
        text.push_str("</svg>\n");
        text
    }

    fn shape(&self, name: &str, x: usize, y: usize) -> String {
        let label = match name {
            START => "start",
            END => "end",
            name => name,
        };
        let (fill, line) = match self.marks.get(name) {
            None => ("#f8f9fa", "#868e96"),
            Some(PathMark::Done) => ("#d3f9d8", "#2b8a3e"),
            Some(PathMark::Waiting) => ("#fff3bf", "#e67700"),
            Some(PathMark::Failed) => ("#ffe3e3", "#c92a2a"),
        };
        let round = if name == START || name == END { BOX.1 / 2 } else { 6 };
        let (left, top) = (x - BOX.0 / 2, y - BOX.1 / 2);
        let label: String = label.chars().take(22).collect();
        format!(
            "<rect x=\"{left}\" y=\"{top}\" width=\"{}\" height=\"{}\" rx=\"{round}\" \
             fill=\"{fill}\" stroke=\"{line}\"/><text x=\"{x}\" y=\"{}\" \
             text-anchor=\"middle\" fill=\"#212529\">{}</text>\n",
            BOX.0,
            BOX.1,
            y + 5,
            escaped(&label)
        )
    }

    /// Those of a graph that begins at several nodes lead on from the start itself.
    fn all_arrows(&self) -> Vec<(Arc<str>, Arc<str>, Line)> {
        let several = *self.entry == *command::START;
        let enter = (Arc::from(START), self.entry.clone(), Line::Fixed);
        let own = |(from, to, line): &(Arc<str>, Arc<str>, Line)| {
            let from = if **from == *command::START { Arc::from(START) } else { from.clone() };
            (from, to.clone(), *line)
        };
        (!several).then_some(enter).into_iter().chain(self.arrows.iter().map(own)).collect()
    }

    /// Where each node stands.
    fn places(&self, arrows: &Arrows) -> BTreeMap<Arc<str>, Place> {
        let names = self.nodes.iter().cloned();
        let order: Vec<Arc<str>> = std::iter::once(START.into()).chain(names).collect();
        let mut rows: BTreeMap<Arc<str>, usize> =
            order.iter().map(|name| (name.clone(), usize::from(**name != *START))).collect();
        // What leads back to a node on the way to it pushes nothing down.
        let back = back_arrows(arrows);
        let forward = || (0..).zip(arrows).filter(|(number, _)| !back.contains(number));
        for _ in 0..order.len() {
            for (_, (from, to, _)) in forward().filter(|(_, (_, to, _))| **to != *END) {
                let below = rows.get(from).copied().unwrap_or_default() + 1;
                rows.entry(to.clone()).and_modify(|row| *row = below.max(*row)).or_insert(below);
            }
        }
        let last = rows.values().copied().max().unwrap_or_default() + 1;
        rows.insert(END.into(), last);
        let mut count: BTreeMap<usize, usize> = BTreeMap::new();
        let mut places = BTreeMap::new();
        for name in order.iter().cloned().chain(std::iter::once(END.into())) {
            let row = rows.get(&name).copied().unwrap_or_default();
            let column = count.entry(row).or_default();
            places.insert(name, Place { row, column: *column, of: 0 });
            *column += 1;
        }
        for place in places.values_mut() {
            place.of = count.get(&place.row).copied().unwrap_or_default();
        }
        places
    }
}

type Arrows = [(Arc<str>, Arc<str>, Line)];

/// The arrows, by number, that lead back to a node on the way to where they begin.
fn back_arrows(arrows: &Arrows) -> BTreeSet<usize> {
    let (mut way, mut seen, mut back) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    visit(&START.into(), arrows, &mut way, &mut seen, &mut back);
    back
}

fn visit(
    at: &Arc<str>,
    arrows: &Arrows,
    way: &mut Vec<Arc<str>>,
    seen: &mut BTreeSet<Arc<str>>,
    back: &mut BTreeSet<usize>,
) {
    seen.insert(at.clone());
    way.push(at.clone());
    for (number, (from, to, _)) in arrows.iter().enumerate() {
        if from != at {
            continue;
        }
        if way.contains(to) {
            back.insert(number);
        } else if !seen.contains(to) {
            visit(to, arrows, way, seen, back);
        }
    }
    way.pop();
}

/// A row, a place in it, and how many there are in it.
struct Place {
    row: usize,
    column: usize,
    of: usize,
}

/// The way of an arrow between two boxes, each given by its row and its centre.
fn way(
    (from, (x1, y1)): (usize, (usize, usize)),
    (to, (x2, y2)): (usize, (usize, usize)),
) -> String {
    let half = (BOX.0 / 2, BOX.1 / 2);
    if to == from + 1 {
        let (below, above) = (y1 + half.1, y2 - half.1);
        let middle = (below + above) / 2;
        return format!("M{x1} {below}C{x1} {middle} {x2} {middle} {x2} {above}");
    }
    // Past the boxes between them.
    let bow = MARGIN / 2 + BOX.0 / 4;
    if to > from {
        let (out, into) = (x1 + half.0, x2 + half.0);
        let far = out.max(into) + bow;
        return format!("M{out} {y1}C{far} {y1} {far} {y2} {into} {y2}");
    }
    let (out, into) = (x1 - half.0, x2 - half.0);
    let far = out.min(into).saturating_sub(bow);
    format!("M{out} {y1}C{far} {y1} {far} {y2} {into} {y2}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
