//! The settings for the resource slices of consumers: `slices` in a home's settings, for all
//! consumers and for each.

use std::collections::BTreeMap;

use liqo_auth::{
    crypto::{Answer, BoxError},
    model::{ClusterId, IngressClass, LoadBalancerClass, Quantity, StorageClass},
    provider::{Grant, LiqoClasses, ResourceSlicePolicy, SliceDecision, SliceRequest},
};
use serde::{Deserialize, Deserializer, Serialize, de::Error};

/// What the resource slices of consumers get. What is left out is as in Liqo's chart.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Slices {
    /// How much of each resource a slice keeps of what Liqo has granted it, when its peering
    /// is taken over from Liqo. If this is left out, as much as Liqo grants by default.
    #[serde(deserialize_with = "amounts", skip_serializing_if = "Option::is_none")]
    pub(crate) adopt_up_to: Option<Amounts>,
    /// What a slice gets of the resources that it does not request.
    #[serde(deserialize_with = "amounts", skip_serializing_if = "Option::is_none")]
    default_resources: Option<Amounts>,
    /// The most of each resource that a slice gets.
    #[serde(deserialize_with = "amounts", skip_serializing_if = "Option::is_none")]
    caps: Option<Amounts>,
    /// The most of each resource that all slices of a consumer get together.
    #[serde(deserialize_with = "amounts", skip_serializing_if = "Option::is_none")]
    total: Option<Amounts>,
    /// Whether slices of the class `default` are granted.
    #[serde(skip_serializing_if = "Option::is_none")]
    default_class: Option<bool>,
    /// The labels of the virtual nodes.
    #[serde(deserialize_with = "few", skip_serializing_if = "Option::is_none")]
    node_labels: Option<BTreeMap<String, String>>,
    /// The storage classes that are offered. If this is left out, those of the cluster.
    #[serde(deserialize_with = "few", skip_serializing_if = "Option::is_none")]
    storage_classes: Option<Vec<Class>>,
    /// The ingress classes that are offered.
    #[serde(deserialize_with = "few", skip_serializing_if = "Option::is_none")]
    ingress_classes: Option<Vec<Class>>,
    /// The load balancer classes that are offered.
    #[serde(deserialize_with = "few", skip_serializing_if = "Option::is_none")]
    load_balancer_classes: Option<Vec<Class>>,
}

type Amounts = BTreeMap<String, Quantity>;

/// A class, as Liqo's chart names it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Class {
    name: String,
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    default: bool,
}

impl Slices {
    pub(super) fn is_usual(&self) -> bool {
        *self == Self::default()
    }

    /// Liqo's own decision with these settings. What they leave out, `usual` says.
    fn classes(&self, usual: &LiqoClasses) -> LiqoClasses {
        let defaults = Grant {
            resources: said(&self.default_resources, &usual.defaults.resources),
            storage_classes: offered(
                self.storage_classes.as_ref(),
                &usual.defaults.storage_classes,
                |storage_class_name, is_default| StorageClass {
                    storage_class_name,
                    is_default,
                },
            ),
            ingress_classes: offered(
                self.ingress_classes.as_ref(),
                &usual.defaults.ingress_classes,
                |ingress_class_name, is_default| IngressClass {
                    ingress_class_name,
                    is_default,
                },
            ),
            load_balancer_classes: offered(
                self.load_balancer_classes.as_ref(),
                &usual.defaults.load_balancer_classes,
                |load_balancer_class_name, is_default| LoadBalancerClass {
                    load_balancer_class_name,
                    is_default,
                },
            ),
            node_labels: said(&self.node_labels, &usual.defaults.node_labels),
            ..Grant::default()
        };
        LiqoClasses {
            defaults,
            caps: said(&self.caps, &usual.caps),
            total: said(&self.total, &usual.total),
            denied: self.default_class.map_or(usual.denied, |granted| !granted),
        }
    }
}

fn said<T: Clone>(said: &Option<T>, usual: &T) -> T {
    said.as_ref().unwrap_or(usual).clone()
}

fn offered<T: Clone>(
    said: Option<&Vec<Class>>,
    usual: &[T],
    class: fn(String, bool) -> T,
) -> Vec<T> {
    said.map_or_else(
        || usual.to_vec(),
        |said| {
            said.iter()
                .map(|it| class(it.name.clone(), it.default))
                .collect()
        },
    )
}

/// The decision of a home on the slices of its consumers.
pub(crate) struct SlicePolicy {
    usual: LiqoClasses,
    peers: BTreeMap<ClusterId, LiqoClasses>,
}

impl SlicePolicy {
    /// The decision with the settings for all consumers and for each, on a cluster with these
    /// StorageClasses.
    pub(super) fn new<'s>(
        for_all: &Slices,
        for_each: impl Iterator<Item = (&'s ClusterId, &'s Slices)>,
        storage_classes: &[StorageClass],
    ) -> Self {
        let usual = for_all.classes(&LiqoClasses {
            defaults: Grant {
                storage_classes: storage_classes.to_vec(),
                ..Grant::of_liqo()
            },
            ..LiqoClasses::default()
        });
        let peers = for_each.map(|(peer, slices)| (peer.clone(), slices.classes(&usual)));
        Self {
            peers: peers.collect(),
            usual,
        }
    }

    fn of(&self, peer: &ClusterId) -> &LiqoClasses {
        self.peers.get(peer).unwrap_or(&self.usual)
    }
}

impl ResourceSlicePolicy for SlicePolicy {
    fn decide(&self, request: &SliceRequest<'_>) -> Result<Answer<SliceDecision>, BoxError> {
        self.of(request.peer).decide(request)
    }
}

/// Reads amounts that can be granted.
fn amounts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Amounts>, D::Error> {
    let amounts: Option<Amounts> = few(deserializer)?;
    for (resource, amount) in amounts.iter().flatten() {
        amount.as_str().parse::<Quantity>().map_err(|_| {
            D::Error::custom(format_args!(
                "found another text for {resource:?}, expected a quantity such as 2, 500m or 4Gi"
            ))
        })?;
    }
    Ok(amounts)
}

/// Reads the settings of one slice, without those for a peering that is taken over.
pub(super) fn of_peer<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Slices, D::Error> {
    let slices = Slices::deserialize(deserializer)?;
    match slices.adopt_up_to {
        None => Ok(slices),
        Some(_) => Err(D::Error::custom(
            "found adoptUpTo for one peer, expected it under slices, for all peers",
        )),
    }
}

/// Reads a list or a map that the record of a slice can hold.
fn few<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: Serialize + Deserialize<'de>,
    D: Deserializer<'de>,
{
    let read = T::deserialize(deserializer)?;
    let text = serde_json::to_vec(&read).map_err(D::Error::custom)?;
    match text.len() <= MOST_BYTES {
        true => Ok(Some(read)),
        false => Err(D::Error::custom(format_args!(
            "found {} bytes in JSON, expected at most {MOST_BYTES}",
            text.len()
        ))),
    }
}

/// Eight of these fit into an object.
const MOST_BYTES: usize = 16 * 1024;

#[cfg(test)]
mod tests {
    use liqo_auth::model::read_document;

    use super::*;

    fn read(text: &str) -> Slices {
        read_document(text.as_bytes()).unwrap()
    }

    fn amounts(said: &[(&str, &str)]) -> Amounts {
        let said = said.iter();
        said.map(|(name, amount)| ((*name).to_owned(), (*amount).into()))
            .collect()
    }

    /// The decision on the slices of rome, and on those of all others.
    fn of_rome_and_others(for_all: &str, for_rome: &str) -> [LiqoClasses; 2] {
        let (rome, for_rome) = ("rome".parse().unwrap(), read(for_rome));
        let of_cluster = StorageClass {
            storage_class_name: "fast".to_owned(),
            is_default: true,
        };
        let policy = SlicePolicy::new(
            &read(for_all),
            [(&rome, &for_rome)].into_iter(),
            &[of_cluster],
        );
        [
            policy.of(&rome).clone(),
            policy.of(&"milan".parse().unwrap()).clone(),
        ]
    }

    #[test]
    fn slices_get_what_liqo_grants() {
        for classes in of_rome_and_others("{}", "{}") {
            assert_eq!(classes.defaults.resources, Grant::of_liqo().resources);
            let storage = &classes.defaults.storage_classes;
            assert_eq!(storage[0].storage_class_name, "fast");
            assert!(storage[0].is_default && storage.len() == 1);
            assert!(classes.caps.is_empty() && classes.total.is_empty());
            assert!(!classes.denied);
        }
    }

    #[test]
    fn what_is_said_for_a_consumer_goes_before_what_is_said_for_all() {
        let for_all = "defaultResources: {cpu: 1}
caps: {cpu: 2}
total: {cpu: 8}
nodeLabels: {region: europe}
storageClasses: []
ingressClasses: [{name: nginx, default: true}]
loadBalancerClasses: [{name: public}]
defaultClass: false";
        let for_rome = "caps: {cpu: 4}
total: {}
defaultClass: true
ingressClasses: []";
        let [rome, others] = of_rome_and_others(for_all, for_rome);
        for classes in [&rome, &others] {
            let defaults = &classes.defaults;
            assert_eq!(defaults.resources, amounts(&[("cpu", "1")]));
            assert_eq!(defaults.node_labels["region"], "europe");
            assert!(defaults.storage_classes.is_empty());
            let public = &defaults.load_balancer_classes[0];
            assert_eq!(public.load_balancer_class_name, "public");
            assert!(!public.is_default);
        }
        let nginx = &others.defaults.ingress_classes[0];
        assert!(nginx.ingress_class_name == "nginx" && nginx.is_default);
        assert!(rome.defaults.ingress_classes.is_empty());
        assert_eq!(others.caps, amounts(&[("cpu", "2")]));
        assert_eq!(rome.caps, amounts(&[("cpu", "4")]));
        assert_eq!(others.total, amounts(&[("cpu", "8")]));
        assert!(rome.total.is_empty());
        assert!(others.denied && !rome.denied);
    }

    #[test]
    fn settings_come_back_as_they_went() {
        let text = "adoptUpTo: {cpu: 2, memory: 4Gi}
caps: {}
defaultClass: false
storageClasses: [{name: fast, default: true}, {name: slow}]";
        let slices = read(text);
        let expected = amounts(&[("cpu", "2"), ("memory", "4Gi")]);
        assert_eq!(slices.adopt_up_to, Some(expected));
        assert_eq!(slices.caps, Some(Amounts::new()));
        let written = serde_json::to_string(&slices).unwrap();
        assert_eq!(read(&written), slices);
        assert!(read("{}").is_usual() && !slices.is_usual());
    }

    #[test]
    fn what_cannot_be_granted_is_refused() {
        let long = format!("nodeLabels: {{a: {}}}", "b".repeat(MOST_BYTES - 8));
        assert!(read_document::<Slices>(long.as_bytes()).is_ok());
        let longer = format!("nodeLabels: {{a: {}}}", "b".repeat(MOST_BYTES - 7));
        for wrong in [
            "adoptUpTo: {cpu: much}",
            "defaultResources: {cpu: -1}",
            "caps: {cpu: 1.2.3}",
            "total: {cpu: all}",
            "adoptUpto: {}",
            "storageClasses: [fast]",
            "ingressClasses: [{name: nginx, isDefault: true}]",
            &longer,
        ] {
            assert!(
                read_document::<Slices>(wrong.as_bytes()).is_err(),
                "{wrong}"
            );
        }
    }
}
