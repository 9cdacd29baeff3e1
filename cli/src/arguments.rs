//! The command line.

mod administration;
pub(crate) mod audit;
mod examples;
mod legacy;
pub(crate) mod peering_user;
mod slices;
pub(crate) mod transcript;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use liqo_auth::{
    crypto::{Algorithm, Fingerprint},
    model::{ApiServerUrl, ClusterId, NamespaceName},
    policy::Policy,
};

use crate::environment::Now;

pub(crate) use administration::{
    Approve, Cordon, Deny, Drain, NamedSlice, Release, Remote, RemoteHome, Renew, SignAgain,
    Status, StatusFormat, Unauthenticate, Uncordon,
};
use examples::*;
pub(crate) use legacy::{Legacy, LegacyAuthenticate, LegacyGet, LegacySet, Peer, Serve};
pub(crate) use slices::{CreateResourceSlice, DeleteResourceSlice};

/// Authenticate Liqo clusters from files.
///
/// A home is a folder that stands for a cluster: it holds the cluster's keys
/// and, as Kubernetes manifests, what Liqo's authentication would leave on its
/// API server. The consumer wants resources, the provider gives them.
#[derive(Debug, Parser)]
#[command(name = "liqo-auth", version, after_help = EXIT_CODES, after_long_help = LONG_HELP)]
#[command(arg_required_else_help = true, propagate_version = true)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Args)]
pub(crate) struct Global {
    /// The home: the folder that stands for this cluster
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        env = "LIQO_AUTH_HOME",
        help_heading = "Global options"
    )]
    pub(crate) home: Option<PathBuf>,
    /// Which forms of a peer's message are taken; neither widens who may become whom
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        help_heading = "Global options"
    )]
    pub(crate) policy: PolicyName,
    /// When to print in colours
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        value_name = "WHEN",
        help_heading = "Global options"
    )]
    pub(crate) color: ColorChoice,
    /// Take this for the present time (RFC 3339), or one so far ahead (+300d): to judge old
    /// files, to see what comes, and for tests
    #[arg(
        long,
        global = true,
        value_name = "TIME",
        help_heading = "Global options"
    )]
    pub(crate) now: Option<Now>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum PolicyName {
    /// Only what Liqo itself writes
    #[default]
    Strict,
    /// A closed list of harmless variants besides
    Compatible,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a home: cluster ID, keys, API server and CA
    #[command(after_help = INIT_EXAMPLES)]
    Init(Init),
    /// Authenticate with a provider cluster, with access to both homes
    #[command(visible_alias = "auth", after_help = AUTHENTICATE_EXAMPLES)]
    Authenticate(Authenticate),
    /// Create a nonce (on the provider) or a resource slice (on the consumer)
    #[command(subcommand, after_help = MANUAL_FLOW)]
    Create(Create),
    /// Delete a resource slice (on the consumer) or a peering user (on the provider)
    #[command(subcommand)]
    Delete(Delete),
    /// Get tenants, identities, resource slices, renews, nonces or a kubeconfig
    #[command(subcommand)]
    Get(Get),
    /// Generate the Tenant or the Identity that the peer is to apply
    #[command(subcommand, after_help = MANUAL_FLOW)]
    Generate(Generate),
    /// Apply what the peer sent: a Tenant, an Identity, a ResourceSlice or a Renew
    #[command(after_help = APPLY_EXAMPLES)]
    Apply(Apply),
    /// Explain an object: whose, which key, what is verified, what is wrong
    #[command(after_help = INSPECT_EXAMPLES)]
    Inspect(Inspect),
    /// A home at a glance: peers, certificates, slices, and what waits for whom
    Status(Status),
    /// Carry slices and renewals to the provider and the answers back, as Liqo's replicator does
    Replicate(RemoteHome),
    /// Go on with the certificates that are due
    #[command(after_help = RENEW_EXAMPLES)]
    Renew(Renew),
    /// Give a tenant or a slice nothing new (on the provider)
    #[command(subcommand, after_help = CORDON_EXAMPLES)]
    Cordon(Cordon),
    /// Take a tenant's rights and slices back (on the provider)
    #[command(subcommand)]
    Drain(Drain),
    /// Let a tenant or a slice have what it had (on the provider)
    #[command(subcommand)]
    Uncordon(Uncordon),
    /// Approve of what waits for it (on the provider)
    #[command(subcommand, after_help = APPROVE_EXAMPLES)]
    Approve(Approve),
    /// Disapprove of what waits for approval (on the provider)
    #[command(subcommand, after_help = APPROVE_EXAMPLES)]
    Deny(Deny),
    /// Have a request signed that the signer denied, or that failed (on the provider)
    #[command(subcommand, after_help = SIGN_AGAIN_EXAMPLES)]
    SignAgain(SignAgain),
    /// Forget what a peer was known by, when its administrator says that it has changed
    Release(Release),
    /// End the authentication with a provider cluster
    #[command(visible_alias = "unauth", after_help = UNAUTHENTICATE_EXAMPLES)]
    Unauthenticate(Unauthenticate),
    /// Print the code that both sides compute of what they agreed on, to be read aloud
    #[command(after_help = transcript::EXAMPLES)]
    Transcript(transcript::TranscriptOf),
    /// The log of what this home decided
    #[command(subcommand, after_help = audit::EXAMPLES)]
    Audit(audit::Audit),
    /// Speak the shared-token protocol of Liqo 0.2 to 0.10
    #[command(subcommand)]
    Legacy(Legacy),
    /// Print shell completions
    #[command(after_help = COMPLETION_EXAMPLES)]
    Completion {
        /// The shell
        shell: Shell,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Init {
    /// The cluster's ID; the folder's name in lower case unless given
    #[arg(long, value_name = "ID")]
    pub(crate) cluster_id: Option<ClusterId>,
    #[command(flatten)]
    pub(crate) making: Making,
    /// The authority that signs for peers (PEM), instead of a new one
    #[arg(long, value_name = "FILE", requires = "ca_key")]
    pub(crate) ca_cert: Option<PathBuf>,
    /// Its private key (PKCS#8 in PEM)
    #[arg(long, value_name = "FILE", requires = "ca_cert")]
    pub(crate) ca_key: Option<PathBuf>,
    /// By which CA peers know the API server (PEM), if it is another one
    #[arg(long, value_name = "FILE")]
    pub(crate) api_server_ca: Option<PathBuf>,
    /// Have a person approve of each peer's request before it is signed
    #[arg(long)]
    pub(crate) require_approval: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Making {
    /// The algorithm of the cluster's keys
    #[arg(long, value_enum, default_value_t, value_name = "ALGORITHM")]
    pub(crate) key_algorithm: KeyAlgorithm,
    /// The URL of the cluster's API server, as peers reach it
    #[arg(long, value_name = "URL", default_value = "https://127.0.0.1:6443")]
    pub(crate) api_server: ApiServerUrl,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum KeyAlgorithm {
    #[default]
    Ed25519,
    /// Liqo's TLS compatibility mode
    #[value(name = "rsa-2048", alias = "rsa")]
    Rsa2048,
    #[value(name = "rsa-3072")]
    Rsa3072,
    #[value(name = "rsa-4096")]
    Rsa4096,
    #[value(name = "ecdsa-p256")]
    EcdsaP256,
    #[value(name = "ecdsa-p384")]
    EcdsaP384,
    #[value(name = "ecdsa-p521")]
    EcdsaP521,
}

#[derive(Debug, Args)]
pub(crate) struct Authenticate {
    /// The home of the remote cluster, the provider
    #[arg(long, value_name = "DIR", env = "LIQO_AUTH_REMOTE_HOME")]
    pub(crate) remote_home: PathBuf,
    /// Make the homes that do not exist yet
    #[arg(long)]
    pub(crate) init: bool,
    /// The local cluster's ID, if its home is made; the folder's name unless given
    #[arg(long, value_name = "ID", requires = "init")]
    pub(crate) cluster_id: Option<ClusterId>,
    /// The remote cluster's ID, if its home is made; the folder's name unless given
    #[arg(long, value_name = "ID", requires = "init")]
    pub(crate) remote_cluster_id: Option<ClusterId>,
    /// The URL of the remote cluster's API server, if its home is made
    #[arg(
        long,
        value_name = "URL",
        requires = "init",
        default_value = "https://127.0.0.1:6443"
    )]
    pub(crate) remote_api_server: ApiServerUrl,
    #[command(flatten)]
    pub(crate) making: Making,
    /// The URL of the proxy to use for the communication with the remote cluster; "" for none
    #[arg(long, value_name = "URL")]
    pub(crate) proxy_url: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Create {
    /// Create a nonce for a consumer to sign
    Nonce(CreateNonce),
    /// Ask a provider for a part of its resources
    #[command(name = "resourceslice", visible_aliases = ["rs", "resourceslices"], after_help = CREATE_RESOURCE_SLICE)]
    ResourceSlice(CreateResourceSlice),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Delete {
    /// Give a part of a provider's resources back
    #[command(name = "resourceslice", visible_aliases = ["rs", "resourceslices"])]
    ResourceSlice(DeleteResourceSlice),
    /// Delete an existing user with the permissions to peer with this cluster
    PeeringUser(peering_user::DeletePeeringUser),
}

#[derive(Debug, Args)]
pub(crate) struct CreateNonce {
    /// The cluster ID of the remote cluster
    #[arg(long, value_name = "ID")]
    pub(crate) remote_cluster_id: ClusterId,
    /// Let this cluster in without a handshake, if its Tenant says so
    #[arg(long)]
    pub(crate) tolerate_no_handshake: bool,
    /// Make a new nonce in place of the one that is there
    #[arg(long)]
    pub(crate) replace: bool,
    /// Output the resulting namespace and nonce secret, with no additional output
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    pub(crate) output: Option<Format>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Get {
    /// The Tenants of this home (a provider's)
    #[command(visible_alias = "tenant")]
    Tenants(List),
    /// The Identities of this home (a consumer's)
    #[command(visible_alias = "identity")]
    Identities(List),
    /// The ResourceSlices of this home: asked for by it, or by its peers
    #[command(name = "resourceslices", visible_aliases = ["rs", "resourceslice"])]
    ResourceSlices(List),
    /// The Renews of this home, by which certificates are renewed
    #[command(visible_alias = "renew")]
    Renews(List),
    /// The nonce for a consumer, with nothing else; without one, all nonces as a table
    Nonce(GetNonce),
    /// The kubeconfig for a provider: it holds the private key
    Kubeconfig {
        /// The cluster ID of the remote cluster
        #[arg(long, value_name = "ID")]
        remote_cluster_id: ClusterId,
        /// That of a resource slice, instead of the control plane's
        #[arg(long, value_name = "NAME")]
        resourceslice: Option<String>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only the one of this name
    pub(crate) name: Option<String>,
    /// Only those in this namespace
    #[arg(
        short,
        long,
        value_name = "NAMESPACE",
        conflicts_with = "all_namespaces"
    )]
    pub(crate) namespace: Option<NamespaceName>,
    /// Name the namespaces too
    #[arg(short = 'A', long)]
    pub(crate) all_namespaces: bool,
    /// Print manifests instead of a table
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    pub(crate) output: Option<Format>,
}

#[derive(Debug, Args)]
pub(crate) struct GetNonce {
    /// The cluster ID of the remote cluster
    #[arg(long, value_name = "ID")]
    pub(crate) remote_cluster_id: Option<ClusterId>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Generate {
    /// Generate the Tenant to be applied on the remote provider cluster
    Tenant(GenerateTenant),
    /// Generate the Identity to be applied on the remote consumer cluster
    Identity(GenerateIdentity),
    /// Generate a new user with the permissions to peer with this cluster
    PeeringUser(peering_user::GeneratePeeringUser),
}

#[derive(Debug, Args)]
pub(crate) struct GenerateTenant {
    /// The ID of the remote cluster
    #[arg(long, value_name = "ID")]
    pub(crate) remote_cluster_id: ClusterId,
    /// The nonce to sign for the authentication with the remote cluster; "-" reads it
    /// from standard input; without it, the one that was signed before
    #[arg(long, value_name = "NONCE")]
    pub(crate) nonce: Option<String>,
    /// The namespace where the Tenant is to be applied; its default one unless given
    #[arg(long, value_name = "NAMESPACE")]
    pub(crate) remote_tenant_namespace: Option<String>,
    #[command(flatten)]
    pub(crate) known: Known,
    /// The format of the manifest
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: Format,
}

/// What is wanted of, or known about, a provider. It is kept in home.yaml.
#[derive(Debug, Default, Args)]
pub(crate) struct Known {
    /// The URL of the proxy to use for the communication with the remote cluster; "" for none
    #[arg(long, value_name = "URL")]
    pub(crate) proxy_url: Option<String>,
    /// The fingerprint of a key that the provider has to prove; it may be repeated
    #[arg(long = "provider-key", value_name = "SHA256:HEX")]
    pub(crate) provider_keys: Vec<Fingerprint>,
    /// The provider's API server has a publicly trusted certificate: no CA is needed
    #[arg(long)]
    pub(crate) publicly_trusted: bool,
    /// The provider runs on EKS: its Identity may carry an AWS user's keys
    #[arg(long)]
    pub(crate) accept_aws: bool,
}

#[derive(Debug, Args)]
pub(crate) struct GenerateIdentity {
    /// The ID of the remote cluster
    #[arg(long, value_name = "ID")]
    pub(crate) remote_cluster_id: ClusterId,
    /// The remote namespace where the Identity is to be applied; its default one unless given
    #[arg(long, value_name = "NAMESPACE")]
    pub(crate) remote_tenant_namespace: Option<NamespaceName>,
    /// The format of the manifest
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: Format,
}

#[derive(Debug, Args)]
pub(crate) struct Apply {
    /// The file with the manifests; "-" for standard input; it may be repeated
    #[arg(short, long = "filename", value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) known: Known,
}

#[derive(Debug, Args)]
pub(crate) struct Inspect {
    /// The file; "-" for standard input
    pub(crate) file: PathBuf,
    /// Whom it has to be of; what it says itself unless given
    #[arg(long, value_name = "ID")]
    pub(crate) remote_cluster_id: Option<ClusterId>,
    /// The nonce that a Tenant has to have signed; the home's unless given
    #[arg(long, value_name = "NONCE")]
    pub(crate) nonce: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    #[default]
    Yaml,
    Json,
}

impl PolicyName {
    pub(crate) const fn policy(self) -> Policy {
        match self {
            Self::Strict => Policy::strict(),
            Self::Compatible => Policy::compatible(),
        }
    }
}

impl KeyAlgorithm {
    pub(crate) const fn algorithm(self) -> Algorithm {
        match self {
            Self::Ed25519 => Algorithm::Ed25519,
            Self::Rsa2048 => Algorithm::Rsa { bits: 2048 },
            Self::Rsa3072 => Algorithm::Rsa { bits: 3072 },
            Self::Rsa4096 => Algorithm::Rsa { bits: 4096 },
            Self::EcdsaP256 => Algorithm::EcdsaP256,
            Self::EcdsaP384 => Algorithm::EcdsaP384,
            Self::EcdsaP521 => Algorithm::EcdsaP521,
        }
    }
}
