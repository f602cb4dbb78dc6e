#!/bin/sh
# headers_alone_test.sh PYTHON COMPILER
# Proves that headers_alone.py refuses a header that lacks an include, wherever it stands and whatever of it is
# precompiled, and a body that lacks one.

folder=$(cd "$(dirname "$0")" && pwd)
python=$1
compiler=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0
mkdir -p "$scratch/include/sotto/core"

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

# check HEADER...
check() {
    printf 'include/sotto/core/%s.hpp\n' "$@" > "$scratch/list"
    # shellcheck disable=SC2086 # none, or one
    said=$("$python" -B "$folder/headers_alone.py" "$scratch" "$scratch/list" 2 \
        "$compiler" -std=c++20 $mode "-I$scratch/include" 2>&1)
}
mode=

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
header after <<'CPP'
#include "sotto/core/whole.hpp"
#include "sotto/core/lacking.hpp"
CPP

accepted whole
says '1 of 1 headers compile alone'
refused lacking whole
says 'include/sotto/core/lacking.hpp: does not compile alone'
says '1 of 2 headers compile alone'
accepted after
refused after lacking whole
says 'include/sotto/core/lacking.hpp: does not compile alone'
says '2 of 3 headers compile alone'

# Enough headers begin with `whole` for it to be precompiled, for which it must not help `lacking`; and with
# `broken`, which does not compile itself, as none of those then does.
names=
for each in 1 2 3 4 5 6 7 8; do
    header "user_$each" << CPP
#include "sotto/core/whole.hpp"
inline std::vector<int> user_$each() { return whole(); }
CPP
    header "victim_$each" << 'CPP'
#include "sotto/core/broken.hpp"
CPP
    names="$names user_$each"
    victims="${victims:-} victim_$each"
done
# shellcheck disable=SC2086 # several names
refused whole lacking after $names
says 'include/sotto/core/lacking.hpp: does not compile alone'
says '10 of 11 headers compile alone'
header broken <<'CPP'
#include <string>
std::vector<int> broken();
CPP
# shellcheck disable=SC2086 # several names
refused whole broken $victims
says '1 of 10 headers compile alone'

# `with_body` is declared; its body calls what another body includes.
header with_body <<'CPP'
void with_body();
#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/with_body.ipp"
#endif
CPP
printf '#pragma once\n#include "sotto/core/with_body.hpp"\ninline void with_body() { whole(); }\n' \
    > "$scratch/include/sotto/core/with_body.ipp"
refused with_body whole
mode=-DSOTTO_SEPARATE_COMPILATION
refused with_body whole
says 'include/sotto/core/with_body.ipp: does not compile alone'
says '1 of 2 headers compile alone with their bodies'
mode=

: > "$scratch/list"
said=$("$python" -B "$folder/headers_alone.py" "$scratch" "$scratch/list" 1 "$compiler" 2>&1) &&
    failures=$((failures + 1)) && echo 'an empty list was accepted'
says "$scratch/list: names no header"

[ "$failures" -eq 0 ] && echo 'a header that lacks an include is refused'
exit "$failures"
