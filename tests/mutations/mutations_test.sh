#!/bin/sh
# mutations_test.sh PYTHON COMPILER
# Proves that mutations.py tells faults that a test catches from those that it misses, and refuses a wrong list.

folder=$(cd "$(dirname "$0")" && pwd)
python=$1
compiler=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0
mkdir -p "$scratch/include" "$scratch/tests/unit" "$scratch/tests/mutations" "$scratch/bench/results"

cat > "$scratch/include/sum.hpp" << 'CPP'
inline int sum(int a, int b) {
    return a +
           b;
}
inline int twice(int a) { return 2 * a; }
CPP
# It needs no doctest: a test is a program that ends with 0.
cat > "$scratch/tests/unit/sum.cpp" << 'CPP'
#include "sum.hpp"
int main() {
    volatile int three = sum(1, 2);
    if (three == 100) for (;;) three = 100;
    if (three == 200) __builtin_abort();
    return three == 3 ? 0 : 1;
}
CPP
echo > "$scratch/tests/unit/main.cpp"

# list: faults of sum.hpp from standard input.
list() {
    cat > "$scratch/tests/mutations/sums.faults"
}

# fault NAME TEXT REPLACEMENT
fault() {
    printf '[%s]\nfile: include/sum.hpp\ntext: %s\nwith: %s\ntest: tests/unit/sum.cpp\n' "$1" "$2" "$3"
}

# run STATUS [OPTION]...: what mutations.py prints and ends with.
run() {
    expected=$1
    shift
    said=$(CXX=$compiler LIBS='' "$python" -B "$folder/mutations.py" --root "$scratch" --scratch "$scratch/work" "$@" 2>&1)
    status=$?
    if [ "$status" -ne "$expected" ]; then
        failures=$((failures + 1))
        printf 'status %s, expected %s:\n%s\n' "$status" "$expected" "$said"
    fi
}

# says TEXT: what is printed contains it.
says() {
    if ! printf '%s\n' "$said" | grep -qF -e "$1"; then
        failures=$((failures + 1))
        printf 'expected: %s\ngot:      %s\n' "$1" "$said"
    fi
}

fault caught 'return a + b;' 'return a - b;' | list
run 0 --check
says '1 faults, each text is there once'
run 0
says '1/1 caught: caught (fails'
says '1 caught, 0 missed, 0 wrong of 1'
run 0
says 'as before'

{ fault caught 'return a + b;' 'return a - b;'; fault missed '2 * a' '3 * a'; } | list
run 1 --table
says '2/2 missed: missed'
grep -qF '**1 of 2 caught (50.0 %).**' "$scratch/bench/results/mutations.md" || {
    failures=$((failures + 1))
    cat "$scratch/bench/results/mutations.md"
}
run 0 --only caught
run 1 --shard 2/2
says '1/1 missed: missed'

fault crashes 'return a + b;' 'return 200;' | list
run 0
says '(crashes'

fault no-program 'return a + b;' 'return a + c;' | list
run 2
says 'wrong: does not compile'

# A test that fails without a fault says nothing about one.
echo '#error' >> "$scratch/tests/unit/sum.cpp"
fault caught 'return a + b;' 'return a - b;' | list
run 2
says 'wrong: its test does not pass'

fault gone 'return a * b;' 'return a;' | list
run 2 --check
says 'sums.faults:1: [gone]: include/sum.hpp has the text 0 times, expected once: return a * b;'
fault many 'return' '' | list
run 2 --check
says 'has the text 2 times'
{ fault same '2 * a' 'a'; fault same '2 * a' '3 * a'; } | list
run 2 --check
says 'sums.faults:6: [same]: sums.faults:1 has the same name'
fault nothing '2 * a' '2 * a' | list
run 2 --check
says 'the fault changes nothing'
{ fault case '2 * a' 'a'; echo 'case: none like it*'; } | list
run 2 --check
says "tests/unit/sum.cpp has no test case 'none like it*'"
printf '[short]\nfile: include/sum.hpp\n' | list
run 2 --check
says 'sums.faults:1: [short]: lacks text, with, test'
: | list
run 2 --check
says 'no list names a fault'

[ "$failures" -eq 0 ] && echo 'faults that are missed and lists that are wrong are found'
exit "$failures"
