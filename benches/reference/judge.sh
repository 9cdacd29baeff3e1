#!/usr/bin/env bash
# Judges one exchange by Liqo's own functions.
#
#   judge.sh DIR [VERSION...]
#
# VERSION is 1.2.0, 1.1.2, 1.0.3 or 1.0.0; the default is all of them. Version
# 1.0.0 cannot judge an exchange with an RSA or ECDSA key. An exchange with
# Renews is for the versions of its scheme: 1.2.0, or all others.
#
# The exit code is 1 if a check failed, and 2 if the arguments are wrong or the
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
    # Go finds this out by itself, but that takes a second.
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
