//! Resource slices of a consumer.

#[cfg(feature = "ecdsa")]
mod ecdsa;
mod identities;
mod judgements;
mod provenance;
mod requests;

use liqo_auth::model::Kind;

use crate::consumer::home::object;

const SLICE_IDENTITY: &str = "resourceslice-mypool";

fn object_ref() -> liqo_auth::model::ObjectRef {
    object(Kind::ResourceSlice, "mypool")
}
