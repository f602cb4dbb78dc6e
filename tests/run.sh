#!/usr/bin/env bash
# tests/run.sh [all | STAGE...]
# Builds and runs tests from a fresh clone on. Without an argument: parts, contracts and whole runs, built by clang, which
# compiles fastest, and checks of the sources' text. `all` is what has to pass before a merge, in stages: `gcc`,
# whole runs and examples with g++ and everything about headers and package; `sanitize`, the parts with clang and its
# sanitizers of addresses and undefined behaviour; `clang`, header-only, what optimisation may change; `thread`, what
# threads share; `fuzz`, 20 s of fuzzing for each decoder.
#   SOTTO_DATA           folder with data sets; tests that need one say that they skip without it
#   SOTTO_FUZZ_SECONDS   seconds of fuzzing for each decoder; by default 20
#   SOTTO_JOBS           compilers and tests side by side; by default one for each processor
set -uo pipefail

quick=no
if [ $# -eq 0 ] || { [ $# -eq 1 ] && { [ "$1" = -q ] || [ "$1" = --quick ]; }; }; then
    quick=yes
    shift $#
fi
if [ $# -eq 1 ] && [ "$1" = all ]; then
    set -- gcc sanitize clang thread fuzz
fi
stages=" $* "
for name in "$@"; do
    case $name in
        gcc | sanitize | clang | thread | fuzz) ;;
        *)
            echo "usage: tests/run.sh [all | STAGE...]; a stage is gcc, sanitize, clang, thread or fuzz, not '$name'" >&2
            exit 2
            ;;
    esac
done

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
export OPENBLAS_NUM_THREADS=1
jobs=${SOTTO_JOBS:-$(nproc)}
passed=0
failed=0

# wanted STAGE: whether it was asked for
wanted() {
    [[ $stages == *" $1 "* ]]
}

# stage TITLE PRESET [CTEST ARGUMENTS]...: configures, builds, runs, and adds to the two counts.
# `configure` holds further arguments for CMake.
# All of them compile tests together, for a fresh clone compiles each just once.
configure=()
stage() {
    local title=$1 preset=$2 log=build/$2.log started=$SECONDS built lost total
    shift 2
    mkdir -p build
    echo
    echo "== $title"
    if ! cmake --preset "$preset" -D SOTTO_TOGETHER=ON "${configure[@]}" > "$log" 2>&1; then
        tail -n 40 "$log"
        echo "configuring $preset failed"
        failed=$((failed + 1))
        return
    fi
    # -k 0: one file that does not compile must not hide the tests of the others.
    if ! cmake --build --preset "$preset" -j "$jobs" -- -k 0 >> "$log" 2>&1; then
        grep -E -A 6 'error:|FAILED:|undefined reference' "$log" | head -n 60
        echo "building $preset failed; all of its output is in $log"
        failed=$((failed + 1))
    fi
    built=$SECONDS
    echo "built in $((built - started)) s"
    # One more than there are processors: many tests wait for clocks and sockets.
    ctest --preset "$preset" -j "$((jobs + 1))" "$@" 2>&1 | tee "build/$preset.tests.log"
    read -r lost total < <(sed -nE \
        's/^[0-9]+% tests passed, ([0-9]+) tests? failed out of ([0-9]+)$/\1 \2/p' \
        "build/$preset.tests.log")
    echo "tested in $((SECONDS - built)) s"
    if [ -z "${total:-}" ]; then
        echo "no test of $preset ran"
        failed=$((failed + 1))
        return
    fi
    failed=$((failed + lost))
    passed=$((passed + total - lost))
}

finish() {
    echo
    echo "all of it in $SECONDS s"
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
    exit
}

echo "== packages"
cmake/install_debian.sh tests || exit 1
[ -n "${SOTTO_DATA:-}" ] || echo "SOTTO_DATA is not set: tests that need its data sets will skip"

if [ "$quick" = yes ]; then
    # Left out: what takes long to compile, and tests of compilers' messages, of each header and of the package.
    stage "clang" quick
    finish
fi
# Tests of parts and contracts are run under the sanitizers that follow, which leave out whole runs in turn;
# `cmake --workflow --preset` release or sanitize does all with either.
configure=(-D SOTTO_QUICK=ON -D SOTTO_CHECK_PARTS=ON)
wanted gcc && stage "g++, headers, floors, misuse, consumers, examples" release
configure=(-D SOTTO_QUICK=ON -D SOTTO_WHOLE_RUNS=OFF)
wanted sanitize && stage "address and undefined-behaviour sanitizers" sanitize
# That builds everything with clang. Without a sanitizer it needs only what optimisation may change, and under
# the other one only what threads share; `cmake --workflow --preset` thread or clang does all of it.
configure=(-D SOTTO_TEST_ALL=OFF)
wanted clang && stage "clang, optimised" clang
wanted thread && stage "thread sanitizer" thread
configure=(-D "SOTTO_FUZZ_SECONDS=${SOTTO_FUZZ_SECONDS:-}")
# Each searches for so many seconds, however many share a processor.
wanted fuzz && stage "fuzzing" fuzz -j $((10 * jobs))
finish
