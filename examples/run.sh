#!/usr/bin/env bash
# Builds and runs an example, from a fresh clone on: see usage below.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build/examples
log=$build/build.log

# Each example as "name<tab>the first sentence of its source", which says what it shows.
examples() {
    local entry name source
    for entry in "$root"/examples/[0-9][0-9]_*; do
        [ -e "$entry" ] || continue
        name=$(basename "$entry" .cpp)
        name=${name#[0-9][0-9]_}
        source=$entry
        if [ -d "$entry" ]; then
            source=$entry/$name.cpp
            [ -e "$source" ] || source=$(find "$entry" -name '*.cpp' | sort | head -n 1)
        fi
        printf '%s\t%s\n' "$name" "$(awk '!sub("^// *", "") { exit }
            { text = text (NR > 1 ? " " : "") $0 }
            match(text, /\. /) || /\.$/ { exit }
            END { sub(/\. .*/, ".", text); print text }' "$source")"
    done
}

usage() {
    echo "usage: examples/run.sh [-n RANKS] [NAME [ARGUMENTS]...]"
    echo "Installs what is missing (Debian), builds and runs one example; without a NAME, quickstart."
    echo "-n RANKS: the workers are so many processes, which talk over TCP, not threads."
    echo
    examples | while IFS=$'\t' read -r name shows; do
        echo "  $name"
        echo "$shows" | fold -s -w 90 | sed 's/^/      /'
    done
}

case ${1:-} in
    -h | --help)
        usage
        exit 0
        ;;
esac
ranks=
if [ "${1:-}" = -n ]; then
    case ${2:-} in
        '' | *[!0-9]* | 0*)
            echo "examples/run.sh: -n takes a number of ranks, not '${2:-}'" >&2
            exit 2
            ;;
    esac
    ranks=$2
    shift 2
fi
name=${1:-quickstart}
name=${name#[0-9][0-9]_}
[ $# -eq 0 ] || shift
if ! examples | cut -f 1 | grep -qx -- "$name"; then
    echo "examples/run.sh: there is no example '$name'" >&2
    usage >&2
    exit 2
fi

# say WHAT COMMAND...: its output goes to the log, which is shown if it fails.
say() {
    echo "== $1"
    shift
    if ! "$@" >> "$log" 2>&1; then
        tail -n 40 "$log" >&2
        echo "examples/run.sh: this failed; all of its output is in $log" >&2
        exit 1
    fi
}

echo "== packages"
"$root/cmake/install_debian.sh" examples
if grep -qs adapters/torch "$root"/examples/[0-9][0-9]_"$name".cpp; then
    "$root/cmake/install_debian.sh" torch
fi
mkdir -p "$build"
: > "$log"
say "configure" cmake --preset examples -S "$root"
say "build $name (the first time with the library, which takes minutes)" \
    cmake --build "$build" --target "example_$name" ${ranks:+sotto_launch}

# The workers are threads already: BLAS must not start more for each of them.
export OPENBLAS_NUM_THREADS=1
command=("$build/examples/$name")
if [ -n "$ranks" ]; then
    command=("$build/launcher/sotto_launch" -n "$ranks" "${command[@]}" --transport tcp)
fi
echo "== run $name${ranks:+ as $ranks processes}${*:+ $*}"
exec "${command[@]}" "$@"
