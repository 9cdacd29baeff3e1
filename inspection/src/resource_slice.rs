//! A ResourceSlice: its consumer, its provider, its request, and the answer.

use liqo_auth::{
    crypto::{CertificateChain, PublicKey},
    error::Error,
    machine::replication,
    model::{
        AuthParams, ClusterId, Resource, ResourceSlice, ResourceSliceCondition,
        ResourceSliceConditionType, names,
    },
    policy::Policy,
    verify::{self, ResourceSliceExpectation, VerifiedSlice},
};

use crate::{
    inspection::Inspection,
    report::Report,
    text::{escaped, masked},
};

pub(crate) fn inspect<F>(inspection: &Inspection<'_, F>, slice: &ResourceSlice) -> Report {
    let mut report = Report::of_message(&slice.id().to_string());
    describe(slice, &mut report);
    let consumer = match consumer(inspection, slice) {
        Ok(Some(consumer)) => consumer,
        Ok(None) => {
            report.unverified("nothing: its consumer has not completed it yet");
            return report;
        }
        Err(message) => {
            report.wrong(message);
            return report;
        }
    };
    if slice.spec.csr.is_empty() {
        report.unverified("nothing: its consumer has put no request into it yet");
        return report;
    }
    if !inspection.judge_name(&consumer, &mut report) {
        return report;
    }
    let key = tenant_key(inspection, &consumer);
    match check(inspection, slice, &consumer, key.as_ref()) {
        Err(error) => report.error(&error),
        Ok(verified) => {
            report.say(
                "Key",
                format!(
                    "{}, {}",
                    verified.public_key.algorithm(),
                    verified.public_key.fingerprint()
                ),
            );
            report.verified(format!(
                "the request is for the slice {} of {consumer} and nothing else, and is signed by its key",
                escaped(&slice.metadata.name)
            ));
            match key {
                Some(_) => report.verified(format!("the key is that of {consumer}'s Tenant")),
                None => report.unverified(format!(
                    "whether the key is {consumer}'s: give the provider's home with --home"
                )),
            }
            if let Some(auth_params) = &slice.status.auth_params {
                answer(inspection, auth_params, &verified, &mut report);
            }
        }
    }
    report
}

fn describe(slice: &ResourceSlice, report: &mut Report) {
    let spec = &slice.spec;
    let origin = slice.metadata.labels.get(names::REPLICATION_ORIGIN_LABEL);
    if let Some(origin) = origin {
        report.say("Replica of", escaped(origin));
    }
    for (what, id) in [
        ("Consumer", &spec.consumer_cluster_id),
        ("Provider", &spec.provider_cluster_id),
    ] {
        report.say(what, id.as_deref().map_or("none".to_owned(), escaped));
    }
    report.say(
        "Class",
        match spec.class.as_str() {
            "" => "none".to_owned(),
            class => escaped(class),
        },
    );
    report.say("Asks for", quantities(&spec.resources));
    for (annotation, line) in [
        (names::CREATE_VIRTUAL_NODE_ANNOTATION, "a virtual node"),
        (names::CORDON_ANNOTATION, "the slice is cordoned"),
        (names::CORDON_TENANT_ANNOTATION, "its tenant is cordoned"),
    ] {
        if slice
            .metadata
            .annotations
            .get(annotation)
            .map(String::as_str)
            == Some(names::TRUE)
        {
            report.say("Marked", line);
        }
    }
    for (what, of) in [
        ("Authentication", ResourceSliceConditionType::Authentication),
        ("Resources", ResourceSliceConditionType::Resources),
    ] {
        report.say(
            what,
            slice
                .status
                .condition(of)
                .map_or("not decided".to_owned(), condition),
        );
    }
    if !slice.status.resources.is_empty() {
        report.say("Gets", quantities(&slice.status.resources));
    }
    if let Some(auth_params) = &slice.status.auth_params {
        report.say("API server", escaped(&masked(&auth_params.api_server)));
    }
}

/// A decision in words.
fn condition(condition: &ResourceSliceCondition) -> String {
    let mut text = format!("{:?}", condition.status);
    if let Some(since) = condition.last_transition_time {
        text.push_str(&format!(" since {since}"));
    }
    if !condition.message.is_empty() {
        text.push_str(&format!(": {}", escaped(&condition.message)));
    }
    text
}

fn quantities<'q>(
    resources: impl IntoIterator<Item = (&'q String, &'q liqo_auth::model::Quantity)>,
) -> String {
    let quantities: Vec<String> = resources
        .into_iter()
        .map(|(name, quantity)| format!("{}={}", escaped(name), escaped(quantity.as_str())))
        .collect();
    match quantities.is_empty() {
        true => "nothing in particular".to_owned(),
        false => quantities.join(", "),
    }
}

fn answer<F>(
    inspection: &Inspection<'_, F>,
    auth_params: &AuthParams,
    verified: &VerifiedSlice,
    report: &mut Report,
) {
    let chain = match CertificateChain::from_pem(
        auth_params.signed_crt.as_slice(),
        &Policy::compatible(),
    ) {
        Ok(chain) => chain,
        Err(error) => return report.say("Certificate", format!("unreadable: {error}")),
    };
    let leaf = chain.leaf();
    report.say("Dates", inspection.dates(leaf));
    if leaf.subject_is(&verified.subject()) && leaf.spki_der == verified.public_key.spki_der() {
        report.verified("the certificate is for the slice, and contains its key");
    } else {
        report.wrong(format!(
            "status.authParams.signedCRT: the certificate is for {}, which was not requested. The provider issues a new certificate.",
            escaped(&leaf.subject())
        ));
    }
}

/// The consumer of the slice: the origin of a replica, or the consumer that the
/// slice names.
fn consumer<F>(
    inspection: &Inspection<'_, F>,
    slice: &ResourceSlice,
) -> Result<Option<ClusterId>, String> {
    if let Some(given) = inspection.remote_cluster_id {
        return Ok(Some(given.clone()));
    }
    let claimed = slice
        .spec
        .consumer_cluster_id
        .as_deref()
        .unwrap_or_default();
    let origin = slice.metadata.labels.get(names::REPLICATION_ORIGIN_LABEL);
    match (origin, claimed) {
        (Some(origin), _) => origin
            .parse()
            .map(Some)
            .map_err(|error| format!("metadata.labels[liqo.io/originID]: {error}.")),
        (None, "") => Ok(None),
        (None, claimed) => claimed
            .parse()
            .map(Some)
            .map_err(|error| format!("spec.consumerClusterID: {error}.")),
    }
}

/// The key that the slice's request must have, according to the cluster or to the Tenant in
/// these files.
fn tenant_key<F>(inspection: &Inspection<'_, F>, consumer: &ClusterId) -> Option<PublicKey> {
    match inspection.cluster {
        Some(cluster) => cluster.key_of(consumer),
        None => {
            let mut keys = inspection.companions.keys_of(consumer);
            keys.next().map(|(_, key)| key.clone())
        }
    }
}

/// Verifies a slice. The library verifies replicas, which have the label of the
/// consumer. The consumer's own slice has the label of the provider instead, so that
/// its copy gets the label of the consumer.
fn check<F>(
    inspection: &Inspection<'_, F>,
    slice: &ResourceSlice,
    consumer: &ClusterId,
    tenant_key: Option<&PublicKey>,
) -> Result<VerifiedSlice, Error> {
    let mut seen = slice.clone();
    if !replication::is_replica_of(&slice.metadata, consumer) {
        seen.metadata.labels.insert(
            names::REMOTE_CLUSTER_ID_LABEL.to_owned(),
            consumer.to_string(),
        );
    }
    let expectation = ResourceSliceExpectation {
        consumer,
        provider: None,
        namespace: None,
        tenant_key,
    };
    verify::resource_slice(&seen, &expectation, inspection.policy)
}
