use serde::Deserialize;

use super::*;

#[derive(Debug, Deserialize, PartialEq)]
struct Message {
    token: String,
}

fn read(text: &str) -> Result<Message, DocumentError> {
    read_json(text.as_bytes(), 64)
}

#[test]
fn one_value_is_read_and_nothing_else() {
    let token = "a".to_owned();
    assert_eq!(read(r#"{"token":"a","more":[1]}"#), Ok(Message { token }));
    for text in ["hello", "", "token: a", "\u{feff}{}", "{}\n---\n{}", "{} x"] {
        assert!(
            matches!(
                read(text),
                Err(DocumentError::Text(ManifestError::Json { line: 1 | 2, .. }))
            ),
            "{text}: {:?}",
            read(text)
        );
    }
    let field = |path: &str, reason: &str| ObjectError::Field {
        path: path.to_owned(),
        reason: reason.to_owned(),
    };
    for (text, error) in [
        (r#"{"token":"a"}{}"#, DocumentError::Documents { found: 2 }),
        ("null", DocumentError::Documents { found: 0 }),
        (
            r#"{"token":"a","token":"b"}"#,
            ObjectError::Repeated {
                path: "token".into(),
            }
            .into(),
        ),
        (r#"["a"]"#, field("", "found a list, expected a map").into()),
        (
            r#"{"token":5}"#,
            field("token", "found a number, expected a string").into(),
        ),
        (
            &format!("{{\"token\":\"{}\"}}", "a".repeat(64)),
            ManifestError::TooLarge {
                found: 76,
                limit: 64,
            }
            .into(),
        ),
    ] {
        assert_eq!(read(text), Err(error), "{text}");
    }
    assert_eq!(
        read_json::<Message>(b"\"\xff", 9),
        Err(ManifestError::NotText { at: 1 }.into())
    );
}

#[test]
fn depth_is_bounded() {
    let deep = format!("{}{}", "[".repeat(40), "]".repeat(40));
    let text = format!(r#"{{"token":"a","x":{deep}}}"#);
    assert!(matches!(
        read_json::<Message>(text.as_bytes(), 1024),
        Err(DocumentError::Field(ObjectError::TooDeep { .. }))
    ));
    let bottomless = "[".repeat(100_000);
    assert!(read_json::<Message>(bottomless.as_bytes(), 1 << 20).is_err());
}
