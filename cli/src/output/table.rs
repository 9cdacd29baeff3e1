//! Tables as kubectl prints them.

/// Rows under their titles. Each column is as wide as its widest cell. Three spaces
/// separate the columns.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new<const N: usize>(titles: [&str; N]) -> Self {
        Self {
            rows: vec![titles.map(str::to_owned).to_vec()],
        }
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows
            .push(cells.map(|cell| super::escaped(&cell)).to_vec());
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

    pub(crate) fn to_text(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or_default()
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let line = |row: &Vec<String>| {
            let cells = row
                .iter()
                .zip(&widths)
                .map(|(cell, width)| format!("{cell:width$}"));
            let line: Vec<String> = cells.collect();
            format!("{}\n", line.join("   ").trim_end())
        };
        self.rows.iter().map(line).collect()
    }
}

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
}
