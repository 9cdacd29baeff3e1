//! What `--help` shows after the options.

pub(super) const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  the file system, the machine or a request to the API server failed
  2  the command line is wrong: an option, or a file or home that it names
  3  the input from the peer was refused; with --strict, not wholly verified
  4  something else is needed first: from the peer, from an administrator, or your
     confirmation; or what --fail-if names is there
  5  this side's own objects contradict each other, or cannot be read";

pub(super) const LONG_HELP: &str = "\
Examples:
  Authenticate two clusters on this machine, and make their homes:
    liqo-auth authenticate --init --home ./cl-consumer --remote-home ./cl-provider

  Authenticate two real clusters:
    liqo-auth authenticate --kubeconfig consumer.kubeconfig --remote-kubeconfig provider.kubeconfig

  The same by hand, each step on one home only:
    liqo-auth create nonce      --home ./cl-provider --remote-cluster-id cl-consumer
    liqo-auth get nonce         --home ./cl-provider --remote-cluster-id cl-consumer > nonce.txt
    liqo-auth generate tenant   --home ./cl-consumer --remote-cluster-id cl-provider --nonce - < nonce.txt > tenant.yaml
    liqo-auth apply             --home ./cl-provider -f tenant.yaml
    liqo-auth generate identity --home ./cl-provider --remote-cluster-id cl-consumer > identity.yaml
    liqo-auth apply             --home ./cl-consumer -f identity.yaml

  `kubectl apply -f` accepts tenant.yaml and identity.yaml without changes.

  Request a part of the provider's resources, and show the state of the provider:
    liqo-auth create resourceslice mypool --home ./cl-consumer --remote-home ./cl-provider --cpu 2 --memory 4Gi
    liqo-auth status --home ./cl-provider

Exit codes:
  0  done
  1  the file system, the machine or a request to the API server failed
  2  the command line is wrong: an option, or a file or home that it names
  3  the input from the peer was refused; with --strict, not wholly verified
  4  something else is needed first: from the peer, from an administrator, or your
     confirmation; or what --fail-if names is there
  5  this side's own objects contradict each other, or cannot be read";

pub(super) const INIT_EXAMPLES: &str = "\
Examples:
  liqo-auth init --home ./cl-provider --cluster-id cl-provider --api-server https://172.19.0.3:6443
  liqo-auth init --home ./cl-consumer --key-algorithm rsa-2048
  liqo-auth init --home ./cl-provider --ca-cert ca.crt --ca-key ca.key";

pub(super) const AUTHENTICATE_EXAMPLES: &str = "\
Examples:
  liqo-auth authenticate --remote-kubeconfig provider.kubeconfig
  liqo-auth authenticate --kubeconfig consumer.kubeconfig --remote-kubeconfig peering-user.kubeconfig
  liqo-auth authenticate --context consumer --remote-context provider
  liqo-auth authenticate --home ./cl-consumer --remote-home ./cl-provider
  liqo-auth authenticate --init --home ./cl-consumer --remote-home ./cl-provider \\
      --remote-api-server https://172.19.0.3:6443";

pub(super) const MANUAL_FLOW: &str = "\
Examples:
  liqo-auth create nonce      --home ./cl-provider --remote-cluster-id cl-consumer
  liqo-auth generate tenant   --home ./cl-consumer --remote-cluster-id cl-provider --nonce \"$NONCE\" > tenant.yaml
  liqo-auth apply             --home ./cl-provider -f tenant.yaml
  liqo-auth generate identity --home ./cl-provider --remote-cluster-id cl-consumer > identity.yaml
  liqo-auth apply             --home ./cl-consumer -f identity.yaml";

pub(super) const APPLY_EXAMPLES: &str = "\
Examples:
  liqo-auth apply --home ./cl-provider -f tenant.yaml
  cat identity.yaml | liqo-auth apply --home ./cl-consumer -f -

All files are verified before anything is stored. If one is refused, nothing changes.";

pub(super) const INSPECT_EXAMPLES: &str = "\
Examples:
  liqo-auth inspect tenant.yaml
  liqo-auth inspect --home ./cl-provider tenant.yaml
  liqo-auth inspect --now 2026-11-20T13:00:00Z identity.yaml

With --home, the command runs the same checks as `apply` on that home.
It changes nothing. The exit code is 3 if anything is wrong.";

pub(super) const SET_EXAMPLES: &str = "\
Examples:
  liqo-auth set api-server https://172.19.0.3:6443 --home ./cl-provider
  liqo-auth set ca ca.crt --home ./cl-provider
  liqo-auth set ca --default --home ./cl-provider
  liqo-auth set renewal by-consumer --home ./cl-consumer --remote-cluster-id cl-provider";

pub(super) const ROTATE_EXAMPLES: &str = "\
Examples:
  liqo-auth rotate key --home ./cl-consumer --remote-cluster-id cl-provider
  liqo-auth authenticate --home ./cl-consumer --remote-home ./cl-provider

By hand, the provider makes a new nonce, and the consumer signs it:
  liqo-auth rotate key      --home ./cl-consumer --remote-cluster-id cl-provider
  liqo-auth create nonce    --home ./cl-provider --remote-cluster-id cl-consumer --replace
  liqo-auth generate tenant --home ./cl-consumer --remote-cluster-id cl-provider --nonce \"$NONCE\" > tenant.yaml";

pub(super) const COMPLETION_EXAMPLES: &str = "\
Examples:
  source <(liqo-auth completion bash)
  source <(liqo-auth completion zsh)
  liqo-auth completion fish > ~/.config/fish/completions/liqo-auth.fish

Cluster IDs, tenants and slices are completed from the home of the command line.";

pub(super) const CREATE_RESOURCE_SLICE: &str = "\
Examples:
  liqo-auth create resourceslice mypool --home ./cl-consumer --remote-home ./cl-provider --cpu 4 --memory 8Gi --pods 30
  liqo-auth create resourceslice mypool --home ./cl-consumer --remote-cluster-id cl-provider \\
      --cpu 4 --resource nvidia.com/gpu=2 -o yaml
  liqo-auth create resourceslice mypool --context consumer --remote-cluster-id cl-provider \\
      --wait=false";

pub(super) const CORDON_EXAMPLES: &str = "\
Examples:
  liqo-auth cordon tenant cl-consumer --home ./cl-provider
  liqo-auth cordon resourceslice mypool --home ./cl-provider --remote-cluster-id cl-consumer";

pub(super) const UNAUTHENTICATE_EXAMPLES: &str = "\
Examples:
  liqo-auth unauthenticate --home ./cl-consumer --remote-home ./cl-provider
  liqo-auth unauthenticate --home ./cl-consumer --remote-cluster-id cl-provider
  liqo-auth unauthenticate --context consumer --remote-context provider --wait";

pub(super) const RENEW_EXAMPLES: &str = "\
Examples:
  liqo-auth renew --home ./cl-consumer --remote-home ./cl-provider
  liqo-auth renew --home ./cl-provider --now +300d
  liqo-auth renew --home ./cl-provider";

pub(super) const APPROVE_EXAMPLES: &str = "\
Examples:
  liqo-auth approve tenant cl-consumer --home ./cl-provider
  liqo-auth approve resourceslice mypool --context provider --remote-cluster-id cl-consumer
  liqo-auth deny tenant cl-consumer --home ./cl-provider --reason 'nobody asked for it'";

/// The examples of a page that has none in its definition.
pub(super) fn of(path: &str) -> Option<&'static str> {
    let found = PAGES.iter().find(|(page, _)| *page == path);
    found.map(|(_, examples)| *examples)
}

const PAGES: &[(&str, &str)] = &[
    ("create nonce", "\
Examples:
  liqo-auth create nonce --home ./cl-provider --remote-cluster-id cl-consumer
  liqo-auth create nonce --home ./cl-provider --remote-cluster-id cl-consumer --replace"),
    ("delete", DELETE),
    ("delete nonce", DELETE),
    ("delete resourceslice", DELETE),
    ("delete peering-user", DELETE),
    ("get", GET),
    ("get tenants", GET),
    ("get identities", GET),
    ("get resourceslices", GET),
    ("get renews", GET),
    ("get nonce", "\
Examples:
  liqo-auth get nonce --home ./cl-provider
  liqo-auth get nonce --home ./cl-provider --remote-cluster-id cl-consumer > nonce.txt"),
    ("get kubeconfig", "\
Examples:
  liqo-auth get kubeconfig controlplane-cl-provider --home ./cl-consumer
  liqo-auth get kubeconfig --home ./cl-consumer --remote-cluster-id cl-provider
  liqo-auth get kubeconfig --home ./cl-consumer --remote-cluster-id cl-provider --resourceslice mypool"),
    ("generate tenant", MANUAL_FLOW),
    ("generate identity", MANUAL_FLOW),
    ("generate resourceslice", CARRIED),
    ("generate renew", CARRIED),
    ("generate peering-user", "\
Examples:
  liqo-auth generate peering-user --home ./cl-provider --consumer-cluster-id cl-consumer > user.kubeconfig
  liqo-auth generate peering-user --kubeconfig provider.kubeconfig --consumer-cluster-id cl-consumer"),
    ("set api-server", SET_EXAMPLES),
    ("set ca", SET_EXAMPLES),
    ("set renewal", SET_EXAMPLES),
    ("rotate key", ROTATE_EXAMPLES),
    ("status", "\
Examples:
  liqo-auth status --home ./cl-provider
  liqo-auth status --kubeconfig provider.kubeconfig -o json
  liqo-auth status --home ./cl-provider -o jsonpath='{.peerings[*].phase}'
  liqo-auth status --home ./cl-provider --fail-if refused,expired --fail-if-expiring 30d
  liqo-auth status --kubeconfig provider.kubeconfig -o nagios --fail-if-expiring 30d
  liqo-auth status --home ./cl-provider --tree
  liqo-auth status --home ./cl-provider -o mermaid
  liqo-auth status --home ./cl-provider --remote-cluster-id cl-consumer -o dot | dot -Tsvg

With -o nagios, the exit code is 0 (OK), 1 (WARNING: something waits, or a
certificate ends soon), 2 (CRITICAL: something is refused or expired), or 3
(UNKNOWN: the cluster cannot be read). With --fail-if, only what it names
counts."),
    ("doctor", "\
Examples:
  liqo-auth doctor --home ./cl-provider
  liqo-auth doctor --kubeconfig provider.kubeconfig -o json"),
    ("replicate", "\
Examples:
  liqo-auth replicate --home ./cl-consumer --remote-home ./cl-provider"),
    ("cordon tenant", CORDON_EXAMPLES),
    ("cordon resourceslice", CORDON_EXAMPLES),
    ("drain", DRAIN),
    ("drain tenant", DRAIN),
    ("uncordon", UNCORDON),
    ("uncordon tenant", UNCORDON),
    ("uncordon resourceslice", UNCORDON),
    ("activate", ACTIVATE),
    ("activate tenant", ACTIVATE),
    ("approve tenant", APPROVE_EXAMPLES),
    ("approve resourceslice", APPROVE_EXAMPLES),
    ("deny tenant", APPROVE_EXAMPLES),
    ("sign-again tenant", super::sign_again::EXAMPLES),
    ("sign-again resourceslice", super::sign_again::EXAMPLES),
    ("release", "\
Examples:
  liqo-auth release --home ./cl-consumer --remote-cluster-id cl-provider"),
    ("audit verify", super::audit::EXAMPLES),
    ("audit show", super::audit::EXAMPLES),
    ("rbac", "\
Examples:
  liqo-auth rbac --provider --offloading | kubectl apply -f -
  liqo-auth rbac --guard | kubectl apply -f -"),
    ("legacy", LEGACY),
    ("legacy get", LEGACY),
    ("legacy get token", LEGACY),
    ("legacy get certificate", LEGACY),
    ("legacy set", LEGACY),
    ("legacy release", "\
Examples:
  liqo-auth legacy release --home ./cl-foreign --remote-cluster-id cl-home"),
    ("legacy status", "\
Examples:
  liqo-auth legacy status --home ./cl-home"),
    ("version", "\
Examples:
  liqo-auth version
  liqo-auth version -o json"),
    ("man", "\
Examples:
  liqo-auth man | man -l -
  liqo-auth man --dir /usr/local/share/man/man1"),
    ("options", "\
Examples:
  liqo-auth options

A switch, such as --dry-run, also takes a value: --dry-run=true or --dry-run=false."),
];

const DELETE: &str = "\
Examples:
  liqo-auth delete nonce --home ./cl-provider --remote-cluster-id cl-consumer
  liqo-auth delete resourceslice mypool --home ./cl-consumer --remote-home ./cl-provider
  liqo-auth delete peering-user --home ./cl-provider --consumer-cluster-id cl-consumer
  liqo-auth delete peering-user --kubeconfig provider.kubeconfig --consumer-cluster-id cl-consumer";

const GET: &str = "\
Examples:
  liqo-auth get tenants --home ./cl-provider
  liqo-auth get tenant cl-consumer --home ./cl-provider -o yaml
  liqo-auth get identities -A --home ./cl-consumer -o wide
  liqo-auth get rs --home ./cl-consumer -o name
  liqo-auth get tenants --home ./cl-provider -o jsonpath='{.items[*].metadata.name}'";

const CARRIED: &str = "\
Examples:
  liqo-auth generate resourceslice mypool --home ./cl-consumer --remote-cluster-id cl-provider > mypool.yaml
  liqo-auth generate renew controlplane --home ./cl-provider --remote-cluster-id cl-consumer";

const DRAIN: &str = "\
Examples:
  liqo-auth drain tenant cl-consumer --home ./cl-provider
  liqo-auth drain tenant cl-consumer --home ./cl-provider --dry-run";

const UNCORDON: &str = "\
Examples:
  liqo-auth uncordon tenant cl-consumer --home ./cl-provider
  liqo-auth uncordon resourceslice mypool --home ./cl-provider --remote-cluster-id cl-consumer";

const ACTIVATE: &str = "\
Examples:
  liqo-auth activate tenant cl-consumer --home ./cl-provider";

const LEGACY: &str = "\
Examples:
  liqo-auth legacy serve --home ./cl-foreign --trust-whoever-holds-the-token
  liqo-auth legacy get token --home ./cl-foreign |
      liqo-auth legacy set remote-token --home ./cl-home --remote-cluster-id cl-foreign
  liqo-auth legacy get certificate --home ./cl-foreign > cl-foreign.crt
  liqo-auth legacy peer --home ./cl-home --foreign-cluster cl-foreign \\
      --auth-url https://127.0.0.1:8443 --ca cl-foreign.crt";
