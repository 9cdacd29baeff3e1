//! What `--help` shows after the options.

pub(super) const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  the file system or the machine failed
  2  the command line is wrong
  3  the input from the peer was refused
  4  something else is needed first
  5  this side's own objects contradict each other";

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
  1  the file system or the machine failed
  2  the command line is wrong
  3  the input from the peer was refused
  4  something else is needed first
  5  this side's own objects contradict each other";

pub(super) const INIT_EXAMPLES: &str = "\
Examples:
  liqo-auth init --home ./cl-provider --cluster-id cl-provider --api-server https://172.19.0.3:6443
  liqo-auth init --home ./cl-consumer --key-algorithm rsa-2048
  liqo-auth init --home ./cl-provider --ca-cert ca.crt --ca-key ca.key";

pub(super) const AUTHENTICATE_EXAMPLES: &str = "\
Examples:
  liqo-auth authenticate --remote-kubeconfig provider.kubeconfig
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

pub(super) const COMPLETION_EXAMPLES: &str = "\
Examples:
  source <(liqo-auth completion bash)
  liqo-auth completion fish > ~/.config/fish/completions/liqo-auth.fish";

pub(super) const CREATE_RESOURCE_SLICE: &str = "\
Examples:
  liqo-auth create resourceslice mypool --home ./cl-consumer --remote-home ./cl-provider --cpu 4 --memory 8Gi --pods 30
  liqo-auth create resourceslice mypool --home ./cl-consumer --remote-cluster-id cl-provider \\
      --cpu 4 --resource nvidia.com/gpu=2 -o yaml";

pub(super) const CORDON_EXAMPLES: &str = "\
Examples:
  liqo-auth cordon tenant cl-consumer --home ./cl-provider
  liqo-auth cordon resourceslice mypool --home ./cl-provider --remote-cluster-id cl-consumer";

pub(super) const UNAUTHENTICATE_EXAMPLES: &str = "\
Examples:
  liqo-auth unauthenticate --home ./cl-consumer --remote-home ./cl-provider
  liqo-auth unauthenticate --home ./cl-consumer --remote-cluster-id cl-provider";

pub(super) const RENEW_EXAMPLES: &str = "\
Examples:
  liqo-auth renew --home ./cl-consumer --remote-home ./cl-provider
  liqo-auth renew --home ./cl-provider";

pub(super) const APPROVE_EXAMPLES: &str = "\
Examples:
  liqo-auth approve tenant cl-consumer --home ./cl-provider
  liqo-auth deny tenant cl-consumer --home ./cl-provider --reason 'nobody asked for it'";

pub(super) const SIGN_AGAIN_EXAMPLES: &str = "\
Examples:
  liqo-auth sign-again tenant cl-consumer --home ./cl-provider
  liqo-auth sign-again resourceslice mypool --home ./cl-provider --remote-cluster-id cl-consumer";
