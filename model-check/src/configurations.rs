//! The configurations: who is there, what may happen, and how often.

use crate::{
    calls::Call,
    deeds::{Hostile, Plant, WriteAtProvider},
    setup::Setup,
};

/// What is explored.
#[derive(Debug, Clone)]
pub struct Configuration {
    pub name: &'static str,
    pub setup: Setup,
    /// Whether the honest consumer is there.
    pub has_consumer: bool,
    pub hostile: Hostile,
    /// Whether the hostile consumer was let in before the start.
    pub has_let_in: bool,
    /// Two replicas of the provider, on views that may be old.
    pub replicas: bool,
    /// Slices and renewals are carried between the clusters.
    pub replicates: bool,
    /// What administrators may say.
    pub words: &'static [Call],
    /// What a hostile consumer may write.
    pub writes: &'static [WriteAtProvider],
    pub last_instant: u8,
    pub left: Left,
    pub plant: Option<Plant>,
}

/// How often something may still happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Left {
    /// Words of the administrators.
    pub words: u8,
    /// Deeds of the hostile cluster.
    pub deeds: u8,
    /// Crashes.
    pub crashes: u8,
    /// Planted faults.
    pub plants: u8,
}

pub const HONEST: Configuration = Configuration {
    name: "",
    setup: Setup {
        kubernetes_signer: false,
        has_provider_key: true,
        knows_provider: false,
        renames_namespace: false,
        two_way: false,
        peer_again: false,
        fault: None,
    },
    has_consumer: true,
    hostile: Hostile::Nobody,
    has_let_in: false,
    replicas: false,
    replicates: false,
    words: &[Call::Invite],
    writes: &[],
    last_instant: 0,
    left: Left {
        words: 1,
        deeds: 0,
        crashes: 2,
        plants: 0,
    },
    plant: None,
};

const NO_DEEDS: Left = HONEST.left;

/// The configurations that run in CI.
pub fn short() -> Vec<Configuration> {
    let is_short = |configuration: &Configuration| SHORT.contains(&configuration.name);
    all().into_iter().filter(is_short).collect()
}

const SHORT: [&str; 13] = [
    "honest-crashes",
    "honest-words",
    "honest-slices",
    "honest-consumer-ends",
    "honest-again",
    "hostile-again",
    "hostile-consumer-beside",
    "hostile-provider",
    "hostile-tenants",
    "hostile-offloads",
    "two-way",
    "replicas",
    "kubernetes-signer",
];

/// All configurations.
pub fn all() -> Vec<Configuration> {
    vec![
        Configuration {
            name: "honest-crashes",
            last_instant: 3,
            ..HONEST
        },
        Configuration {
            name: "honest-words",
            words: &WORDS,
            left: Left {
                words: 3,
                crashes: 1,
                ..NO_DEEDS
            },
            ..HONEST
        },
        Configuration {
            name: "honest-slices",
            replicates: true,
            words: &[
                Call::Invite,
                Call::SetCondition(2),
                Call::End,
                Call::Unauthenticate,
                Call::RequestSlice,
                Call::DeleteSlice,
            ],
            left: Left {
                words: 4,
                crashes: 0,
                ..NO_DEEDS
            },
            ..HONEST
        },
        Configuration {
            name: "honest-consumer-ends",
            words: &ENDS_OF_CONSUMER,
            left: Left {
                words: 3,
                crashes: 1,
                ..NO_DEEDS
            },
            ..HONEST
        },
        Configuration {
            name: "honest-consumer-ends-long",
            words: &ENDS_OF_CONSUMER,
            left: Left {
                words: 4,
                crashes: 2,
                ..NO_DEEDS
            },
            ..HONEST
        },
        Configuration {
            name: "hostile-consumer-nonces",
            has_consumer: false,
            hostile: Hostile::Consumer,
            words: &WORDS,
            writes: &[
                WriteAtProvider::EmptyNonce { stays: false },
                WriteAtProvider::EmptyNonce { stays: true },
                WriteAtProvider::DeleteNonce,
                WriteAtProvider::ActiveTenant,
                WriteAtProvider::OtherKeyInTenant,
                WriteAtProvider::UnreadableTenant,
            ],
            left: Left {
                words: 3,
                deeds: 2,
                crashes: 1,
                plants: 0,
            },
            ..HONEST
        },
        Configuration {
            name: "hostile-consumer-slices",
            has_consumer: false,
            hostile: Hostile::Consumer,
            words: &[
                Call::Invite,
                Call::SetCondition(1),
                Call::SetCondition(2),
                Call::End,
            ],
            writes: &[
                WriteAtProvider::SpoilCertificate,
                WriteAtProvider::DeleteCertificate,
                WriteAtProvider::Slice {
                    by_other_key: false,
                    stays: false,
                },
                WriteAtProvider::Slice {
                    by_other_key: true,
                    stays: true,
                },
                WriteAtProvider::UnreadableSlice,
                WriteAtProvider::UnlabelSlice,
                WriteAtProvider::DeleteSlice,
                WriteAtProvider::Renew,
            ],
            left: Left {
                words: 3,
                deeds: 3,
                crashes: 1,
                plants: 0,
            },
            ..HONEST
        },
        Configuration {
            name: "hostile-provider",
            has_consumer: false,
            hostile: Hostile::Provider,
            words: &[],
            left: Left {
                words: 0,
                deeds: 4,
                crashes: 1,
                plants: 0,
            },
            ..HONEST
        },
        Configuration {
            name: "hostile-provider-beside",
            setup: Setup {
                knows_provider: true,
                ..HONEST.setup
            },
            hostile: Hostile::Provider,
            left: Left {
                words: 1,
                deeds: 3,
                crashes: 1,
                plants: 0,
            },
            ..HONEST
        },
        Configuration {
            name: "hostile-consumer-beside",
            hostile: Hostile::Consumer,
            writes: &[
                WriteAtProvider::EmptyNonce { stays: true },
                WriteAtProvider::Slice {
                    by_other_key: false,
                    stays: true,
                },
                WriteAtProvider::UnreadableTenant,
                WriteAtProvider::UnreadableSlice,
            ],
            left: Left {
                words: 3,
                deeds: 3,
                crashes: 0,
                plants: 0,
            },
            ..HONEST
        },
        Configuration {
            name: "honest-again",
            setup: AGAIN,
            words: &ENDS,
            left: Left {
                words: 3,
                crashes: 1,
                ..NO_DEEDS
            },
            ..HONEST
        },
        HOSTILE_AGAIN,
        FOREIGN_TENANTS,
        OFFLOADS,
        TWO_WAY,
        Configuration {
            name: "two-way-long",
            has_let_in: false,
            words: &[Call::Invite, Call::End, Call::Unauthenticate],
            left: Left {
                words: 2,
                deeds: 4,
                crashes: 0,
                plants: 0,
            },
            ..TWO_WAY
        },
        Configuration {
            name: "replicas",
            replicas: true,
            has_consumer: false,
            hostile: Hostile::Consumer,
            left: Left {
                words: 2,
                deeds: 1,
                crashes: 0,
                plants: 0,
            },
            ..HONEST
        },
        Configuration {
            name: "kubernetes-signer",
            setup: Setup {
                kubernetes_signer: true,
                ..HONEST.setup
            },
            replicas: true,
            has_consumer: false,
            hostile: Hostile::Consumer,
            left: Left {
                words: 1,
                deeds: 1,
                crashes: 0,
                plants: 0,
            },
            ..HONEST
        },
    ]
}

/// A peer writes Tenants into its tenant namespace, which has a name of its own.
pub const FOREIGN_TENANTS: Configuration = Configuration {
    name: "hostile-tenants",
    setup: Setup {
        renames_namespace: true,
        ..HONEST.setup
    },
    hostile: Hostile::Consumer,
    has_let_in: true,
    writes: &[
        WriteAtProvider::TenantOfOther { is_readable: true },
        WriteAtProvider::TenantOfOther { is_readable: false },
        WriteAtProvider::TenantElsewhere,
        WriteAtProvider::TenantOfNobody,
        WriteAtProvider::SliceOfOther,
    ],
    left: Left {
        words: 1,
        deeds: 2,
        crashes: 1,
        plants: 0,
    },
    ..HONEST
};

/// A peer that was let in has Liqo bind its group in an offloaded namespace.
pub const OFFLOADS: Configuration = Configuration {
    name: "hostile-offloads",
    has_consumer: false,
    hostile: Hostile::Consumer,
    has_let_in: true,
    words: &[
        Call::Invite,
        Call::SetCondition(0),
        Call::SetCondition(2),
        Call::End,
    ],
    writes: &[
        WriteAtProvider::NamespaceMap { stays: false },
        WriteAtProvider::NamespaceMap { stays: true },
        WriteAtProvider::UnlabelNamespaceMap,
    ],
    left: Left {
        words: 2,
        deeds: 2,
        crashes: 1,
        plants: 0,
    },
    ..HONEST
};

/// The hostile cluster is a consumer, and becomes a provider as well.
pub const TWO_WAY: Configuration = Configuration {
    name: "two-way",
    setup: Setup {
        two_way: true,
        ..HONEST.setup
    },
    has_consumer: false,
    hostile: Hostile::Both,
    has_let_in: true,
    words: &[
        Call::SetCondition(2),
        Call::End,
        Call::Unauthenticate,
        Call::RequestSlice,
        Call::DeleteSlice,
    ],
    left: Left {
        words: 1,
        deeds: 3,
        crashes: 0,
        plants: 0,
    },
    ..HONEST
};

/// The words of both administrators, with the consumer's end.
const ENDS_OF_CONSUMER: [Call; 4] = [
    Call::Invite,
    Call::ReplaceNonce,
    Call::SetCondition(1),
    Call::Unauthenticate,
];

/// The nonce of a peering that has ended serves again.
const AGAIN: Setup = Setup {
    peer_again: true,
    ..HONEST.setup
};

/// A hostile consumer keeps its Tenants, and writes them again after an end.
pub const HOSTILE_AGAIN: Configuration = Configuration {
    name: "hostile-again",
    setup: AGAIN,
    has_consumer: false,
    hostile: Hostile::Consumer,
    words: &ENDS,
    writes: &[
        WriteAtProvider::EmptyNonce { stays: false },
        WriteAtProvider::ActiveTenant,
        WriteAtProvider::OtherKeyInTenant,
    ],
    left: Left {
        words: 3,
        deeds: 2,
        crashes: 1,
        plants: 0,
    },
    ..HONEST
};

/// What ends a peering, for a time or for good.
const ENDS: [Call; 5] = [
    Call::Invite,
    Call::SetCondition(0),
    Call::SetCondition(2),
    Call::End,
    Call::EndForGood,
];

/// The words of an administrator of the provider.
const WORDS: [Call; 6] = [
    Call::Invite,
    Call::ReplaceNonce,
    Call::SetCondition(0),
    Call::SetCondition(1),
    Call::SetCondition(2),
    Call::End,
];
