#!/usr/bin/env bash
# tests/package_managers/conan.sh [--system]
# conan create with its test_package: without options, with all parts as headers and a launcher, and with all parts
# compiled. Takes conan 2 from PATH, and a CONAN_HOME of its own.
#   --system   without a network: this machine's headers and libraries stand for Conan Center's packages
set -euo pipefail

case ${1:-} in
    "" | --system) ;;
    *)
        echo "usage: tests/package_managers/conan.sh [--system]" >&2
        exit 2
        ;;
esac
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export CONAN_HOME=$PWD/build/conan
rm -rf "$CONAN_HOME"
mkdir -p "$CONAN_HOME"
conan profile detect > "$CONAN_HOME/log" 2>&1 || { cat "$CONAN_HOME/log" >&2; exit 1; }
profile=$CONAN_HOME/profiles/default
sed -i 's/^compiler.cppstd=.*/compiler.cppstd=20/' "$profile"

# version_of FILE PATTERN...: the numbers behind the patterns in a header, joined by points
version_of() {
    local file=$1 pattern numbers=()
    shift
    for pattern in "$@"; do numbers+=("$(grep -ohE "define $pattern +[0-9]+" "$file" | grep -oE '[0-9]+$')"); done
    (IFS=. && echo "${numbers[*]}")
}

if [ "${1:-}" = --system ]; then
    conan remote disable '*' > "$CONAN_HOME/log" 2>&1
    boost=$(grep -oE 'BOOST_LIB_VERSION "[0-9_]+' /usr/include/boost/version.hpp | grep -oE '[0-9_]+$' | tr _ .)
    xtensor=$(version_of /usr/include/xtensor/xtensor_config.hpp XTENSOR_VERSION_{MAJOR,MINOR,PATCH})
    xsimd=$(version_of /usr/include/xsimd/config/xsimd_config.hpp XSIMD_VERSION_{MAJOR,MINOR,PATCH})
    xtl=$(version_of /usr/include/xtl/xtl_config.hpp XTL_VERSION_{MAJOR,MINOR,PATCH})
    for package in "xtl/$xtl" "xsimd/$xsimd" "xtensor/$xtensor" "boost/$boost" xxhash/0.8.1 doctest/2.4.9 \
        nlohmann_json/3.11.2 openblas/0.3.21 zlib/1.2.13 openssl/3.0.17 openmpi/4.1.4; do
        echo "== stands for Conan Center's: $package"
        conan create tests/package_managers/system --name "${package%/*}" --version "${package#*/}" \
            > "$CONAN_HOME/log" 2>&1 || { cat "$CONAN_HOME/log" >&2; exit 1; }
    done
fi

# Of our tests only that the package works: tests/run.sh has the others. What is compiled is not optimised here.
parts="-o &:models=True -o &:tls=True -o &:mpi=True"
for options in "" "$parts -o &:launcher=True" "$parts -o &:compiled=True -s build_type=Debug"; do
    echo "== conan create $options"
    # shellcheck disable=SC2086  # several words, or none
    conan create . $options --build="sotto/*" --build=missing -c tools.build:skip_test=True
done
