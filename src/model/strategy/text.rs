//! Strategies for texts: honest texts, empty texts, and texts of a hostile peer.

use std::collections::BTreeMap;

use proptest::{
    collection::btree_map,
    prop_oneof,
    strategy::{BoxedStrategy, Strategy},
    string::string_regex,
};

/// Any text: honest names, empty texts, and texts of a hostile peer.
pub(crate) fn any_text() -> BoxedStrategy<String> {
    prop_oneof![
        4 => matching("[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?"),
        1 => matching(".{0,40}"),
        1 => proptest::sample::select(HOSTILE).prop_map(str::to_owned),
    ]
    .boxed()
}

/// A URL, or a text in place of a URL.
pub(crate) fn any_url() -> BoxedStrategy<String> {
    prop_oneof![
        3 => matching("https://[a-z]{1,10}\\.example(:[1-9][0-9]{0,3})?"),
        1 => proptest::sample::select(HOSTILE_URLS).prop_map(str::to_owned),
        1 => any_text(),
    ]
    .boxed()
}

/// Any labels or annotations.
pub(super) fn any_map() -> BoxedStrategy<BTreeMap<String, String>> {
    btree_map(any_text(), any_text(), 0..4).boxed()
}

/// Texts that match a regular expression, which is compiled here. A `&str` as a
/// strategy would be compiled for each text. A wrong expression panics when a text is
/// drawn, as it does there.
pub(crate) fn matching(expression: &'static str) -> BoxedStrategy<String> {
    string_regex(expression).map_or_else(|_| expression.boxed(), Strategy::boxed)
}

const HOSTILE: &[&str] = &[
    "",
    "system:admin",
    "cl\nname: x",
    "cl-consumer\0",
    "../etc",
    "yes",
    "null",
    "~",
    "1e3",
    "0x10",
    "2026-11-20",
    "{}",
    "[",
    "- a",
    "a: b",
    "#",
    "&a",
    "*a",
    "!x",
    "'",
    "\"",
    "\u{2028}",
    "\u{feff}",
    "---",
    "...",
    "<<",
    "=",
    " a ",
    "a\r\n",
    "\t",
];

const HOSTILE_URLS: &[&str] = &[
    "https://kubernetes.default.svc",
    "https://user:password@api.example",
    "https://169.254.169.254",
    "https://[::ffff:169.254.169.254]",
    "http://api.example",
    "https://2852039166",
    "https://api.example\\@kubernetes",
    "socks5://user:password@proxy",
];
