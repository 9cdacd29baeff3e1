//! The certificates that a status names: those that this side has verified.

use core::time::Duration;

use liqo_auth::{
    Machine,
    crypto::Certificate,
    machine::HolderStatus,
    model::{Identity, Object, ResourceSliceConditionStatus as Said},
};
use serde_json::json;

use super::home::Home;

const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

#[test]
fn a_consumer_names_what_it_has_verified() {
    let mut home = Home::with_slice(YEAR);
    let status = Machine::look(&home.consumer, &home.view(), home.now).unwrap();
    let [control_plane, held] = [&status.control_plane, &status.slices[0]];
    assert_eq!(decisions(control_plane), [None; 2]);
    assert_eq!(decisions(held), [Some(Said::Accepted), None]);
    let names = ["controlplane-cl-provider", "resourceslice-mypool"];
    let expected = [control_plane, held].map(|holder| holder.certificate.clone().unwrap());
    assert_eq!(expected[0].not_after, home.now + YEAR);
    assert_ne!(expected[0].fingerprint(), expected[1].fingerprint());

    // It is named when it has expired, or when the slice cannot be read any more.
    home.now = home.now + 2 * YEAR;
    assert_eq!(named(&home), expected.clone().map(Some));
    home.now = home.now - 2 * YEAR;
    let slice = home.slice();
    home.objects.insert(Object::from_value(json!({
        "apiVersion": "authentication.liqo.io/v1beta1", "kind": "ResourceSlice",
        "metadata": slice.metadata, "spec": 5,
    })));
    assert_eq!(named(&home), expected.map(Some));

    // Another one in an Identity is what somebody has written there.
    let foreign = home.issue(3 * YEAR).signed_crt;
    for name in names {
        let mut identity: Identity = home.identity_of(name);
        identity.spec.auth_params.signed_crt = foreign.clone();
        identity.spec.auth_params.api_server = "none".to_owned();
        home.objects.insert(identity.into());
    }
    assert_eq!(named(&home), [None, None]);
}

/// The certificates of the control plane and the slice.
fn named(home: &Home) -> [Option<Certificate>; 2] {
    let status = Machine::look(&home.consumer, &home.view(), home.now).unwrap();
    let of = |holder: &HolderStatus| holder.certificate.clone();
    [of(&status.control_plane), of(&status.slices[0])]
}

fn decisions(holder: &HolderStatus) -> [Option<Said>; 2] {
    [holder.authentication, holder.resources]
}
