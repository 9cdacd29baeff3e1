//! Hostile YAML.

use super::*;

#[test]
fn a_repeated_key_is_refused_with_its_place() {
    let text = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\n  name: b\n";
    assert_eq!(
        refusal(text),
        ObjectError::Repeated {
            path: "metadata.name".into()
        }
    );
}

#[test]
fn multiplying_yaml_aliases_are_refused() {
    let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..10 {
        let below = vec![format!("*a{}", level - 1); 10].join(", ");
        text.push_str(&format!("a{level}: &a{level} [{below}]\n"));
    }
    let limit = Limits::default().object_values;
    assert_eq!(
        read(&text),
        Err(ManifestError::TooManyObjectValues { limit })
    );
    // Few values, but each of them is long.
    let text = format!("a: &a {}\n{}", "x".repeat(100_000), "b: *a\n".repeat(9));
    assert_eq!(
        read(&text),
        Err(ManifestError::Yaml {
            line: 3,
            column: 4,
            reason: "more depth, anchors or aliases than an object needs".into()
        })
    );
}

#[test]
fn anchors_and_aliases_have_a_limit() {
    let anchors = |number: usize| -> String {
        (0..number)
            .map(|number| format!("k{number}: &a{number} x\n"))
            .collect()
    };
    // The parser follows ten aliases for each anchor at most.
    let aliases =
        |number: usize| anchors(26) + &format!("all: [{}]\n", vec!["*a0"; number].join(", "));
    let texts: [&dyn Fn(usize) -> String; 2] = [&anchors, &aliases];
    for text in texts {
        assert!(read(&text(256)).is_ok());
        let Err(ManifestError::Yaml { reason, .. }) = read(&text(257)) else {
            panic!("{}", text(257));
        };
        assert_eq!(
            reason,
            "more depth, anchors or aliases than an object needs"
        );
    }
}

#[test]
fn ambiguous_yaml_is_refused() {
    for (text, reason) in [
        ("a: &a {b: 1}\nc:\n  <<: *a\n", "a merge key"),
        ("a: *b\n", "an alias without an anchor"),
        ("a: .inf\n", "a number that is not finite"),
    ] {
        let error = read(text).unwrap_err();
        assert!(
            matches!(&error, ManifestError::Yaml { reason: found, .. } if found == reason),
            "{text}: {error:?}"
        );
    }
}

#[test]
fn an_unquoted_number_is_not_a_string() {
    let text = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: 123\n";
    assert_eq!(
        refusal(text),
        ObjectError::Field {
            path: "metadata.name".into(),
            reason: "found a number, expected a string".into(),
        }
    );
}

#[test]
fn secrets_never_reach_an_error() {
    for text in [
        "data: 'hunter2",
        "data: [hunter2",
        "data: hunter2: hunter2",
        "data: \"\\q hunter2\"",
        "data: !x hunter2",
        "- hunter2\n b",
        "\thunter2",
    ] {
        if let Err(error) = read(text) {
            assert!(
                !format!("{error} {error:?}").contains("hunter2"),
                "{error:?}"
            );
        }
    }
    assert!(matches!(
        read("a: b\nc: [x"),
        Err(ManifestError::Yaml { line: 2.., .. })
    ));
}

#[test]
fn depth_is_bounded() {
    for text in [
        "[".repeat(100_000),
        "- ".repeat(100_000),
        "a: ".to_owned() + &"{b: ".repeat(5_000),
    ] {
        let text = format!("a:\n {text}");
        assert!(matches!(read(&text), Err(ManifestError::Yaml { .. })));
    }
}
