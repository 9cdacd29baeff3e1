#!/usr/bin/env bash
# Judges near-honest requests, Tenants and Identities by this library and by
# Liqo's own functions. What Liqo refuses must not be accepted here.
#
#   differential.sh CASES [SEED]
set -euo pipefail
[[ $# -ge 1 ]] || { echo "usage: ${0##*/} CASES [SEED]" >&2; exit 2; }

reference=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
project=$reference/../..
built=${CARGO_TARGET_DIR:-$project/target}/reference
mkdir -p -- "$built"
built=$(cd -- "$built" && pwd)
(cd -- "$reference" && go build -buildvcs=false -p 2 -o "$built/differential" ./differential)
cd -- "$project"
exec cargo test --quiet -p liqo-auth-tests --all-features --test differential -- "$built/differential" "$@"
