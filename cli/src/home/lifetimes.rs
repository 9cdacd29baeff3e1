//! How long what a provider gives to its peers is valid: `nonceLifetime` and
//! `certificateLifetime` in the settings.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, de::Error};

use crate::values::durations::whole_seconds;

/// A lifetime, as a person has written it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(into = "String")]
pub(crate) struct Lifetime {
    text: String,
    duration: Duration,
}

impl Lifetime {
    pub(super) fn duration(&self) -> Duration {
        self.duration
    }
}

impl From<Lifetime> for String {
    fn from(lifetime: Lifetime) -> Self {
        lifetime.text
    }
}

/// The lifetime of nonces. A person may carry a nonce by hand.
pub(super) fn of_nonces<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Lifetime>, D::Error> {
    between(deserializer, ("1m", MINUTE), ("365d", DAY * 365))
}

/// The lifetime of certificates. Kubernetes' signer does not take a shorter one, nor a consumer
/// a longer one.
pub(super) fn of_certificates<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Lifetime>, D::Error> {
    between(deserializer, ("10m", MINUTE * 10), ("3650d", DAY * 3650))
}

fn between<'de, D: Deserializer<'de>>(
    deserializer: D,
    (shortest, at_least): (&str, Duration),
    (longest, at_most): (&str, Duration),
) -> Result<Option<Lifetime>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let wrong = |expected: &str| D::Error::custom(format_args!("found {text:?}, {expected}"));
    let duration = whole_seconds(&text).map_err(|expected| wrong(&expected))?;
    if duration < at_least || duration > at_most {
        return Err(wrong(&format!(
            "expected at least {shortest} and at most {longest}"
        )));
    }
    Ok(Some(Lifetime { text, duration }))
}

const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[cfg(test)]
mod tests {
    use super::super::settings::Settings;

    fn read(said: &str) -> Result<Settings, String> {
        let text = format!("clusterID: cl-a\napiServer: https://a.example\n{said}\n");
        Settings::read(text.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn lifetimes_have_bounds() {
        for good in [
            "nonceLifetime: 1m",
            "nonceLifetime: 365d",
            "certificateLifetime: 10m",
            "certificateLifetime: 3650d",
            "certificateLifetime: 1h30m",
        ] {
            assert!(read(good).is_ok(), "{good}");
        }
        for (wrong, expected) in [
            ("nonceLifetime: 59s", "at least 1m and at most 365d"),
            ("nonceLifetime: 8760h1s", "at least 1m and at most 365d"),
            (
                "certificateLifetime: 9m59s",
                "at least 10m and at most 3650d",
            ),
            (
                "certificateLifetime: 3650d1s",
                "at least 10m and at most 3650d",
            ),
            ("certificateLifetime: 1h500ms", "whole seconds"),
            ("nonceLifetime: 1w", "numbers with the units"),
        ] {
            let error = read(wrong).unwrap_err();
            assert!(error.contains(expected), "{wrong}: {error}");
        }
        // A number has no unit.
        assert!(read("nonceLifetime: 60").is_err());
    }

    #[test]
    fn a_lifetime_is_written_as_it_was_said() {
        let settings = read("nonceLifetime: 2h\ncertificateLifetime: 30d").unwrap();
        let text = settings.write().unwrap();
        assert!(
            text.contains("nonceLifetime: 2h\ncertificateLifetime: 30d\n"),
            "{}",
            *text
        );
    }
}
