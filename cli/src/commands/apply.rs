//! `apply`: applies the files that the other cluster's administrator has sent.

mod carried;
mod damaged;
mod lost_nonce;
mod misdirected;
mod received;
mod signed;
mod tolerated;

use std::path::Path;

use liqo_auth::{
    crypto::{Fingerprint, PublicKey},
    model::{ClusterId, Kind, Object, ObjectRef, manifest, names},
    policy::{Limits, Policy},
};

use serde_json::json;

use self::received::Received;
use liqo_auth_inspection::Recognised;

use super::{answer::APPLIED, get, known::keep};
use crate::{
    arguments::Apply,
    context::Context,
    failure::{Code, Failure, Result},
    home::{Home, Use},
    input,
    output::{escaped, program},
    peering::{
        consumer_side::{ConsumerSide, ConsumerStand},
        provider_side::{ProviderSide, ProviderStand, refused},
    },
    remedies::{self, Role},
};

pub(super) fn run(context: &Context, arguments: &Apply) -> Result<()> {
    let mut messages = Vec::new();
    for file in &arguments.files {
        read(file, &mut messages)?;
    }
    let mut home = context.open(Use::Write)?;
    if home.is_live() && messages.len() > 1 {
        return Err(Failure::usage(format!(
            "{}: found {} objects, and a cluster takes one at a time. Apply each with a command of its own",
            home.site(),
            messages.len()
        )));
    }
    // All objects are received first. The first refusal ends the command, and nothing has
    // been written: a home writes later, and a cluster takes one object.
    let mut results = Vec::new();
    for message in &messages {
        let subject = format!("{} is refused, and nothing was changed", message.file);
        if let Some(reason) = misdirected::reason(&home, &message.object) {
            return Err(Failure::new(Code::Refused, format!("{subject}: {reason}")));
        }
        let carried = match message.object {
            Received::ResourceSlice(_) | Received::Renew(_) => {
                let way = carried::way(&home, &message.object);
                Some(way.map_err(|failure| failure.about(&subject))?)
            }
            Received::Tenant(_) | Received::Identity(_) | Received::Request(_) => None,
        };
        let peer = match (&carried, &message.object) {
            (Some((peer, _)), _) => peer.clone(),
            (None, Received::Request(request)) => {
                signed::peer(&home, request).map_err(|failure| failure.about(&subject))?
            }
            (None, object) => match tolerated::labelled_peer(&home, object) {
                Some(peer) => peer,
                None => message.peer().map_err(|failure| failure.about(&subject))?,
            },
        };
        if matches!(message.object, Received::Identity(_)) {
            keep(&mut home, &peer, &arguments.known)?;
        }
        let before = get::stored(&home, &message.object.kind_and_name());
        match &message.object {
            Received::Tenant(tenant) if tolerated::is_tolerated(&home, &peer, tenant) => {
                tolerated::receive(context, &mut home, &peer, tenant, &subject)?;
            }
            Received::Tenant(tenant) => {
                let doubt = misdirected::with_doubt(&home, &peer, subject.clone());
                let mut provider =
                    ProviderSide::new(&mut home, &peer, &context.policy, context.clock)?;
                let lost = lost_nonce::way_out(&provider);
                let received = provider.receive_tenant(tenant, &doubt);
                received.map_err(|failure| match lost {
                    Some(lost) => refusal(format!("{subject}: {lost}")),
                    None => failure,
                })?;
            }
            Received::Identity(identity) => {
                let mut consumer =
                    ConsumerSide::new(&mut home, &peer, &context.policy, context.clock)?;
                consumer.receive_identity(identity, &subject)?;
            }
            Received::Request(request) => {
                signed::receive(context, &mut home, &peer, request, &subject)?;
            }
            Received::ResourceSlice(_) | Received::Renew(_) => {
                if let Some(way) = &carried {
                    carried::receive(context, &mut home, way, &message.object, &subject)?;
                }
            }
        }
        let id = message.object.kind_and_name();
        let after = get::stored(&home, &id);
        let verb = match before {
            None => "created",
            Some(before) if after.as_ref() == Some(&before) => "unchanged",
            Some(_) => "configured",
        };
        results.push((peer, carried, id, verb));
    }
    home.save()?;
    for (peer, carried, (kind, name), verb) in results {
        context.deeds.tell(
            APPLIED,
            json!({ "kind": kind, "name": name, "peer": peer.as_str(), "action": verb }),
        );
        let name = escaped(&name);
        if let Some(way) = &carried {
            carried::settle(context, &mut home, way, (kind, &name), verb)?;
            continue;
        }
        match kind {
            Kind::CertificateSigningRequest => {
                signed::settle(context, &mut home, &peer, &name, verb)?;
            }
            Kind::Tenant => settle_tenant(context, &mut home, &peer, &name, verb)?,
            _ => settle_identity(context, &mut home, &peer, &name, verb)?,
        }
    }
    Ok(())
}

/// An object from a peer, and the file that contains it.
struct Message {
    file: String,
    object: Received,
}

fn read(file: &Path, messages: &mut Vec<Message>) -> Result<()> {
    let name = input::name(file);
    let subject = format!("{name} is refused, and nothing was changed");
    let refuse = |reason: String| Failure::new(Code::Refused, format!("{subject}: {reason}"));
    let text = input::read(file)?;
    if let Some(recognised) = Recognised::of(&text).filter(|found| *found != Recognised::Empty) {
        return Err(refuse(recognised.sentence()));
    }
    let objects = manifest::read(&text, &Limits::default()).map_err(|error| {
        refuse(format!(
            "it is not a manifest: {error}. Ask the peer to generate it again, and pass it on unchanged."
        ))
    })?;
    if objects.is_empty() {
        return Err(refuse(
            "there is no object in it. Ask the peer to generate it again.".to_owned(),
        ));
    }
    for object in objects {
        let object = match object {
            Object::Tenant(tenant) => Received::Tenant(tenant),
            Object::Identity(identity) => Received::Identity(identity),
            Object::ResourceSlice(slice) => Received::ResourceSlice(slice),
            Object::Renew(renew) => Received::Renew(renew),
            Object::CertificateSigningRequest(request) => Received::Request(request),
            Object::Unreadable(unreadable) => {
                let id = match unreadable.id.name.is_empty() {
                    true => String::new(),
                    false => format!("{}: ", unreadable.id),
                };
                return Err(refuse(format!(
                    "{id}{}. Ask the peer to generate it again, and pass it on unchanged.{}",
                    unreadable.reason,
                    damaged::printed_by(&unreadable.id).unwrap_or_default()
                )));
            }
            other => {
                return Err(refuse(format!(
                    "{}: a peer sends only a Tenant, an Identity, a ResourceSlice or a Renew, and the own cluster's signer a CertificateSigningRequest. Apply only objects of these kinds.",
                    other.id()
                )));
            }
        };
        messages.push(Message {
            file: name.clone(),
            object,
        });
    }
    Ok(())
}

fn refusal(message: String) -> Failure {
    Failure::new(Code::Refused, message)
}

impl Message {
    /// The cluster that the object names. The library checks the other fields
    /// against it.
    fn peer(&self) -> Result<ClusterId> {
        let (text, field) = match &self.object {
            Received::Tenant(tenant) => (&tenant.metadata.name, "metadata.name"),
            Received::Identity(identity) => (&identity.spec.cluster_id, "spec.clusterID"),
            Received::ResourceSlice(slice) => (&slice.metadata.name, "metadata.name"),
            Received::Renew(renew) => (&renew.metadata.name, "metadata.name"),
            Received::Request(request) => (&request.metadata.name, "metadata.name"),
        };
        text.parse().map_err(|error| {
            let (kind, name) = self.object.kind_and_name();
            let id = match name.is_empty() {
                true => kind.to_string(),
                false => ObjectRef::new(kind, "", name).to_string(),
            };
            Failure::new(
                Code::Refused,
                format!("{id}, {field}: {error}. Use the cluster ID that the peer's Liqo was installed with."),
            )
        })
    }
}

fn settle_tenant(
    context: &Context,
    home: &mut Home,
    peer: &ClusterId,
    name: &str,
    verb: &str,
) -> Result<()> {
    let mut provider = ProviderSide::new(home, peer, &context.policy, context.clock)?;
    let settled = provider.settle().map_err(|failure| {
        let options = provider.home.site().options();
        Failure::new(
            failure.code,
            format!(
                "the Tenant of {peer} is stored, and has no certificate yet: {failure}. Mend that, and then run: {} renew {options}",
                program()
            ),
        )
    });
    let stand = settled?;
    let options = provider.home.site().options();
    let told = match &stand {
        ProviderStand::Authenticated => format!(
            "{peer} is authenticated. Now generate its Identity: {} generate identity {options} --remote-cluster-id {peer}",
            program()
        ),
        // The report says what the cluster's signer needs.
        ProviderStand::AwaitsCertificate => {
            format!("{peer} is verified. Its request waits for the cluster's signer.")
        }
        ProviderStand::AwaitsApproval => format!(
            "{peer} waits for approval: {} approve tenant {peer} {options}",
            program()
        ),
        ProviderStand::Tolerated => format!("{peer} is let in without a handshake."),
        ProviderStand::Drained => {
            return Err(Failure::waiting(format!(
                "the Tenant of {peer} is stored, but drained: uncordon it to let the peer in again"
            )));
        }
        ProviderStand::Refused(error) => return Err(refused(provider.home, peer, error)),
        ProviderStand::AwaitsTenant | ProviderStand::Ended => {
            return Err(Failure::waiting(format!(
                "the Tenant of {peer} is being deleted: apply it again afterwards"
            )));
        }
    };
    context
        .printer
        .result(&format!("tenant.{}/{name} {verb}\n", names::API_GROUP))?;
    context.printer.message(&told);
    if let Some(key) = key_of(home, peer) {
        context.printer.message(&format!(
            "Compare the fingerprint of its key with {peer}'s administrator, by phone: {key}"
        ));
    }
    Ok(())
}

/// The fingerprint of the key in a peer's Tenant. A tolerated Tenant has none.
fn key_of(home: &Home, peer: &ClusterId) -> Option<Fingerprint> {
    let key = get::tenant_of(home, peer)?.spec.public_key.as_slice();
    let key = PublicKey::from_tenant_field(key, &Policy::compatible()).ok()?;
    Some(key.fingerprint())
}

fn settle_identity(
    context: &Context,
    home: &mut Home,
    peer: &ClusterId,
    name: &str,
    verb: &str,
) -> Result<()> {
    let mut consumer = ConsumerSide::new(home, peer, &context.policy, context.clock)?;
    let (stand, notices) = consumer.settle()?;
    let secret = match stand {
        ConsumerStand::Authenticated(secret) => secret,
        ConsumerStand::Refused(error) => return Err(Failure::of("the Identity", &error)),
        _ => {
            return Err(Failure::at_odds(
                "the Identity was applied, but it is missing",
            ));
        }
    };
    context
        .printer
        .result(&format!("identity.{}/{name} {verb}\n", names::API_GROUP))?;
    for notice in &notices {
        let told = remedies::noticed(home, peer, Role::Provider, notice);
        context.printer.warning(&told);
    }
    context.printer.message(&format!(
        "The kubeconfig is in {secret}: {}. Print it with: {} get kubeconfig {} --remote-cluster-id {peer}",
        home.site_of(&secret),
        program(),
        home.site().options()
    ));
    for (carried, why) in remedies::earlier(home, peer, context.clock.now()?) {
        for line in carried.lines(home, peer, why) {
            context.printer.message(&line);
        }
    }
    Ok(())
}
