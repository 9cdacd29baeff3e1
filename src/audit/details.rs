//! The rule and the details of a decision.

use std::collections::BTreeMap;

use super::Decision;
use crate::{
    error::{Rule, cut_after},
    model::Amounts,
};

impl Decision {
    /// The rule that the decision kept, or that the refused content broke. `None` if
    /// the decision has no rule.
    pub(crate) fn rule(&self) -> Option<Rule> {
        match self {
            Self::HandshakeVerified | Self::NonceMade => Some(Rule::Nonce),
            Self::KeySucceeded { .. } | Self::KeyReleased => Some(Rule::PinnedKey),
            Self::ConditionRecorded { .. } | Self::ConditionLifted => Some(Rule::OwnPolicy),
            Self::NonceSigned => Some(Rule::SignsNoncesOnly),
            Self::IdentityTaken { .. } | Self::PinsReleased => Some(Rule::IdentityContent),
            Self::RightsWithdrawn => Some(Rule::OwnRecords),
            Self::CertificateIssued { .. } => Some(Rule::RequestContent),
            Self::Refused(error) => error.rule(),
            _ => None,
        }
    }

    /// Further facts by their names.
    pub(crate) fn details(&self) -> BTreeMap<String, String> {
        let mut details = BTreeMap::new();
        let mut say = |name: &str, value: String| {
            details.insert(name.to_owned(), cut(&value));
        };
        match self {
            Self::KeySucceeded { predecessor } => say("predecessor", predecessor.to_string()),
            Self::Disapproved { reason } | Self::ResourcesDenied { reason } => {
                say("reason", reason.clone());
            }
            Self::ResourcesAdopted {
                resources,
                unconfirmed,
            } => {
                say("resources", Amounts(resources).to_string());
                if !unconfirmed.is_empty() {
                    say("unconfirmed", Amounts(unconfirmed).to_string());
                }
            }
            Self::CertificateIssued {
                request,
                certificate,
                until,
                replaces,
            } => {
                say("request", request.to_string());
                say("certificate", certificate.to_string());
                say("until", until.to_string());
                if let Some(replaces) = replaces {
                    say("replaces", replaces.to_string());
                }
            }
            Self::CredentialGiven {
                request,
                credential,
            } => {
                say("request", request.to_string());
                say("credential", credential.clone());
            }
            Self::AwsKeyRevoked { access_key_id } => say("accessKey", access_key_id.clone()),
            Self::ConditionRecorded { condition } => say("condition", format!("{condition:?}")),
            Self::PeeringUserMade { user } | Self::PeeringUserDeleted { user } => {
                say("user", user.clone());
            }
            Self::IdentityTaken {
                certificate: Some(certificate),
            } => say("certificate", certificate.to_string()),
            Self::LogRepaired { bytes, found } => {
                say("bytes", bytes.to_string());
                say("found", found.clone());
            }
            Self::Refused(error) => {
                say("fault", error.fault().name().to_owned());
                say("reason", error.fault().to_string());
                if !error.at().field.is_empty() {
                    say("field", error.at().field.to_owned());
                }
            }
            _ => {}
        }
        details
    }
}

/// Cuts a text after 300 characters, so that the length of a line is limited.
pub(super) fn cut(text: &str) -> String {
    cut_after(300, text)
}
