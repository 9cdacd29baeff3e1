#!/usr/bin/env bash
# Judges one exchange by Liqo's own functions.
#
#   judge.sh DIR [VERSION...]
#
# VERSION is 1.2.0, 1.1.2, 1.0.3 or 1.0.0; all if none is given. An exchange
# with an RSA or ECDSA key is not for 1.0.0, and one with Renews is for the
# versions of their scheme: 1.2.0, or all others.
#
# It exits with 1 if a check failed, with 2 if it was called wrongly or the
# judge could not be built.
set -euo pipefail

usage() {
    echo "usage: ${0##*/} DIR [1.2.0|1.1.2|1.0.3|1.0.0...]" >&2
    exit 2
}

[[ $# -ge 1 && -d $1 ]] || usage
exchange=$(cd -- "$1" && pwd)
shift
[[ $# -gt 0 ]] || set -- 1.2.0 1.1.2 1.0.3 1.0.0

reference=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
built=${CARGO_TARGET_DIR:-$reference/../../target}/reference
mkdir -p -- "$built"
built=$(cd -- "$built" && pwd)
cd -- "$reference"

build() {
    local judge=$built/judge-$1 with=()
    case $1 in
        1.2.0) ;;
        1.1.2 | 1.0.3 | 1.0.0) with=(-modfile="go-$1.mod" -tags "liqo_${1//./_}") ;;
        *) usage ;;
    esac
    # Go would find that out by itself, but in a second and not at once.
    [[ ! -x $judge || -n $(find judge go*.mod go*.sum -newer "$judge" -print -quit) ]] || return 0
    go build -buildvcs=false -p 2 "${with[@]}" -o "$judge" ./judge || exit 2
    touch -- "$judge"
}

for version; do build "$version"; done

failed=0
for version; do
    echo "# Liqo $version"
    "$built/judge-$version" "$exchange" || failed=1
done
exit "$failed"
