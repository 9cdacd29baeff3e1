//! What the peer is given: certificates and AWS access keys, and their renewal.

pub(super) mod aws;
pub(super) mod certificate;
pub(super) mod credential;
pub(super) mod issuance;
pub(super) mod issued;
pub(super) mod renew_objects;
pub(super) mod renewal;
