#!/bin/sh
# reference_test.sh DOXYFILE DOXYGEN PYTHON AWK
# Proves that the reference is refused where words are missing or wrong, and made of what headers have; and that its
# filter leaves all lines of all headers where they are.

folder=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$folder/../.." && pwd)
doxyfile=$1
doxygen=$2
python=$3
awk=$4
case $("$doxygen" --version) in
    1.9.*) ;;
    *)
        echo "skipped: the reference is checked with doxygen 1.9"
        exit 0
        ;;
esac
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0

# make FOLDER: the reference of one header alone, with what is on standard input in the library's namespace; in `said`
# what is wrong with it.
make() {
    rm -rf "$scratch/include" "$scratch/out"
    mkdir -p "$scratch/include/sotto/$1" "$scratch/out"
    {
        printf '#pragma once\n/// All.\nnamespace sotto {\n'
        cat
        printf '}\n'
    } > "$scratch/include/sotto/$1/a.hpp"
    {
        cat "$doxyfile"
        echo "INPUT = \"$scratch/include/sotto\""
        echo "OUTPUT_DIRECTORY = \"$scratch/out\""
        echo "STRIP_FROM_PATH = \"$scratch/include\""
        echo 'USE_MDFILE_AS_MAINPAGE ='
    } > "$scratch/doxyfile"
    said=$("$doxygen" "$scratch/doxyfile" 2>&1) &&
        said=$("$python" -B "$folder/reference.py" "$scratch/out/xml" 2>&1)
}

# refuses TEXT FOLDER
refuses() {
    if make "$2"; then
        failures=$((failures + 1))
        echo "accepted, expected: $1"
    fi
    case $said in
        *"$1"*) ;;
        *)
            failures=$((failures + 1))
            printf 'expected: %s\ngot:      %s\n' "$1" "$said"
            ;;
    esac
}

# takes FOLDER [WORDS]: accepts what is on standard input, and WORDS are in what becomes of it.
takes() {
    if ! make "$1"; then
        failures=$((failures + 1))
        printf 'expected nothing, got: %s\n' "$said"
    fi
    if [ $# -gt 1 ] && ! cat "$scratch"/out/xml/*.xml | grep -qF "$2"; then
        failures=$((failures + 1))
        echo "missing: $2"
    fi
}

refuses 'f() (function) of namespace sotto is not documented' core <<'CPP'
void f();
CPP
refuses 'sotto::a is not documented' core <<'CPP'
struct a {
    /// It.
    int one;
};
CPP
refuses 'one (variable) of struct sotto::a is not documented' core <<'CPP'
/// It.
struct a {
    int one;
};
CPP
refuses 'enumerator sotto::a::two is not documented' core <<'CPP'
/// It.
enum class a {
    one,  // the first
    two
};
CPP
refuses 'concept sotto::a is not documented' core <<'CPP'
template <class T>
concept a = true;
CPP
refuses 'is said to be as sotto::optimizer says, which does not name it' optimizers <<'CPP'
/// How a gradient moves parameters.
template <class T>
concept optimizer = true;
/// It.
struct a {
    int update();
};
CPP
# What looks like a command is text.
takes core 'See \ref sotto::no_such_concept' <<'CPP'
/// See \ref sotto::no_such_concept.
void f();
CPP
takes core 'seconds, also where a brace { is said' <<'CPP'
/// It.
struct a {
    double one = 0.0;  // seconds, also where a brace { is said
    int x, y;          // pixels
    int two() const { return 2; }  // for ever
    /// Three.
    void three(int which,  // counted from 0
               int whose);  // whom it is for
private:
    int four;
};
CPP
takes core 'which comes first' <<'CPP'
/// It.
///   one  which comes first
///        or never
///   two  the other
enum class a { one = 1, two };
CPP
takes core '<ref' <<'CPP'
/// Options as lines.
template <class T>
concept describable = true;
/// It.
struct a {
    void describe(auto&& field) const { field("<b>", 1); }
    friend bool operator==(const a&, const a&) = default;
    a(const a&) = delete;
};
CPP
takes optimizers <<'CPP'
/// How a gradient moves parameters.
///   update(tensor)  so
template <class T>
concept optimizer = true;
/// It: a < b && `c < d`, 5 % of @these, #those and *all*.
///   math    x_i <= y_i;  a -- b
///   wire    | 4 | bytes |
///           | 8 | more  |
struct a {
    int update();
};
namespace detail {
void f();
}
CPP

# shellcheck disable=SC2044  # names of headers hold no blanks
for header in $(find "$root/include/sotto" -name '*.hpp'); do
    "$awk" -v members="$root/cmake/reference_members.txt" -f "$root/cmake/reference.awk" "$header" > "$scratch/filtered"
    if [ "$(wc -l < "$header")" -ne "$(wc -l < "$scratch/filtered")" ]; then
        failures=$((failures + 1))
        echo "$header: the filter moves lines"
    fi
done

[ "$failures" -eq 0 ] && echo 'what lacks words is refused'
exit "$failures"
