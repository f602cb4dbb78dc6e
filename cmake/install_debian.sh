#!/bin/sh
# install_debian.sh examples|tests|neon|bench|torch
# Installs by apt-get what building the examples, and the tests or benchmarks as well, needs and is
# not there; what LibTorch is for, which is large, only by its own name.
# When all is there it asks for no rights. SOTTO_INSTALL=no: only names what is missing.
set -eu

missing=
peers=

# need PACKAGE PLACE...: the package, unless one of the places exists; a bare name is a command.
# Files, not packages, are looked for: sotto takes a library from wherever it comes, and installing
# Debian's default Boost next to another version of Debian's would remove that one.
need() {
    package=$1
    shift
    for place in "$@"; do
        case $place in
            /*) if [ -e "$place" ]; then return; fi ;;
            *) if command -v "$place" > /dev/null; then return; fi ;;
        esac
    done
    missing="$missing $package"
}

# need_header PACKAGE HEADER
need_header() {
    need "$1" "/usr/include/$2" /usr/include/*-linux-gnu/"$2" "/usr/local/include/$2"
}

# need_peer PACKAGE PLACE...: as need; but benchmarks leave a peer out that is not there, so that
# one that Debian does not have, or nobody may install, ends nothing.
need_peer() {
    before=$missing
    need "$@"
    if [ "$missing" != "$before" ]; then
        missing=$before
        peers="$peers $1"
    fi
}

need g++ g++
need cmake cmake
need ninja-build ninja
need_header libboost-dev boost/version.hpp
if [ ! -e /usr/local/include/xtensor/containers/xtensor.hpp ]; then
    need_header libxtensor-dev xtensor/xtensor.hpp
fi
need_header libxsimd-dev xsimd/xsimd.hpp
need_header libxxhash-dev xxhash.h
# Not by its <cblas.h>: the reference BLAS has one too, and multiplies many times slower.
need libopenblas-dev /usr/lib/*/libopenblas.so /usr/lib*/libopenblas.so \
    /usr/local/lib/libopenblas.so /usr/lib/*/libblis.so /opt/intel/oneapi/mkl
need_header zlib1g-dev zlib.h
need_header libcli11-dev CLI/CLI.hpp
need_header nlohmann-json3-dev nlohmann/json.hpp
case ${1:-} in
    examples)
        need_header libssl-dev openssl/ssl.h
        # Of MPIs the one whose mpirun there is.
        case $(mpirun --version 2> /dev/null) in
            *"Open MPI"*) need libopenmpi-dev mpicxx ;;
        esac
        ;;
    bench)
        need jq jq
        need_header libssl-dev openssl/ssl.h
        need python3 python3
        need iproute2 tc /sbin/tc /usr/sbin/tc
        need procps sysctl /sbin/sysctl /usr/sbin/sysctl
        need util-linux nsenter
        need_peer libgloo-dev /usr/include/gloo/allreduce.h
        need_peer libopenmpi-dev mpicxx.openmpi
        need_peer openmpi-bin mpirun.openmpi
        need_peer python3-numpy /usr/lib/python3/dist-packages/numpy
        need_peer python3-torch /usr/lib/python3/dist-packages/torch
        ;;
    tests)
        need clang clang++
        need libclang-rt-dev /usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a
        need_header doctest-dev doctest/doctest.h
        need_header libeigen3-dev eigen3/Eigen/Core
        need doxygen doxygen
        need pkg-config pkg-config
        need python3 python3
        need jq jq
        need_header libssl-dev openssl/ssl.h
        need libopenmpi-dev mpicxx
        need openmpi-bin mpirun
        need iproute2 ip /usr/sbin/ip
        need python3 python3
        need qemu-user qemu-x86_64
        ;;
    neon)
        need clang clang++
        need g++-aarch64-linux-gnu aarch64-linux-gnu-g++
        need_header doctest-dev doctest/doctest.h
        need qemu-user qemu-aarch64
        ;;
    torch)
        need_header libtorch-dev torch/csrc/api/include/torch/torch.h
        ;;
    *)
        echo "usage: install_debian.sh examples|tests|neon|bench|torch" >&2
        exit 2
        ;;
esac

if [ -z "$missing$peers" ]; then
    exit 0
fi
if [ "${SOTTO_INSTALL:-yes}" = no ] || ! command -v apt-get > /dev/null; then
    echo "not installed, by Debian's names:$missing$peers" >&2
    exit 0
fi

as_root=
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo > /dev/null; then
        if [ -z "$missing" ]; then
            echo "not installed, by Debian's names:$peers" >&2
            exit 0
        fi
        echo "missing packages:$missing" >&2
        echo "install them as root (apt-get install$missing), or install sudo" >&2
        exit 1
    fi
    as_root=sudo
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# apt COMMAND...: its output is shown only if it fails.
apt() {
    if ! $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Acquire::Retries=3 "$@" \
        > "$log" 2>&1 < /dev/null; then
        cat "$log" >&2
        echo "apt-get $1 failed" >&2
        exit 1
    fi
}

echo "installing:$missing$peers"
apt update
for peer in $peers; do
    if apt-cache show "$peer" > /dev/null 2>&1; then
        missing="$missing $peer"
    else
        echo "Debian has no $peer here" >&2
    fi
done
if [ -z "$missing" ]; then
    exit 0
fi
# shellcheck disable=SC2086  # a list of names
apt install --no-install-recommends $missing
