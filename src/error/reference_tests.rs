//! The page of the book that lists the errors.

use std::{collections::BTreeSet, fs, path::Path};

use super::{Error, json_form_tests::errors};

/// The reference has a row for each code, under the heading of its family.
#[test]
#[expect(clippy::disallowed_methods, reason = "the reference is a file")]
fn each_code_is_in_the_reference() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference/errors.md");
    let reference = fs::read_to_string(path).unwrap();
    let sections: Vec<&str> = reference.split("\n## ").skip(1).collect();
    let codes_under = |heading: &str| -> BTreeSet<&str> {
        let section = sections
            .iter()
            .find(|section| section.lines().next() == Some(heading));
        let rows = section.unwrap().lines();
        rows.filter_map(|row| Some(row.strip_prefix("| `")?.split_once('`')?.0))
            .collect()
    };
    for (family, heading) in [
        (
            "PeerMisbehaved",
            "What the peer sent cannot be from an honest peer",
        ),
        ("PeerIncompatible", "What the peer sent cannot be used"),
        ("Policy", "This side's policy refuses it"),
        ("Precondition", "Something else comes first"),
        ("Local", "On this side"),
        ("ApiMisuse", "The library was called in a wrong way"),
    ] {
        let errors = errors();
        let errors = errors.iter().filter(|error| error.fault().name() == family);
        let codes: BTreeSet<&str> = errors.map(Error::code).collect();
        assert_eq!(codes_under(heading), codes, "{family}");
    }
}
