use super::*;

const LABEL: &str = "PUBLIC KEY";

fn read(text: &str, forms: Forms) -> Result<Vec<u8>, PemError> {
    read_one(text.as_bytes(), LABEL, forms)
}

#[test]
fn the_canonical_form_is_read_back() {
    for length in [0, 1, 47, 48, 49, 96, 500] {
        let der = vec![9; length];
        let text = write(LABEL, &der);
        assert_eq!(read(&text, Forms::Canonical), Ok(der.clone()));
        assert_eq!(read(&text, Forms::Compatible), Ok(der));
    }
}

#[test]
fn other_framing_is_compatible_only() {
    use PemError::*;
    let der = vec![9; 100];
    let text = write(LABEL, &der);
    // The second line goes on in the third one.
    let mut joined = text.clone();
    let (end, _) = joined.match_indices('\n').nth(2).unwrap();
    joined.remove(end);
    for (text, error) in [
        (format!("Public key:\n{text}"), TextBefore),
        (format!("\n{text}"), TextBefore),
        (text.replace('\n', "\r\n"), CarriageReturn),
        (text.trim_end().to_owned(), NoFinalNewline),
        (format!("{text}\n"), TrailingSpace),
        (text.replacen("CQk", "CQ\nk", 1), LineLength),
        (joined, LineLength),
    ] {
        assert_eq!(read(&text, Forms::Canonical), Err(error), "{text}");
        assert_eq!(read(&text, Forms::Compatible), Ok(der.clone()), "{text}");
    }
}

#[test]
fn a_secret_is_read_and_written_in_the_same_forms() {
    use PemError::*;
    let label = "PRIVATE KEY";
    for length in [1, 48, 100, 500] {
        let der = vec![9; length];
        let text = write(label, &der);
        assert_eq!(write_secret(label, &der).unwrap().expose(), text);
        for (text, error) in [
            (text.clone(), None),
            (format!("Private key:\n{text}"), Some(TextBefore)),
            (text.replace('\n', "\r\n"), Some(CarriageReturn)),
            (text.trim_end().to_owned(), Some(NoFinalNewline)),
            (format!("{text}\n"), Some(TrailingSpace)),
        ] {
            let read = |forms| read_secret(text.as_bytes(), label, forms);
            let expected = error.map_or_else(|| Ok(der.clone()), Err);
            let canonical = read(Forms::Canonical).map(|der| der.to_vec());
            assert_eq!(canonical, expected, "{text}");
            assert_eq!(read(Forms::Compatible).unwrap().to_vec(), der, "{text}");
        }
        for (text, error) in [
            (format!("{text}{text}"), SecondBlock),
            (format!("{text}and more"), TextAfter),
            (text.replacen("CQ", "C-", 1), Base64),
            (text.replacen("CQ", "=Q", 1), Base64),
            (text.replacen("CQ", "C ", 1), Base64),
            (text.replace("\n-----END", " \n-----END"), Base64),
            (text.replacen("CQ", "Proc-Type: 4\n\nCQ", 1), Base64),
        ] {
            for forms in [Forms::Canonical, Forms::Compatible] {
                let read = read_secret(text.as_bytes(), label, forms);
                assert_eq!(read, Err(error.clone()), "{text}");
            }
        }
    }
}

#[test]
fn what_is_not_one_block_is_refused_in_every_form() {
    use PemError::*;
    let text = write(LABEL, &[9; 100]);
    let other = write("CERTIFICATE", &[9; 100]);
    let label = || Label {
        found: "CERTIFICATE".to_owned(),
        expected: LABEL,
    };
    for (text, error) in [
        (String::new(), NoBlock),
        ("\u{1}\u{2}".to_owned(), NoBlock),
        (format!("{text}{text}"), SecondBlock),
        (format!("{text}{other}"), SecondBlock),
        (format!("{text}-----BEGIN"), SecondBlock),
        (other.clone(), label()),
        (format!("{other}{text}"), label()),
        (format!("{text}and more"), TextAfter),
        (text.replace("-----END PUBLIC", "-----END PRIVATE"), Framing),
        (text.replace("-----END", "----END"), Framing),
        (text.replace("KEY-----\nCQ", "KEY----\nCQ"), Framing),
        (text.replace("KEY-----\nCQ", "KEY-----CQ"), Framing),
        (text.replace("\n-----END", "-----END"), Framing),
        (format!("a key {text}"), NoBlock),
        (text.replacen("CQk", "CQ\n\nk", 1), Base64),
        (text.replacen("CQk", "C k", 1), Base64),
        (text.replacen("CQk", "Proc-Type: 4\n\nCQk", 1), Base64),
        (text.replace("==", "="), Base64),
    ] {
        for forms in [Forms::Canonical, Forms::Compatible] {
            assert_eq!(read(&text, forms), Err(error.clone()), "{text}");
        }
    }
}
