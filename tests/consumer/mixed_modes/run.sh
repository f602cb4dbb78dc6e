#!/bin/sh
# run.sh FOLDER COMPILER FLAG...
# Units of one mode link; a header-only unit and one of compiled mode do not, in either order, and the
# linker's words name the reason. FOLDER, which is made anew, is for what is compiled.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
folder=$1
shift
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"

for unit in main other; do
    "$@" -c "$here/$unit.cpp" -o "$unit.o"
    "$@" -DSOTTO_SEPARATE_COMPILATION -c "$here/$unit.cpp" -o "compiled_$unit.o"
done
"$@" main.o other.o -o header_only
./header_only
"$@" compiled_main.o compiled_other.o -o compiled
./compiled

for mixed in "main.o compiled_other.o" "compiled_other.o main.o" "compiled_main.o other.o" "other.o compiled_main.o"; do
    # shellcheck disable=SC2086 # two files
    if "$@" $mixed -o mixed > said 2>&1; then
        echo "these link, though they are of two modes: $mixed" >&2
        exit 1
    fi
    if ! grep -q sources_mix_header_only_and_compiled_mode said; then
        cat said >&2
        echo "these do not link, but for another reason: $mixed" >&2
        exit 1
    fi
done
