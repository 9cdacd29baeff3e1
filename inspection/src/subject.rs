//! The cluster and the slice that the subject of a certificate names.

use liqo_auth::{
    crypto::Subject,
    model::{ClusterId, names},
};

/// The consumer that a certificate was issued to, for its control plane or for one of
/// its slices.
pub fn consumer(subject: &str) -> Option<ClusterId> {
    let (organization, name) = subject.strip_prefix("O=")?.split_once(", CN=")?;
    let cluster = match organization {
        names::CONTROL_PLANE_ORGANIZATION => name,
        consumer => consumer,
    };
    cluster.parse().ok()
}

/// The name by which a peer's users count as one, if a user of this group and name is a
/// peer's: its control plane's, a slice's, or a peering user.
pub fn peer(group: &str, user: &str) -> Option<String> {
    if group == names::CONTROL_PLANE_ORGANIZATION {
        return Some(user.to_owned());
    }
    let consumer = group.parse().ok()?;
    slice(&format!("O={group}, CN={user}"), &consumer).map(|_| consumer.to_string())
}

/// The slice whose certificate has this subject.
pub fn slice(subject: &str, consumer: &ClusterId) -> Option<String> {
    let (_, name) = subject.split_once("CN=")?;
    let (slice, _) = name.rsplit_once('-')?;
    let expected = Subject::resource_slice(slice, consumer);
    (expected.common_name() == name).then(|| slice.to_owned())
}
