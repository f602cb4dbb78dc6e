#!/bin/sh
# check.sh SOURCE BEGINNING COMPILER [FLAGS]...
# Passes if SOURCE, which starts with "// expect-error: <extended regular expression>", does not
# compile and the compiler says so within its first 5 lines: a reader does not scroll for the reason.
# A second line "// flags: <flags>" adds flags for this source. One without begins with the header BEGINNING, which may
# be precompiled, unless that is empty.

source=$1
beginning=$2
shift 2

expected=$(sed -n '1s|^// expect-error: ||p' "$source")
if [ -z "$expected" ]; then
    echo "$source: the first line must be '// expect-error: <regular expression>'"
    exit 1
fi

flags=$(sed -n '2s|^// flags: ||p' "$source")
if [ -z "$flags" ] && [ -n "$beginning" ]; then flags="-include $beginning"; fi

# The C locale: GCC's quotation marks are then the ASCII ones that clang prints.
# shellcheck disable=SC2086 # several flags
if output=$(LC_ALL=C "$@" -std=c++20 $flags -fsyntax-only -Wfatal-errors -fdiagnostics-color=never "$source" 2>&1); then
    echo "$source: compiles, expected an error that matches: $expected"
    exit 1
fi

if ! printf '%s\n' "$output" | head -n 5 | grep -E -- "$expected"; then
    echo "$source: the first 5 lines of the error do not match: $expected"
    printf '%s\n' "$output" | head -n 20
    exit 1
fi
