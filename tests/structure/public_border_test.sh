#!/bin/sh
# public_border_test.sh PYTHON
# Proves that every rule of public_border.py bites, and none on a tree that keeps them.

folder=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0

# tree PATH: a tree with one public header and the file on standard input.
tree() {
    rm -rf "$scratch/tree"
    mkdir -p "$scratch/tree/include/sotto" "$scratch/tree/$(dirname "$1")"
    printf 'namespace sotto {\nstruct known {\n};\n}  // namespace sotto\n' > "$scratch/tree/include/sotto/known.hpp"
    cat > "$scratch/tree/$1"
}

check() {
    said=$("$python" -B "$folder/public_border.py" "$scratch/tree" 2)
}
python=$1

# bites SENTENCE: the tree is refused with exactly this sentence.
bites() {
    check && failures=$((failures + 1)) && echo "accepted, expected: $1"
    [ "$said" = "$1" ] || { failures=$((failures + 1)); printf 'expected: %s\ngot:      %s\n' "$1" "$said"; }
}

spares() {
    check || { failures=$((failures + 1)); printf 'expected nothing, got: %s\n' "$said"; }
}

tree include/sotto/core/a.hpp <<'CPP'
namespace sotto {
template <class T>
concept odd = requires { T::odd; };
enum class more { none };
struct declared_elsewhere;
}  // namespace sotto
CPP
bites 'include/sotto: 3 public types and concepts, at most 2 are allowed'

tree include/sotto/core/detail/a.hpp <<'CPP'
namespace sotto::kernels {
struct tucked_away {};
}  // namespace sotto::kernels
CPP
bites 'include/sotto/core/detail/a.hpp: declares in sotto::kernels; a private header declares in sotto::detail'

tree include/sotto/core/a.hpp < /dev/null
number=0
while [ $number -lt 31 ]; do
    : > "$scratch/tree/include/sotto/core/a$number.hpp"
    number=$((number + 1))
done
bites 'include/sotto/core: 32 headers side by side, at most 30 are allowed'

tree test_package/a.cpp <<'CPP'
#include <sotto/core/detail/files/descriptor.hpp>
CPP
bites 'test_package/a.cpp: includes sotto/core/detail/files/descriptor.hpp, which is private'

tree include/sotto/core/a.hpp <<'CPP'
#include "sotto/known.hpp"
CPP
: > "$scratch/tree/include/sotto/known.ipp"
bites 'include/sotto/core/a.hpp: has bodies in .ipp files, but does not reach core/config.hpp without them
include/sotto/known.hpp: has bodies in .ipp files, but does not reach core/config.hpp without them'

tree include/sotto/core/config.hpp < /dev/null
: > "$scratch/tree/include/sotto/core/a.ipp"
echo '#include "sotto/core/config.hpp"' > "$scratch/tree/include/sotto/core/b.hpp"
echo '#include "sotto/core/b.hpp"' > "$scratch/tree/include/sotto/core/a.hpp"
spares

tree include/sotto/core/detail/a.hpp <<'CPP'
namespace sotto::detail::kernels::inline SOTTO_UNIT {
class first {};
}  // namespace sotto::detail::kernels::inline SOTTO_UNIT

template <>
struct std::hash<sotto::detail::kernels::first> {};
namespace std {
template <>
struct is_error_code_enum<int>;
}  // namespace std
CPP
spares

tree include/sotto/core/a.hpp <<'CPP'
namespace sotto::detail {
struct one {};
struct two {};
}  // namespace sotto::detail
namespace sotto {
using three = detail::one;
class four {
    struct inner {};
};
}  // namespace sotto
CPP
spares

[ "$failures" -eq 0 ] && echo 'every rule bites'
exit "$failures"
