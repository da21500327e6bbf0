//! Multi-row statements in a few fixed sizes.

/// As many rows as a statement takes at once, the most first: few rows, which is what one run
/// writes, are always one statement, and a thousand are ten.
const SIZES: [usize; 12] = [128, 64, 32, 16, 8, 7, 6, 5, 4, 3, 2, 1];

/// One statement over many rows, in a few fixed sizes: a driver's cost is by the statement, and
/// only texts that come again stay prepared.
#[derive(Debug)]
pub struct Rows {
    sizes: [(usize, String); SIZES.len()],
}

impl Rows {
    /// The statement `before` + `row`, as often as there are rows, with commas + `after`.
    /// Placeholders must be plain `?`.
    pub fn new(before: &str, row: &str, after: &str) -> Self {
        let sized = |n: usize| (n, format!("{before}{}{after}", vec![row; n].join(",")));
        Self { sizes: SIZES.map(sized) }
    }

    /// Cuts `items` into the sizes there are, each piece with its statement.
    pub fn pieces<'a, T>(&'static self, mut items: &'a [T]) -> Vec<(&'static str, &'a [T])> {
        let mut pieces = Vec::new();
        while let Some((size, sql)) = self.sizes.iter().find(|(size, _)| *size <= items.len()) {
            let (piece, rest) = items.split_at(*size);
            pieces.push((sql.as_str(), piece));
            items = rest;
        }
        pieces
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;

    #[test]
    fn every_item_is_in_exactly_one_piece_and_in_order() {
        static ROWS: LazyLock<Rows> = LazyLock::new(|| Rows::new("v ", "(?,?)", " r"));
        for n in [0_usize, 1, 7, 8, 9, 31, 32, 75, 1000] {
            let items: Vec<usize> = (0..n).collect();
            let pieces = ROWS.pieces(&items);
            assert!(pieces.len() <= 10);
            let joined: Vec<usize> = pieces.iter().flat_map(|(_, p)| p.iter().copied()).collect();
            assert_eq!(joined, items);
            for (sql, piece) in pieces {
                assert_eq!(sql.matches("(?,?)").count(), piece.len());
                assert!(sql.starts_with("v (") && sql.ends_with(") r"));
            }
        }
    }
}
