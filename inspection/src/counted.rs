//! A number of things in words.

/// A number with its noun, such as `1 certificate` or `2 certificates`.
pub fn counted(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_no_plural() {
        assert_eq!(counted(1, "finding"), "1 finding");
        assert_eq!(counted(2, "finding"), "2 findings");
    }
}
