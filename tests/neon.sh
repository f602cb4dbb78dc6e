#!/usr/bin/env bash
# tests/neon.sh
# The unit tests of kernels and wire on AArch64, where the kernels' baseline is NEON: compiled with
# g++ and with clang for that processor, and run under qemu.
#   SOTTO_INSTALL=no   installs nothing
#   SOTTO_JOBS         compilers side by side; by default one for each processor
set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
jobs=${SOTTO_JOBS:-$(nproc)}
build=build/neon
passed=0
failed=0

echo "== packages"
cmake/install_debian.sh neon || exit 1
for tool in aarch64-linux-gnu-g++ clang++ qemu-aarch64; do
    if ! command -v "$tool" > /dev/null; then
        echo "tests/neon.sh needs $tool" >&2
        exit 1
    fi
done

# What does not depend on the processor, and nothing else of this machine's /usr/include.
rm -rf "$build"
mkdir -p "$build/include"
for header in doctest xxhash.h; do
    for folder in /usr/include /usr/local/include; do
        if [ -e "$folder/$header" ]; then ln -sfn "$folder/$header" "$build/include/$header"; fi
    done
done

export options="-std=c++20 -O2 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror
    -Iinclude -Itests -isystem $build/include"

# stage NAME COMPILER...: compiles, links, runs, and adds to the two counts.
stage() {
    local started=$SECONDS good bad
    export objects=$build/$1 compiler="${*:2}"
    mkdir "$objects"
    echo
    echo "== $compiler"
    # shellcheck disable=SC2016  # the inner shell's variables
    if ! printf '%s\0' tests/unit/main.cpp tests/support/*.cpp tests/unit/{kernels,wire}/*.cpp |
        xargs -0 -P "$jobs" -I '{}' bash -c \
            'source={}; $compiler $options -c "$source" -o "$objects/${source//\//_}.o"'; then
        # The others are still run.
        failed=$((failed + 1))
    fi
    if ! $compiler "$objects"/*.o -o "$objects/tests"; then
        failed=$((failed + 1))
        return
    fi
    echo "built in $((SECONDS - started)) s"
    if ! timeout 900 qemu-aarch64 -L /usr/aarch64-linux-gnu "$objects/tests" \
        > "$objects/tests.log" 2>&1; then
        tail -n 40 "$objects/tests.log"
        failed=$((failed + 1))
    fi
    read -r good bad < <(sed -nE \
        's/^\[doctest\] test cases: *[0-9]+ \| *([0-9]+) passed \| *([0-9]+) failed.*/\1 \2/p' \
        "$objects/tests.log")
    if [ "${good:-0}" -eq 0 ]; then
        echo "no test ran to its end"
        failed=$((failed + 1))
        return
    fi
    echo "$good test cases passed, $bad failed"
    passed=$((passed + good))
}

stage g++ aarch64-linux-gnu-g++
stage clang clang++ --target=aarch64-linux-gnu
echo
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
