#!/bin/sh
# foreign_macros_test.sh PYTHON COMPILER
# Proves that foreign_macros.py refuses a header with the name of a macro, and accepts one without.

folder=$(cd "$(dirname "$0")" && pwd)
python=$1
compiler=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0
mkdir -p "$scratch/include/sotto/core"

# check TEXT: as the only header.
check() {
    printf '#pragma once\n#include <algorithm>\n%s\n' "$1" > "$scratch/include/sotto/core/one.hpp"
    echo include/sotto/core/one.hpp > "$scratch/list"
    said=$("$python" -B "$folder/foreign_macros.py" "$scratch" "$scratch/list" \
        "$compiler" -std=c++20 "-I$scratch/include" 2>&1)
}

refused() {
    check "$1" && failures=$((failures + 1)) && echo "accepted: $1"
}

accepted() {
    check "$1" || { failures=$((failures + 1)); printf 'refused: %s\n%s\n' "$1" "$said"; }
}

accepted 'inline int least(int a, int b) { return (std::min)(a, b); }'
refused 'inline int least(int a, int b) { return std::min(a, b); }'
refused 'inline int sum() { int slots = 1; return slots + 1; }'
refused 'struct interface { int index; };'
refused 'enum class state { None, Some };'
accepted '#if defined(NEVER)
#include <missing.h>
#elif 1
#include <vector>
#endif
inline std::vector<int> none() { return {}; }'

: > "$scratch/list"
"$python" -B "$folder/foreign_macros.py" "$scratch" "$scratch/list" "$compiler" 2> "$scratch/said" &&
    failures=$((failures + 1)) && echo 'an empty list was accepted'
grep -q 'names no header' "$scratch/said" || failures=$((failures + 1))

[ "$failures" -eq 0 ] && echo 'a header with the name of a foreign macro is refused'
exit "$failures"
