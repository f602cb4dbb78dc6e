#!/bin/sh
# Proves that every rule of check.sh bites, and none on a tree that keeps them.

folder=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0

# tree PATH: a tree with one file, made from standard input after a #pragma once.
tree() {
    rm -rf "$scratch/tree"
    mkdir -p "$scratch/tree/$(dirname "$1")"
    { echo '#pragma once'; cat; } > "$scratch/tree/$1"
}

check() {
    said=$(sh "$folder/check.sh" "$scratch/tree" 2>&1)
}

# bites SENTENCE PATH: the file on standard input is refused with exactly this sentence.
bites() {
    tree "$2"
    check && failures=$((failures + 1)) && echo "accepted, expected: $1"
    if [ "$said" != "$2:$1" ]; then
        failures=$((failures + 1))
        printf 'expected: %s\ngot:      %s\n' "$2:$1" "$said"
    fi
}

# spares PATH: the file on standard input is accepted.
spares() {
    tree "$1"
    check || { failures=$((failures + 1)); printf 'expected nothing, got: %s\n' "$said"; }
}

repeat() {
    awk -v count="$1" -v text="$2" 'BEGIN { while (count-- > 0) printf "%s", text }'
}

bites '2: core (floor 0) includes wire (floor 2), which is above it' \
    include/sotto/core/a.hpp <<'CPP'
#include "sotto/wire/b.hpp"
CPP
bites '2: strategies (floor 5) includes sotto.hpp (floor 9), which is above it' \
    include/sotto/strategies/a.hpp <<'CPP'
#include "sotto/sotto.hpp"
CPP
bites '2: optimizers includes compressors, which is on the same floor' \
    include/sotto/optimizers/a.hpp <<'CPP'
#  include "sotto/compressors/b.hpp"
CPP
bites '1: folder attic has no floor; give it one in tests/structure/check.sh' \
    include/sotto/attic/a.hpp <<'CPP'
CPP
bites '2: includes "b.hpp"; ours are written "sotto/folder/file.hpp"' \
    include/sotto/core/a.hpp <<'CPP'
#include "b.hpp"
CPP
bites '2: names Boost or Asio, which belong in transports/detail/tcp/' \
    include/sotto/transports/in_process.hpp <<'CPP'
#include <boost/asio/ip/tcp.hpp>
CPP
bites '2: names Boost or Asio, which belong in transports/detail/tcp/' \
    include/sotto/launch/a.hpp <<'CPP'
namespace asio_alias = boost::asio;
CPP
bites '2: names OpenSSL, which belongs in transports/detail/tls/' \
    include/sotto/transports/tcp_tls.hpp <<'CPP'
#include <openssl/ssl.h>
CPP
bites '2: names MPI, which belongs in transports/mpi.hpp' \
    include/sotto/collectives/a.hpp <<'CPP'
inline int size() { int n = 0; MPI_Comm_size(world, &n); return n; }
CPP
bites '2: names LibTorch, which belongs in adapters/torch*.hpp' \
    include/sotto/models/a.hpp <<'CPP'
inline at::Tensor nothing() { return torch::zeros({0}); }
CPP
bites '2: names xsimd, which belongs in kernels/' \
    include/sotto/compressors/a.hpp <<'CPP'
using batch = xsimd::batch<float>;
CPP
bites '2: names xtensor, which belongs in nn/, models/ and data/' \
    include/sotto/trainer/a.hpp <<'CPP'
#include <xtensor/xtensor.hpp>
CPP
bites '3: has a using namespace, which every includer would inherit' \
    include/sotto/core/a.hpp <<'CPP'
#include <chrono>
using namespace std::chrono_literals;
CPP
bites '2: defines the macro MIN, whose name must start with SOTTO_' \
    include/sotto/core/config.hpp <<'CPP'
#define MIN(a, b) ((a) < (b) ? (a) : (b))
CPP
bites '3: calls min or max, macros of other libraries; write (std::min)(a, b)' \
    include/sotto/core/a.hpp <<'CPP'
#include <algorithm>
inline int least(int a, int b) { return std::min(a, b); }
CPP
bites '2: defines the macro SOTTO_UNROLL, which belongs in core/config.hpp' \
    include/sotto/kernels/a.hpp <<'CPP'
#define SOTTO_UNROLL 4
CPP
bites '2: includes "sotto/core/b.ipp"; only the header of that name does so, at its end, under #ifndef SOTTO_SEPARATE_COMPILATION' \
    include/sotto/core/a.hpp <<'CPP'
#include "sotto/core/b.ipp"
CPP
bites '2: includes "sotto/core/a.ipp"; only the header of that name does so, at its end, under #ifndef SOTTO_SEPARATE_COMPILATION' \
    include/sotto/core/a.hpp <<'CPP'
#include "sotto/core/a.ipp"
CPP
bites '2: has 101 columns, at most 100 are allowed' \
    tests/unit/core/a.cpp <<CPP
//$(repeat 99 x)
CPP

opened='opens a file or socket; core/detail/files/descriptor.hpp does so above the standard streams'
for call in 'std::fopen(path, "rb")' '::open(path, O_RDONLY)' '::socket(AF_INET, SOCK_STREAM, 0)' \
    'std::ofstream out(path)' 'std::ifstream(path) >> n' '::accept(fd, nullptr, nullptr)' \
    '::eventfd(0, 0)' '::pipe2(ends, 0)' '::dup(fd)'; do
    echo "$call;" | bites "2: $opened" include/sotto/transports/a.hpp
done
printed='prints; print_line of core/detail/text/print_line.hpp escapes what a terminal would act on'
for call in 'std::fprintf(stderr, "%s", text)' 'std::fputs(text, stdout)' 'std::puts(text)' \
    'std::cerr << text' 'std::printf("%s", text)'; do
    echo "$call;" | bites "2: $printed" include/sotto/trainer/a.hpp
done
for format in '%.4f' '%g' 'loss %*.2e' '%8.*f s'; do
    echo "std::snprintf(text, sizeof text, \"$format\", value);" |
        bites '2: prints a number by the locale; append_fixed of core/detail/text/number_text.hpp does not' \
            include/sotto/trainer/a.hpp
done

tree include/sotto/core/a.hpp < /dev/null
sed -i.bak 1d "$scratch/tree/include/sotto/core/a.hpp"
echo 'int unguarded();' >> "$scratch/tree/include/sotto/core/a.hpp"
check
[ "$said" = 'include/sotto/core/a.hpp:1: has no #pragma once' ] ||
    { failures=$((failures + 1)); echo "a missing #pragma once gave: $said"; }

tree include/sotto/core/a.hpp < /dev/null
touch "$scratch/tree/crash-1" "$scratch/tree/mine"
git -C "$scratch/tree" init -q && git -C "$scratch/tree" add crash-1 include
check && failures=$((failures + 1)) && echo 'a stray file at the top level was accepted'
[ "$said" = 'crash-1: does not belong at the top level' ] ||
    { failures=$((failures + 1)); echo "a stray file at the top level gave: $said"; }

rm -rf "$scratch/tree" && mkdir "$scratch/tree"
check && failures=$((failures + 1)) && echo 'an empty tree was accepted'

spares include/sotto/transports/detail/tcp/tcp_session.hpp <<'CPP'
#include <boost/asio/ip/tcp.hpp>
CPP
spares include/sotto/launch/a.hpp <<'CPP'
inline const char* names[] = {"MPI_LOCALRANKID", "xsimd::"};  // not boost::asio, not MPI_Init
CPP
spares include/sotto/trainer/a.hpp <<'CPP'
auto file = above_standard(descriptor(::signalfd(-1, &heard, 0)));
files.open(path, why), acceptor.accept(from), std::snprintf(text, 9, "%d %% fit", 100);
const char* text = "fopen(3), std::cerr, 100 % good";  // ::open(path), printf(text)
std::fprintf(out, "a line of its own");
CPP
spares include/sotto/strategies/a.hpp <<'CPP'
#include "sotto/core/b.hpp"
#include "sotto/strategies/b.hpp"
#include "sotto/version.hpp"
CPP
spares include/sotto/core/config.hpp <<'CPP'
#define SOTTO_LIMIT 1
CPP
spares tests/unit/core/a.cpp <<CPP
// $(repeat 97 é)
#define DOCTEST_CONFIG_IMPLEMENT
#include "support/b.hpp"
CPP

[ "$failures" -eq 0 ] && echo 'every rule bites'
exit "$failures"
