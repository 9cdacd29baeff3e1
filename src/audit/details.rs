//! What a decision says besides its name.

use std::collections::BTreeMap;

use super::Decision;
use crate::error::Rule;

impl Decision {
    /// The rule that was kept, or broken by what was refused, if the decision is
    /// about one.
    pub fn rule(&self) -> Option<Rule> {
        match self {
            Self::HandshakeVerified | Self::NonceMade => Some(Rule::Nonce),
            Self::KeySucceeded { .. } | Self::KeyReleased => Some(Rule::PinnedKey),
            Self::ConditionRecorded { .. } | Self::ConditionLifted => Some(Rule::OwnPolicy),
            Self::NonceSigned => Some(Rule::SignsNoncesOnly),
            Self::IdentityTaken { .. } | Self::PinsReleased => Some(Rule::IdentityContent),
            Self::RightsWithdrawn => Some(Rule::OwnRecords),
            Self::CertificateIssued { .. } => Some(Rule::RequestContent),
            Self::Refused(error) => error.rule(),
            Self::Invited
            | Self::Approved
            | Self::Disapproved { .. }
            | Self::AwsKeyGiven { .. }
            | Self::AwsKeyRevoked { .. }
            | Self::RightsGranted
            | Self::ResourcesGranted
            | Self::ResourcesDenied { .. }
            | Self::ResourcesReconsidered
            | Self::SliceCordoned
            | Self::SliceUncordoned
            | Self::Ended
            | Self::Forgotten
            | Self::PeeringUserMade { .. }
            | Self::PeeringUserDeleted { .. }
            | Self::SliceRequested
            | Self::RenewalRequested => None,
        }
    }

    /// What it says besides, by the names of the fields.
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
            Self::AwsKeyGiven {
                request,
                access_key_id,
            } => {
                say("request", request.to_string());
                say("accessKey", access_key_id.clone());
            }
            Self::AwsKeyRevoked { access_key_id } => say("accessKey", access_key_id.clone()),
            Self::ConditionRecorded { condition } => say("condition", format!("{condition:?}")),
            Self::PeeringUserMade { user } | Self::PeeringUserDeleted { user } => {
                say("user", user.clone());
            }
            Self::IdentityTaken {
                certificate: Some(certificate),
            } => say("certificate", certificate.to_string()),
            Self::Refused(error) => {
                say("fault", error.fault().name().to_owned());
                say("reason", error.fault().to_string());
                if !error.at().field.is_empty() {
                    say("field", error.at().field.to_owned());
                }
            }
            Self::Invited
            | Self::NonceMade
            | Self::HandshakeVerified
            | Self::Approved
            | Self::RightsGranted
            | Self::RightsWithdrawn
            | Self::ConditionLifted
            | Self::KeyReleased
            | Self::ResourcesGranted
            | Self::ResourcesReconsidered
            | Self::SliceCordoned
            | Self::SliceUncordoned
            | Self::Ended
            | Self::Forgotten
            | Self::NonceSigned
            | Self::IdentityTaken { certificate: None }
            | Self::PinsReleased
            | Self::SliceRequested
            | Self::RenewalRequested => {}
        }
        details
    }
}

/// No string makes a line longer than a line may be.
pub(super) fn cut(text: &str) -> String {
    const SHOWN: usize = 300;
    match text.char_indices().nth(SHOWN) {
        None => text.to_owned(),
        Some(_) => text.chars().take(SHOWN).chain(['…']).collect(),
    }
}
