#!/bin/sh
# headers_alone_test.sh COMPILER
# Proves that headers_alone.sh refuses a header that lacks an include, wherever it stands, and leaves
# out none but those that a source has compiled.

folder=$(cd "$(dirname "$0")" && pwd)
compiler=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0
mkdir -p "$scratch/include/sotto/core" "$scratch/tests/unit"

# header NAME: written from standard input after a #pragma once.
header() {
    { echo '#pragma once'; cat; } > "$scratch/include/sotto/core/$1.hpp"
}

# says SENTENCE: what is printed has this line.
says() {
    if ! printf '%s\n' "$said" | grep -qxF "$1"; then
        failures=$((failures + 1))
        printf 'expected: %s\ngot:      %s\n' "$1" "$said"
    fi
}

# check FOLDERS HEADER...
check() {
    folders=$1
    shift
    printf 'include/sotto/core/%s.hpp\n' "$@" > "$scratch/list"
    said=$(sh "$folder/headers_alone.sh" "$scratch" "$scratch/list" "$folders" 2 \
        "$compiler" -std=c++20 "-I$scratch/include" 2>&1)
}

refused() {
    check "$@" && failures=$((failures + 1)) && echo "accepted: $*"
}

accepted() {
    check "$@" || { failures=$((failures + 1)); printf 'refused: %s\n%s\n' "$*" "$said"; }
}

header whole <<'CPP'
#include <vector>
inline std::vector<int> whole() { return {}; }
CPP
header lacking <<'CPP'
inline std::vector<int> lacking() { return {}; }
CPP
header before <<'CPP'
// What it includes first is compiled alone as well.

#include "sotto/core/whole.hpp"
#include "sotto/core/lacking.hpp"
CPP

accepted '' whole
says '1 of 1 headers to compile'
refused '' lacking whole
says 'include/sotto/core/lacking.hpp: does not compile alone'
says '2 of 2 headers to compile'
accepted '' before

# A source that includes it first; then one that includes it after something, or inside a condition.
echo '#include "sotto/core/before.hpp"' > "$scratch/tests/unit/before.cpp"
accepted tests/unit before whole
says '0 of 2 headers to compile'
refused tests/unit before whole lacking
says 'include/sotto/core/lacking.hpp: does not compile alone'
says '1 of 3 headers to compile'
for line in '#include <vector>' '#define LACKING' '#if 0' 'int before;' '/* a comment'; do
    printf '%s\n#include "sotto/core/lacking.hpp"\n' "$line" > "$scratch/tests/unit/lacking.cpp"
    refused tests/unit lacking
    says 'include/sotto/core/lacking.hpp: does not compile alone'
done

: > "$scratch/list"
said=$(sh "$folder/headers_alone.sh" "$scratch" "$scratch/list" '' 1 "$compiler") &&
    failures=$((failures + 1)) && echo 'an empty list was accepted'
says "$scratch/list: names no header"

[ "$failures" -eq 0 ] && echo 'a header that lacks an include is refused'
exit "$failures"
