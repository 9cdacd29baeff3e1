//! A Tenant that was damaged while a person carried it.

use liqo_auth::{
    crypto::SignatureError,
    error::{Error, Fault, PeerIncompatible},
    model::ClusterId,
};

use crate::{home::Home, output::program};

/// The way out, if the signature in a Tenant is no signature: the consumer prints it again.
pub(super) fn damaged(home: &Home, consumer: &ClusterId, error: &Error) -> Option<String> {
    let Fault::PeerIncompatible(PeerIncompatible::NonceSignature(
        SignatureError::Length { .. } | SignatureError::Encoding,
    )) = error.fault()
    else {
        return None;
    };
    Some(format!(
        "The Tenant was damaged on its way. {consumer} prints it again by `{} generate tenant --remote-cluster-id {}`: pass that on unchanged.",
        program(),
        home.cluster_id()
    ))
}
