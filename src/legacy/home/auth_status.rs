//! The result of the request for an identity, in the ForeignCluster.

use crate::model::{
    AuthStatus, ForeignClusterStatus, PeeringCondition, ProtocolVersion, Timestamp,
    names::AUTHENTICATION_STATUS,
};

impl ForeignClusterStatus {
    /// Sets the result in the form of the version: the field `authStatus` in 0.2,
    /// the condition in later versions. An API server refuses or drops the other
    /// form.
    pub(super) fn set_auth_status(
        &mut self,
        status: AuthStatus,
        version: ProtocolVersion,
        now: Timestamp,
    ) {
        if version == ProtocolVersion::V0_2 {
            self.auth_status = Some(status);
            self.peering_conditions
                .retain(|present| present.condition_type != AUTHENTICATION_STATUS);
            return;
        }
        self.auth_status = None;
        let (condition_status, reason, message) = status.condition();
        let condition = PeeringCondition {
            condition_type: AUTHENTICATION_STATUS.to_owned(),
            status: condition_status.to_owned(),
            last_transition_time: Some(now),
            reason: reason.to_owned(),
            message: message.to_owned(),
        };
        let present = self
            .peering_conditions
            .iter_mut()
            .find(|present| present.condition_type == AUTHENTICATION_STATUS);
        match present {
            Some(present) if present.status == condition.status => {}
            Some(present) => *present = condition,
            None => self.peering_conditions.push(condition),
        }
    }
}

impl AuthStatus {
    fn condition(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Pending => (
                "Pending",
                "IdentityPending",
                "No identity was requested, or the remote cluster has not answered",
            ),
            Self::Accepted => (
                "Established",
                "IdentityAccepted",
                "The remote cluster gave an identity",
            ),
            Self::Refused => (
                "Denied",
                "IdentityDenied",
                "The remote cluster refused the token",
            ),
            Self::EmptyRefused => (
                "EmptyDenied",
                "IdentityEmptyDenied",
                "The remote cluster requires a token",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_names_say_the_same() {
        for status in [
            AuthStatus::Pending,
            AuthStatus::Accepted,
            AuthStatus::Refused,
            AuthStatus::EmptyRefused,
        ] {
            let now = "2026-11-20T13:00:00Z".parse().unwrap();
            let mut found = ForeignClusterStatus::default();
            found.set_auth_status(status, ProtocolVersion::V0_2, now);
            assert_eq!(found.auth_status(), status);
            assert_eq!(found.peering_conditions.len(), 0);
            // The peer was updated.
            found.set_auth_status(status, ProtocolVersion::V0_4, now);
            assert_eq!(found.auth_status, None);
            assert_eq!(found.auth_status(), status);
        }
    }
}
