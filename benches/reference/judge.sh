#!/usr/bin/env bash
# Judges one exchange by Liqo's own functions.
#
#   judge.sh DIR [VERSION...]
#
# VERSION is 1.2.0 or 1.0.0; both if none is given. An exchange with an RSA or
# ECDSA key is for 1.2.0 alone.
#
# It exits with 1 if a check failed, with 2 if it was called wrongly or the
# judge could not be built.
set -euo pipefail

usage() {
    echo "usage: ${0##*/} DIR [1.2.0|1.0.0...]" >&2
    exit 2
}

[[ $# -ge 1 && -d $1 ]] || usage
exchange=$(cd -- "$1" && pwd)
shift
[[ $# -gt 0 ]] || set -- 1.2.0 1.0.0

reference=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
built=${CARGO_TARGET_DIR:-$reference/../../target}/reference
mkdir -p -- "$built"
built=$(cd -- "$built" && pwd)
cd -- "$reference"

build() {
    # Go leaves a program alone that is up to date.
    case $1 in
        1.2.0) go build -buildvcs=false -p 2 -o "$built/judge-1.2.0" ./judge ;;
        1.0.0) go build -buildvcs=false -p 2 -modfile=go-1.0.0.mod -tags liqo_1_0 -o "$built/judge-1.0.0" ./judge ;;
        *) usage ;;
    esac || exit 2
}

for version; do build "$version"; done

failed=0
for version; do
    echo "# Liqo $version"
    "$built/judge-$version" "$exchange" || failed=1
done
exit "$failed"
