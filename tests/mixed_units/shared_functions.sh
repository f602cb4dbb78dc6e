#!/bin/sh
# shared_functions.sh NM A.o B.o
# Names the functions of kernels and wire that both units have under one name, so that the linker
# gives one unit the code of the other; and the standard library's algorithms, which are the unit's
# own once one of their arguments is, such as the comparison of a sort. There must be none.
set -eu

names() {
    "$1" --defined-only "$2" |
        awk '$2 == "W" && $3 ~ /5sotto(7kernels|4wire)|^_ZSt[0-9]+__/ { print $3 }'
}

first=$(names "$1" "$2")
second=$(names "$1" "$3")
if [ -z "$first" ] || [ -z "$second" ]; then
    echo "a unit has no function of sotto's: is this what was to be compared?"
    exit 1
fi
shared=$(printf '%s\n' "$first" "$second" | sort | uniq -d)
if [ -n "$shared" ]; then
    echo "in both units; what is sotto's belongs in the namespace SOTTO_UNIT of core/config.hpp:"
    printf '%s\n' "$shared" | c++filt
    exit 1
fi
