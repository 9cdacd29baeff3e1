//! The reader of manifests looks at each byte of a text a bounded number of
//! times, however many values the text holds.

use liqo_auth::{model::manifest, policy::Limits};

use crate::work::result_within;

const VALUES: usize = 100_000;
const BYTES_OF_ONE: usize = 160;

/// A reader that looks at all earlier bytes for each value looks at as many bytes
/// as 50,000 readers that look at each byte once.
#[test]
fn a_stream_of_many_values_costs_what_its_bytes_cost() {
    let one = format!("{{}}{}", " ".repeat(BYTES_OF_ONE * VALUES));
    // Values that follow each other, and empty documents.
    for value in ["null", "null\n", "\n---\n"] {
        let spaces = " ".repeat(BYTES_OF_ONE - value.len());
        let stream = format!("{{}}{}", format!("{spaces}{value}").repeat(VALUES));
        assert_eq!(stream.len(), one.len());
        let read_one = || {
            let as_one = manifest::read(one.as_bytes(), &Limits::default());
            assert_eq!(as_one.map(|objects| objects.len()), Ok(1));
        };
        let read = result_within(200, read_one, move || {
            let read = manifest::read(stream.as_bytes(), &Limits::default());
            read.map(|objects| objects.len())
        });
        assert_eq!(read, Some(Ok(1)), "{value:?}");
    }
}
