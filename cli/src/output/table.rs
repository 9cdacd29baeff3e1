//! Tables as kubectl prints them.

use std::io;

use super::{width::width, wrapped::wrapped, written::escaped};

/// Rows under their titles. Each column is as wide as its widest cell. Three spaces
/// separate the columns.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
    optional: Vec<&'static str>,
}

impl Table {
    pub(crate) fn new<const N: usize>(titles: [&str; N]) -> Self {
        Self {
            rows: vec![titles.map(str::to_owned).to_vec()],
            optional: Vec::new(),
        }
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.map(|cell| escaped(&cell)).to_vec());
    }

    /// Adds columns.
    pub(crate) fn add_titles<const N: usize>(&mut self, titles: [&str; N]) {
        if let Some(row) = self.rows.first_mut() {
            row.extend(titles.map(str::to_owned));
        }
    }

    /// Adds cells to the last row.
    pub(crate) fn add_cells<const N: usize>(&mut self, cells: [String; N]) {
        if let Some(row) = self.rows.last_mut() {
            row.extend(cells.map(|cell| escaped(&cell)));
        }
    }

    /// Adds a cell to the last row. Each of its parts is cut on its own, so that a
    /// fingerprint behind others stays whole.
    pub(crate) fn add_parts(&mut self, parts: &[String]) {
        if let Some(row) = self.rows.last_mut() {
            let parts: Vec<String> = parts.iter().map(|part| escaped(part)).collect();
            row.push(parts.join(" "));
        }
    }

    /// Whether the table has only titles.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.len() == 1
    }

    /// Removes the first column.
    pub(crate) fn without_first(mut self) -> Self {
        for row in &mut self.rows {
            if !row.is_empty() {
                row.remove(0);
            }
        }
        self
    }

    /// Names the columns that a narrow terminal does without, the first ones first.
    pub(crate) fn optional<const N: usize>(mut self, titles: [&'static str; N]) -> Self {
        self.optional = titles.to_vec();
        self
    }

    /// The table in lines that fit the terminal. Optional columns are dropped before the
    /// last column breaks at words.
    pub(crate) fn to_text(&self) -> String {
        self.fitted(width(&io::stdout()))
    }

    /// The table as [`to_text`](Self::to_text), or with all its columns, in lines of any
    /// length.
    pub(crate) fn text(&self, is_wide: bool) -> String {
        match is_wide {
            true => self.fitted(None),
            false => self.to_text(),
        }
    }

    fn fitted(&self, width: Option<usize>) -> String {
        let mut rows = self.rows.clone();
        let Some(limit) = width else {
            return lines(&rows, None);
        };
        for title in &self.optional {
            let (before_last, last) = widths_of(&rows);
            if before_last + last.min(NARROWEST) <= limit {
                break;
            }
            let titles = rows.first();
            let Some(column) = titles.and_then(|row| row.iter().position(|cell| cell == title))
            else {
                continue;
            };
            for row in rows.iter_mut().filter(|row| row.len() > column) {
                row.remove(column);
            }
        }
        lines(&rows, Some(limit))
    }
}

/// The width of all columns but the last one, and that of the last one.
fn widths_of(rows: &[Vec<String>]) -> (usize, usize) {
    let mut widths = widths(rows);
    let last = widths.pop().unwrap_or_default();
    (widths.iter().map(|width| width + GAP).sum(), last)
}

fn widths(rows: &[Vec<String>]) -> Vec<usize> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        let lengths = cells.map(|cell| cell.chars().count());
        lengths.max().unwrap_or_default()
    };
    (0..columns).map(width).collect()
}

fn lines(rows: &[Vec<String>], limit: Option<usize>) -> String {
    let widths = widths(rows);
    let (indent, _) = widths_of(rows);
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths);
        let cells: Vec<String> = cells
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        let line = cells.join(&" ".repeat(GAP));
        format!("{}\n", wrapped(line.trim_end(), limit, indent))
    };
    rows.iter().map(line).collect()
}

/// The spaces between two columns.
const GAP: usize = 3;
/// A narrower last column is not readable.
const NARROWEST: usize = 24;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_tenants_is_kubectls() {
        let mut table = Table::new(["NAME", "AGE", "CONDITION"]);
        table.row(["cl01", "16m", "Active"].map(str::to_owned));
        assert_eq!(
            table.to_text(),
            "NAME   AGE   CONDITION\ncl01   16m   Active\n"
        );
    }

    #[test]
    fn columns_are_dropped_before_words_are_broken() {
        let mut table = Table::new(["PEER", "IS", "PHASE", "WAITS FOR"]).optional(["IS"]);
        let waits = "cl-provider-with-a-name: its Identity, which a person carries";
        table.row(
            [
                "cl-provider-with-a-name",
                "provider",
                "AwaitsIdentity",
                waits,
            ]
            .map(str::to_owned),
        );
        let text = table.fitted(Some(71));
        assert_eq!(
            text,
            "PEER                      PHASE            WAITS FOR\n\
             cl-provider-with-a-name   AwaitsIdentity   cl-provider-with-a-name: its\n\
             \x20                                          Identity, which a person\n\
             \x20                                          carries\n"
        );
        assert!(table.fitted(None).contains(" IS "));
    }
}
