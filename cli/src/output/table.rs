//! Tables as kubectl prints them.

use std::io;

use liqo_auth_inspection::text::escaped;

use super::{
    tone::{Paint, Tone},
    width::width,
    wrapped::wrapped,
};

/// Rows under their titles. Each column is as wide as its widest cell. Three spaces
/// separate the columns.
pub(crate) struct Table {
    rows: Vec<Vec<Cell>>,
    optional: Vec<&'static str>,
    paint: Paint,
}

/// A text in a table, with what it tells.
#[derive(Debug, Clone)]
pub(crate) struct Cell(Vec<(String, Option<Tone>)>);

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::toned(&text, None)
    }
}

impl Cell {
    pub(crate) fn toned(text: &str, tone: Option<Tone>) -> Self {
        Self(vec![(escaped(text), tone)])
    }

    fn width(&self) -> usize {
        let parts = self.0.iter().map(|(part, _)| part.chars().count());
        parts.sum::<usize>() + self.0.len().saturating_sub(1)
    }

    fn painted(&self, paint: Paint) -> String {
        let parts = self.0.iter().map(|(part, tone)| paint.apply(*tone, part));
        parts.collect::<Vec<_>>().join(" ")
    }

    fn is(&self, title: &str) -> bool {
        matches!(self.0.as_slice(), [(text, _)] if text == title)
    }
}

impl Table {
    pub(crate) fn new<const N: usize>(titles: [&str; N]) -> Self {
        Self {
            rows: vec![titles.map(|title| title.to_owned().into()).to_vec()],
            optional: Vec::new(),
            paint: Paint::default(),
        }
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [impl Into<Cell>; N]) {
        self.rows.push(cells.map(Into::into).to_vec());
    }

    /// The same table in colours.
    pub(crate) fn painted(self, paint: Paint) -> Self {
        Self { paint, ..self }
    }

    /// Adds columns.
    pub(crate) fn add_titles<const N: usize>(&mut self, titles: [&str; N]) {
        if let Some(row) = self.rows.first_mut() {
            row.extend(titles.map(|title| Cell::from(title.to_owned())));
        }
    }

    /// Adds cells to the last row.
    pub(crate) fn add_cells<const N: usize>(&mut self, cells: [String; N]) {
        if let Some(row) = self.rows.last_mut() {
            row.extend(cells.map(Cell::from));
        }
    }

    /// Adds a cell to the last row. Each of its parts is cut on its own, so that a
    /// fingerprint behind others stays whole.
    pub(crate) fn add_parts(&mut self, parts: &[String]) {
        let parts = parts.iter().map(|part| (part.clone(), None));
        self.add_toned_parts(&parts.collect::<Vec<_>>());
    }

    /// The same, with what each part tells.
    pub(crate) fn add_toned_parts(&mut self, parts: &[(String, Option<Tone>)]) {
        if let Some(row) = self.rows.last_mut() {
            let parts = parts.iter().map(|(part, tone)| (escaped(part), *tone));
            row.push(Cell(parts.collect()));
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
            return lines(&rows, None, self.paint);
        };
        for title in &self.optional {
            let (before_last, last) = widths_of(&rows);
            if before_last + last.min(NARROWEST) <= limit {
                break;
            }
            let titles = rows.first();
            let Some(column) = titles.and_then(|row| row.iter().position(|cell| cell.is(title)))
            else {
                continue;
            };
            for row in rows.iter_mut().filter(|row| row.len() > column) {
                row.remove(column);
            }
        }
        lines(&rows, Some(limit), self.paint)
    }
}

/// The width of all columns but the last one, and that of the last one.
fn widths_of(rows: &[Vec<Cell>]) -> (usize, usize) {
    let mut widths = widths(rows);
    let last = widths.pop().unwrap_or_default();
    (widths.iter().map(|width| width + GAP).sum(), last)
}

fn widths(rows: &[Vec<Cell>]) -> Vec<usize> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(Cell::width).max().unwrap_or_default()
    };
    (0..columns).map(width).collect()
}

fn lines(rows: &[Vec<Cell>], limit: Option<usize>, paint: Paint) -> String {
    let widths = widths(rows);
    let (indent, _) = widths_of(rows);
    let line = |row: &Vec<Cell>| {
        let cells = row.iter().zip(&widths);
        let cells: Vec<String> = cells
            .map(|(cell, width)| {
                let blanks = " ".repeat(width.saturating_sub(cell.width()));
                format!("{}{blanks}", cell.painted(paint))
            })
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
    fn colours_move_no_column() {
        let table = |paint| {
            let mut table = Table::new(["PEER", "PHASE", "WAITS FOR"]).painted(paint);
            let bad = Some(Tone::Bad);
            table.row([Cell::from("a".to_owned()), Cell::toned("Refused", bad)]);
            let waits = ["one two;", "three"].map(str::to_owned);
            let [first, last] = waits;
            table.add_toned_parts(&[(first, Some(Tone::Attention)), (last, None)]);
            table
        };
        assert_eq!(
            table(Paint::new(true)).fitted(Some(40)),
            "PEER   PHASE     WAITS FOR\n\
             a      \u{1b}[31mRefused\u{1b}[0m   \u{1b}[33mone two;\u{1b}[0m three\n"
        );
        let plain = "PEER   PHASE     WAITS FOR\na      Refused   one two; three\n";
        assert_eq!(table(Paint::default()).fitted(Some(40)), plain);
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
