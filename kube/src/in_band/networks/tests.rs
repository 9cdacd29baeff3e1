//! Figures of Liqo's own tests (`pkg/utils/ipam/mapping`, 1.2.0).

use serde_json::json;

use super::*;

/// A Configuration with two networks of each sort. One of them is seen where the provider has it.
fn configuration() -> DynamicObject {
    let configuration = json!({
        "apiVersion": "networking.liqo.io/v1beta1",
        "kind": "Configuration",
        "metadata": { "name": "milan", "namespace": "liqo-tenant-milan", "generation": 1 },
        "spec": { "remote": { "cidr": {
            "pod": ["10.10.0.0/16", "10.20.0.0/16"],
            "external": ["192.168.0.0/16", "172.16.0.0/16"],
        } } },
        "status": {
            "conditions": [
                { "type": "Other", "status": "False" },
                { "type": "NetworkCIDRsConfigured", "status": "True", "observedGeneration": 1 },
            ],
            "remote": { "cidr": {
                "pod": ["10.30.0.0/16", "10.40.0.0/16"],
                "external": ["192.168.0.0/16", "172.18.0.0/16"],
            } },
        },
    });
    serde_json::from_value(configuration).unwrap()
}

/// A Configuration with another value at this place.
fn with(pointer: &str, value: Value) -> DynamicObject {
    let mut changed = configuration();
    *changed.data.pointer_mut(pointer).unwrap() = value;
    changed
}

fn see(configuration: &DynamicObject, address: &str) -> Result<String, InBandError> {
    seen_at(configuration, address.parse().unwrap()).map(|seen| seen.to_string())
}

#[test]
fn an_address_is_seen_in_the_network_of_the_same_place() {
    let configuration = configuration();
    for (address, seen) in [
        ("10.10.5.10", "10.30.5.10"),
        ("10.20.5.10", "10.40.5.10"),
        ("172.16.5.10", "172.18.5.10"),
        ("192.168.5.10", "192.168.5.10"),
    ] {
        assert_eq!(see(&configuration, address).as_deref(), Ok(seen));
    }
}

/// Liqo takes such an address as it is.
#[test]
fn an_address_of_no_network_of_the_provider_is_refused() {
    let expected = InBandError::OtherNetwork {
        address: Ipv4Addr::new(8, 8, 8, 8),
        configuration: "liqo-tenant-milan/milan".to_owned(),
    };
    assert_eq!(see(&configuration(), "8.8.8.8"), Err(expected));
}

#[test]
fn a_network_of_pods_counts_before_an_external_one() {
    let both = with("/spec/remote/cidr/external/0", json!("10.0.0.0/8"));
    assert_eq!(see(&both, "10.20.5.10").as_deref(), Ok("10.40.5.10"));
}

#[test]
fn a_configuration_that_liqo_has_not_remapped_is_awaited() {
    let expected = Err(InBandError::NotRemapped {
        configuration: "liqo-tenant-milan/milan".to_owned(),
    });
    let mut newer = configuration();
    newer.metadata.generation = Some(2);
    for not_yet in [
        newer,
        with("/status/conditions/1/status", json!("False")),
        with("/status/conditions/1/observedGeneration", json!(0)),
        with("/status/remote/cidr/pod", json!(["10.30.0.0/16"])),
        with("/status/remote", json!(null)),
        with("/status", json!({})),
    ] {
        assert_eq!(see(&not_yet, "10.20.5.10"), expected);
    }
    // The order is that of the networks.
    let first_alone = with("/status/remote/cidr/pod", json!(["10.30.0.0/16"]));
    assert_eq!(see(&first_alone, "10.10.5.10").as_deref(), Ok("10.30.5.10"));
}

/// Liqo 1.0 and 1.1 set no condition.
#[test]
fn a_configuration_without_the_condition_counts_as_far_as_it_is_remapped() {
    for conditions in [json!([]), json!([{ "type": "Other", "status": "False" }])] {
        let earlier = with("/status/conditions", conditions);
        assert_eq!(see(&earlier, "10.20.5.10").as_deref(), Ok("10.40.5.10"));
    }
}

#[test]
fn what_is_no_network_is_named() {
    for (pointer, field, wrong) in [
        (
            "/spec/remote/cidr/pod/1",
            "spec.remote.cidr.pod",
            json!("10.20.0.0"),
        ),
        ("/spec/remote/cidr/pod/1", "spec.remote.cidr.pod", json!(7)),
        (
            "/status/remote/cidr/external/1",
            "status.remote.cidr.external",
            json!(""),
        ),
        (
            "/status/remote/cidr/external/1",
            "status.remote.cidr.external",
            json!("fd00::/8"),
        ),
    ] {
        let expected = InBandError::Malformed {
            object: "Configuration liqo-tenant-milan/milan".to_owned(),
            field: field.to_owned(),
            expected: "ranges of addresses such as 10.70.0.0/16",
        };
        assert_eq!(see(&with(pointer, wrong), "172.16.5.10"), Err(expected));
    }
    // A network of IPv6 has no address of IPv4.
    let both = with("/spec/remote/cidr/pod/0", json!("fd00::/8"));
    assert_eq!(see(&both, "10.20.5.10").as_deref(), Ok("10.40.5.10"));
}

/// Each figure of Liqo's table: an address, the network at the consumer, and the result.
#[test]
fn an_address_keeps_its_host_part() {
    for (address, range, expected) in [
        ("192.168.1.20", "10.0.0.0/27", "10.0.0.20"),
        ("192.168.2.20", "10.0.0.0/27", "10.0.0.20"),
        ("192.168.1.50", "10.0.0.0/27", "10.0.0.18"),
        ("192.168.2.50", "10.0.0.0/27", "10.0.0.18"),
        ("192.168.1.1", "255.255.255.128/25", "255.255.255.129"),
        ("172.16.0.1", "255.255.255.128/25", "255.255.255.129"),
        ("192.168.1.200", "255.255.255.128/25", "255.255.255.200"),
        ("192.168.1.10", "255.255.255.0/24", "255.255.255.10"),
        ("192.168.1.100", "255.255.255.0/24", "255.255.255.100"),
        ("172.16.0.1", "255.255.240.0/20", "255.255.240.1"),
        ("172.16.1.1", "255.255.240.0/20", "255.255.241.1"),
        ("192.168.1.10", "255.4.224.0/19", "255.4.225.10"),
        ("192.168.2.10", "255.4.224.0/19", "255.4.226.10"),
        ("10.0.0.1", "255.255.192.0/18", "255.255.192.1"),
        ("10.255.1.1", "78.5.78.143/18", "78.5.65.1"),
        ("192.168.1.20", "192.168.0.0/16", "192.168.1.20"),
        ("192.168.2.20", "192.168.0.0/16", "192.168.2.20"),
        ("172.16.1.1", "172.16.0.0/12", "172.16.1.1"),
        ("172.16.2.1", "172.16.0.0/12", "172.16.2.1"),
        ("10.0.0.1", "255.192.0.0/10", "255.192.0.1"),
        ("10.1.0.1", "40.32.0.0/10", "40.1.0.1"),
        ("10.0.0.1", "255.0.0.0/8", "255.0.0.1"),
        ("10.0.0.50", "255.0.0.0/8", "255.0.0.50"),
        ("10.1.1.1", "20.0.0.0/8", "20.1.1.1"),
        ("10.2.1.1", "20.0.0.0/8", "20.2.1.1"),
        ("192.168.1.10", "240.0.0.0/4", "240.168.1.10"),
        ("192.168.2.10", "240.0.0.0/4", "240.168.2.10"),
        ("192.168.1.100", "0.0.0.0/0", "192.168.1.100"),
        ("10.0.0.1", "255.255.255.255/32", "255.255.255.255"),
        ("172.16.1.0", "172.16.0.0/16", "172.16.1.0"),
        ("172.16.1.255", "172.16.0.0/16", "172.16.1.255"),
        ("10.10.10.10", "192.168.1.0/24", "192.168.1.10"),
        ("192.168.1.255", "10.0.0.0/8", "10.168.1.255"),
        ("224.0.0.1", "192.168.1.0/24", "192.168.1.1"),
        ("127.0.0.1", "10.0.0.0/8", "10.0.0.1"),
        ("192.168.1.1", "10.0.0.0/30", "10.0.0.1"),
        ("192.168.1.2", "10.0.0.0/30", "10.0.0.2"),
        ("192.168.1.10", "10.0.0.0/29", "10.0.0.2"),
        ("172.16.5.10", "192.168.0.0/21", "192.168.5.10"),
        ("10.0.5.20", "172.16.0.0/13", "172.16.5.20"),
        ("192.168.1.100", "10.0.0.0/27", "10.0.0.4"),
        ("172.20.100.5", "192.168.0.0/17", "192.168.100.5"),
        ("192.168.3.50", "10.0.0.0/23", "10.0.1.50"),
        ("10.1.1.2", "192.168.1.0/30", "192.168.1.2"),
        ("192.168.5.33", "172.16.1.0/26", "172.16.1.33"),
    ] {
        let found = moved(address.parse().unwrap(), range.parse().unwrap());
        assert_eq!(found.to_string(), expected, "{address} in {range}");
    }
}
