//! Preconditions of a call that are not met yet.

#[cfg(test)]
use super::family::every_fact;
use super::family::{Basis::NoRule, Facts, facts, family};
use crate::model::{Kind, Timestamp};

family! {
    /// A precondition that is not met yet. Nothing is broken: the call came too
    /// early, and may succeed later.
    #[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
    #[non_exhaustive]
    pub enum Precondition {
        /// The peer has no Tenant yet.
        #[error("there is no Tenant for this peer")]
        NoTenant => {
            code: "tenant-missing",
            rule: NoRule(NOTHING_BROKEN),
            advice: "Let the peer authenticate first.",
        },
        /// The peer has no resource slice of that name.
        #[error("the peer has no resource slice of that name")]
        NoSlice => {
            code: "slice-missing",
            rule: NoRule(NOTHING_BROKEN),
            advice: "List the peer's resource slices and name one of them, or wait until the \
                     slice is replicated.",
        },
        /// The peer has no ForeignCluster yet.
        #[error("there is no ForeignCluster for this peer")]
        NoForeignCluster => {
            code: "foreign-cluster-missing",
            rule: NoRule(NOTHING_BROKEN),
            advice: "Create a ForeignCluster with spec.foreignAuthUrl.",
        },
        /// The provider gave no usable Identity yet.
        #[error("there is no usable Identity of this provider")]
        NotAuthenticated => {
            code: "not-authenticated",
            rule: NoRule(NOTHING_BROKEN),
            advice: "Authenticate with the provider first.",
        },
        /// No request of the peer waits for approval.
        #[error("no request waits for approval in the phase {phase}")]
        NothingToApprove {
            /// The phase that the peering is in.
            phase: &'static str,
        } => {
            code: "approval-not-pending",
            rule: NoRule(NOTHING_BROKEN),
            advice: "Wait until the peer's Tenant is verified, and approve or deny it then.",
        },
        /// The key store has no key for the peer yet.
        #[error("this cluster has no key for this peer yet")]
        KeyAwaited => {
            code: "key-awaited",
            rule: NoRule(NOTHING_BROKEN),
            advice: "Put this cluster's private key into the key store, or wait until the key \
                     store has loaded the key.",
        },
        /// Not every object has arrived from the API server yet.
        #[error("the list of {missing} objects is not complete yet")]
        MirrorIncomplete {
            /// The kind whose list is not complete.
            missing: Kind,
        } => {
            code: "mirror-incomplete",
            rule: NoRule(NOTHING_BROKEN),
            advice: "Wait until the first list of every watch has arrived; if none arrives, check \
                     the rights to list and watch this kind.",
        },
        /// The peering has resource slices. It cannot be ended until they are deleted.
        #[error("{found} resource slices still exist, such as {one}")]
        SlicesRemain {
            /// The number of slices.
            found: usize,
            /// One of the slices.
            one: String,
        } => {
            code: "slices-remain",
            rule: NoRule(NOTHING_BROKEN),
            advice: "Delete the resource slices at the consumer, or drain the peer at the \
                     provider, and wait until the slices are gone; if the provider is gone for good, \
                     the annotation liqo.io/foreign-cluster-permanently-unreachable=true of its \
                     ForeignCluster says so, and no slice waits for it.",
        },
        /// The objects of an ended peering are still being removed.
        #[error("the peering is still being ended")]
        StillEnding => {
            code: "still-ending",
            rule: NoRule(NOTHING_BROKEN),
            advice: "Wait until the objects of the ended peering are gone, and try again.",
        },
        /// The cluster has no role that peering users could be bound to.
        #[error("there is no {kind} with the label app.kubernetes.io/component=peering-user")]
        NoPeeringRole {
            /// The kind: `Role` or `ClusterRole`.
            kind: &'static str,
        } => {
            code: "peering-role-missing",
            rule: NoRule(NOTHING_BROKEN),
            advice: "Create the roles that Liqo's chart has for peering users.",
        },
        /// The received certificate does not end later than the stored one. The
        /// message may be an earlier answer of the provider that arrives late.
        #[error("the certificate ends at {found}, and the stored one ends at {held}")]
        NotNewer {
            /// When the received certificate ends.
            found: Timestamp,
            /// When the stored certificate ends.
            held: Timestamp,
        } => {
            code: "certificate-not-newer",
            rule: NoRule("the stored certificate is the better one, and stays"),
            advice: "Keep the stored certificate; if the provider should have renewed it, have \
                     the provider issue one that ends later.",
        },
        /// The certificate is older than one that took the place of a certificate that ended
        /// later. The message may be an earlier answer of the provider that arrives late.
        #[error("the certificate begins at {found}, and none that begins before {none_before} is taken")]
        Older {
            /// When the received certificate begins.
            found: Timestamp,
            /// When the last certificate began that took the place of a longer one.
            none_before: Timestamp,
        } => {
            code: "certificate-older",
            rule: NoRule("the stored certificate is the later one, and stays"),
            advice: "Keep the stored certificate; if it does not let this cluster in, have the \
                     provider sign another one (`sign-again --force`).",
        },
    }
}

const NOTHING_BROKEN: &str = "nothing is broken: something else has to come first";
