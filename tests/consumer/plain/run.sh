#!/bin/sh
# run.sh FOLDER COMPILER FLAG...
# A compiler alone makes a program of which one source file, of two lines, compiles sotto.
# FOLDER, which is made anew, is for what is compiled.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
folder=$1
shift
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"

# The same flags for all units.
set -- "$@" -DSOTTO_SEPARATE_COMPILATION -DSOTTO_BASELINE_ONLY -DCONSUMER_OF_CORE -pthread
"$@" -c "$here/sotto.cpp"
"$@" "$here/../common/main.cpp" "$here/../common/strict.cpp" "$here/../common/wide.cpp" sotto.o -o program
./program
