#!/bin/sh
# include_order_test.sh PYTHON
# Proves that include_order.py refuses a body that a circle of includes puts before what it needs.

folder=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/include/sotto/core"
failures=0

# file NAME INCLUDED...
file() {
    name=$1
    shift
    : > "$scratch/include/sotto/core/$name"
    for included in "$@"; do
        echo "#include \"sotto/core/$included\"" >> "$scratch/include/sotto/core/$name"
    done
}

# gives STATUS LINE
gives() {
    said=$("$python" -B "$folder/include_order.py" "$scratch")
    status=$?
    if [ "$status" -ne "$1" ] || ! printf '%s\n' "$said" | grep -qxF "$2"; then
        failures=$((failures + 1))
        printf 'expected: %s, %s\ngot:      %s, %s\n' "$1" "$2" "$status" "$said"
    fi
}

python=$1
file part.hpp part.ipp
file part.ipp part.hpp
file whole.hpp part.hpp whole.ipp
file whole.ipp whole.hpp
gives 0 '2 public headers, 0 places too early'
file part.ipp part.hpp whole.hpp  # its own header may come from whole.hpp, before that declares anything
gives 1 'include/sotto/core/part.ipp: stands before the declarations of sotto/core/whole.hpp if sotto/core/whole.hpp is included first'
printf '#ifdef SOTTO_SEPARATE_COMPILATION\n#include "sotto/core/whole.hpp"\n#endif\n' \
    > "$scratch/include/sotto/core/part.ipp"
gives 0 '2 public headers, 0 places too early'

[ "$failures" -eq 0 ] && echo 'a body that stands too early is refused'
exit "$failures"
