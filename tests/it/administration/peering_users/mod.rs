//! Peering users of a provider: how they are made and deleted, as in Liqo, and
//! what is refused.

mod creation;
mod deletion;

use liqo_auth::{
    crypto::Answer,
    error::{Error, Fault},
    model::{ClusterRole, Metadata, ObjectRef, Role, names},
    provider::{CsrSigner, NewPeeringUser, PeeringUser},
};

use crate::clusters::exchange::{Exchange, Ledger, Setup, ed25519};

const USER: &str = "liqo-peer-user-cl-consumer";

/// Both sides, with the roles for peering users of Liqo's chart.
pub(crate) fn with_roles() -> Exchange {
    let mut exchange = Setup::new().exchange();
    let metadata = |namespace: &str, name: &str| Metadata {
        name: name.to_owned(),
        namespace: namespace.to_owned(),
        labels: [
            (names::APP_NAME_LABEL, names::PEERING_USER_COMPONENT),
            (names::APP_COMPONENT_LABEL, names::PEERING_USER_COMPONENT),
        ]
        .map(|(label, value)| (label.to_owned(), value.to_owned()))
        .into(),
        ..Metadata::default()
    };
    exchange.at_provider.insert(
        Role {
            metadata: metadata("liqo", "liqo-peering-user-liqo-ns"),
            ..Role::default()
        }
        .into(),
    );
    exchange.at_provider.insert(
        ClusterRole {
            metadata: metadata("", "liqo-peering-user-tenant-ns"),
            ..ClusterRole::default()
        }
        .into(),
    );
    exchange
}

pub(crate) fn begin(exchange: &Exchange) -> Result<NewPeeringUser, Error> {
    let view = exchange.provider_view();
    exchange
        .provider
        .peering_user(&view, ed25519(50), exchange.env())
}

pub(crate) fn signed(new: &NewPeeringUser) -> Result<PeeringUser, Error> {
    let Answer::Ready(chain) = Ledger::new().sign(new.request()).unwrap() else {
        panic!("the ledger answers at once");
    };
    new.continue_with(&chain)
}

fn refused(exchange: &Exchange, fault: impl Into<Fault>, at: Option<ObjectRef>) {
    let error = begin(exchange).unwrap_err();
    assert_eq!(error.fault(), &fault.into());
    assert_eq!(error.at().object, at);
}
