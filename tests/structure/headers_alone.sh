#!/bin/sh
# headers_alone.sh ROOT LIST FOLDERS JOBS COMPILER [FLAGS]...
# Every header that the file LIST names, as "include/sotto/folder/file.hpp", compiles alone. What a
# source in FOLDERS of ROOT includes first was compiled so when that source was, and so was what this
# header includes first: only the others are compiled here, JOBS side by side. FOLDERS may be empty.
# Prints the name of each that is at fault, after what the compiler says of it.

cd "$1" || exit 1
list=$2
folders=$3
jobs=$4
shift 4
LC_ALL=C
export LC_ALL

if [ ! -s "$list" ]; then
    echo "$list: names no header"
    exit 1
fi

# The names of source files hold no blanks, so that the lists may be split.
# shellcheck disable=SC2086 # several folders
sources=$([ -z "$folders" ] || find $folders -name '*.cpp')
# shellcheck disable=SC2046,SC2086 # several files
left=$(awk '
FNR == 1 { ++file; seen = 0 }
file == 1 { listed[FNR] = $0; count = FNR; next }
seen { next }
{ line = $0; sub(/\/\/.*/, "", line) }
line ~ /^[ \t]*(#[ \t]*pragma[ \t]+once[ \t]*)?$/ { next }
{
    seen = 1
    # Any other line, even a comment of several, counts as one that could help the header.
    if (!sub(/^[ \t]*#[ \t]*include[ \t]*"/, "", line)) next
    sub(/".*/, "", line)
    first[FILENAME] = "include/" line
    if (FILENAME ~ /\.cpp$/) starts[FILENAME]
}
END {
    for (source in starts) {
        name = first[source]
        while (name != "" && !(name in compiled)) {
            compiled[name]
            name = (name in first) ? first[name] : ""
        }
    }
    for (i = 1; i <= count; ++i) if (!(listed[i] in compiled)) print listed[i]
}
' "$list" $sources $(cat "$list"))
status=$?
[ "$status" -eq 0 ] || exit "$status"

echo "$(printf '%s\n' "$left" | grep -c .) of $(grep -c . "$list") headers to compile"
[ -n "$left" ] || exit 0
# From standard input: compilers warn of a #pragma once in their main file.
# shellcheck disable=SC2016 # expanded by the inner shell
printf '%s\n' "$left" | xargs -P "$jobs" -I '{}' sh -c '
    printf "#include \"%s\"\n" "${0#include/}" | "$@" -fsyntax-only -x c++ - 2>&1 ||
        { echo "$0: does not compile alone"; exit 1; }
' '{}' "$@"
