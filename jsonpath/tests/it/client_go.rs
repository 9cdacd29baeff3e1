//! The templates of client-go's own table (`util/jsonpath/jsonpath_test.go` of v0.34.4), with what
//! client-go makes of them as kubectl calls it: a missing key is no error.

use std::collections::BTreeMap;

use liqo_auth_jsonpath::Template;
use serde_json::Value;

#[test]
fn a_template_gives_what_client_go_gives() {
    let table: Value = serde_json::from_str(include_str!("../client-go.json")).unwrap();
    let mut compared = 0;
    for group in table.as_array().unwrap() {
        for case in group["cases"].as_array().unwrap() {
            let template = case["template"].as_str().unwrap();
            let ours = Template::parse(template);
            let ours = ours.and_then(|template| template.evaluate(&group["document"]));
            let text = |key: &str| case[key].as_str();
            let is_same = match (&ours, text("output"), text("inAnyOrder"), text("error")) {
                (Ok(ours), Some(output), None, None) => ours == output,
                (Ok(ours), None, Some(output), None) => words(ours) == words(output),
                (Err(ours), None, None, Some(error)) => ours.to_string() == error,
                _ => false,
            };
            assert!(is_same, "{case}\nours: {ours:?}");
            compared += 1;
        }
    }
    assert_eq!(compared, 122);
}

/// How often each word is there, but for the braces beside it. The order of a map's values is
/// random in Go.
fn words(text: &str) -> BTreeMap<&str, usize> {
    let mut words = BTreeMap::new();
    for word in text.split([' ', '{', '}']) {
        *words.entry(word).or_default() += 1;
    }
    words
}
