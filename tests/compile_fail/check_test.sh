#!/bin/sh
# check_test.sh COMPILER
# Proves that check.sh can fail: a harness that lets everything pass would hide every regression.

compiler=$1
folder=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0
beginning=

# answers STATUS SENTENCE: check.sh, given the file on standard input, ends so and says so.
answers() {
    cat > "$scratch/misuse.cpp"
    said=$(sh "$folder/check.sh" "$scratch/misuse.cpp" "$beginning" "$compiler" 2>&1)
    status=$?
    if [ "$status" -ne "$1" ] || ! printf '%s' "$said" | grep -q -- "$2"; then
        printf 'expected status %s and "%s", got status %s and:\n%s\n' "$1" "$2" "$status" "$said"
        failures=$((failures + 1))
    fi
}

answers 0 'a sentence' <<'CPP'
// expect-error: a sentence for the reader
static_assert(sizeof(char) == 2, "a sentence for the reader");
CPP

answers 0 'in a template' <<'CPP'
// expect-error: in a template
template <class T>
struct holder {
    static_assert(sizeof(T) == 0, "in a template");
};
holder<int> misuse;
CPP

answers 0 'an older language' <<'CPP'
// expect-error: an older language
// flags: -std=c++17 -DOTHER
#if __cplusplus < 202002L && defined(OTHER)
#error "an older language"
#endif
CPP

answers 1 'compiles, expected an error' <<'CPP'
// expect-error: a sentence for the reader
static_assert(sizeof(char) == 1, "a sentence for the reader");
CPP

answers 1 'do not match' <<'CPP'
// expect-error: a sentence for the reader
static_assert(sizeof(char) == 2, "another sentence");
CPP

answers 1 'do not match' <<'CPP'
// expect-error: the second error
int a = nowhere_1;
static_assert(sizeof(char) == 2, "the second error");
CPP

beginning=$scratch/beginning.hpp
echo 'inline constexpr int begun = 1;' > "$beginning"
answers 0 'it has begun' <<'CPP'
// expect-error: it has begun
static_assert(begun == 2, "it has " "begun");
CPP

answers 1 'do not match' <<'CPP'
// expect-error: it has begun
// flags: -DOTHER
static_assert(begun == 2, "it has " "begun");
CPP
beginning=

answers 1 'the first line must be' <<'CPP'
static_assert(sizeof(char) == 2, "a sentence for the reader");
CPP

exit "$failures"
