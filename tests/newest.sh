#!/usr/bin/env bash
# tests/newest.sh [COMPILER]...
# The projects of tests/consumer against the newest xtensor, xsimd and xtl, and the newest Boost.Asio
# over the other headers of Boost 1.81; by default with g++-12, clang++-16 and clang++-19.
#   SOTTO_NEWEST    folder with the git repositories xtl, xsimd, xtensor and asio; else they are
#                   cloned from GitHub
#   SOTTO_INSTALL=no   installs nothing
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
versions=(xtl=0.8.2 xsimd=14.3.0 xtensor=0.27.1 asio=boost-1.90.0.beta1)
[ $# -gt 0 ] || set -- g++-12 clang++-16 clang++-19
work=$PWD/build/newest
there=$work/prefix

echo "== packages"
cmake/install_debian.sh tests
missing=()
if ! command -v git > /dev/null; then missing+=(git); fi
for compiler in "$@"; do
    if ! command -v "$compiler" > /dev/null; then missing+=("${compiler/clang++/clang}"); fi
done
if [ ${#missing[@]} -gt 0 ]; then
    if [ "${SOTTO_INSTALL:-}" = no ]; then
        echo "tests/newest.sh needs ${missing[*]}" >&2
        exit 1
    fi
    as_root=()
    if [ "$(id -u)" -ne 0 ]; then as_root=(sudo); fi
    DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq "${missing[@]}" > /dev/null
fi

rm -rf "$work"
mkdir -p "$work"

# source_of NAME TAG: into $work/NAME
source_of() {
    local from=https://github.com/xtensor-stack/$1 part=.
    if [ "$1" = asio ]; then
        from=https://github.com/boostorg/asio
        part=include
    fi
    if [ -n "${SOTTO_NEWEST:-}" ]; then from=file://$(cd "$SOTTO_NEWEST/$1" && pwd -P); fi
    git -c advice.detachedHead=false clone -q --no-checkout --depth 1 --branch "$2" "$from" "$work/$1"
    git -C "$work/$1" checkout -q "$2" -- "$part"
}

for each in "${versions[@]}"; do
    name=${each%%=*}
    echo "== $name ${each#*=}"
    source_of "$name" "${each#*=}"
    if [ "$name" != asio ]; then
        cmake -S "$work/$name" -B "$work/build_$name" "-DCMAKE_INSTALL_PREFIX=$there" \
            "-DCMAKE_PREFIX_PATH=$there" > "$work/$name.log"
        cmake --install "$work/build_$name" >> "$work/$name.log"
    fi
done

# Debian's package is unpacked and not installed: that would remove Boost 1.74.
echo "== Boost 1.81 with this Asio"
(cd "$work" && apt-get download -qq libboost1.81-dev && dpkg -x libboost1.81-dev_*.deb "$work/boost")
cp -r "$work/boost/usr/." "$there/"
rm -r "$there/include/boost/asio"
cp -r "$work/asio/include/boost/." "$there/include/boost/"

export CMAKE_PREFIX_PATH=$there Boost_ROOT=$there
export PKG_CONFIG_PATH=$there/lib/pkgconfig:$there/share/pkgconfig
failed=0
for compiler in "$@"; do
    echo
    echo "== $compiler"
    build=$work/$compiler
    if ! cmake -S . -B "$build" -G Ninja "-DCMAKE_CXX_COMPILER=$compiler" -DCMAKE_BUILD_TYPE=Release \
        -DBoost_NO_SYSTEM_PATHS=ON -DSOTTO_BUILD_EXAMPLES=OFF -DSOTTO_BUILD_BENCH=OFF > "$build.log" 2>&1 ||
        ! libraries=$(cd "$build" && printf 'sotto_%s ' compiled*) ||
        # shellcheck disable=SC2086 # several targets
        ! cmake --build "$build" --target sotto_launch sotto_teachers $libraries >> "$build.log" 2>&1; then
        tail -n 40 "$build.log" >&2
        failed=$((failed + 1))
        continue
    fi
    grep -E "_DIR:PATH=.*(xtensor|xsimd|xtl|Boost)" "$build/CMakeCache.txt"
    ctest --test-dir "$build" -L consumer --output-on-failure || failed=$((failed + 1))
done
echo
echo "$(($# - failed)) compilers passed, $failed failed"
[ "$failed" -eq 0 ]
