#!/usr/bin/env bash
# tests/package_managers/vcpkg.sh [--system] [VCPKG_ROOT]
# The port in ports/ and vcpkg.json with vcpkg: as manifests, installed without features, with most of them,
# with MPI and compiled, and for consumers in classic and in manifest mode. VCPKG_ROOT is a vcpkg tree that has its
# program. Writes only to a temporary folder.
#   --system   without a network: this machine's headers and libraries stand for vcpkg's ports
set -euo pipefail

usage() {
    echo "usage: tests/package_managers/vcpkg.sh [--system] [VCPKG_ROOT]" >&2
    exit 2
}
system=no
if [ "${1:-}" = --system ]; then
    system=yes
    shift
fi
case ${1:-} in -*) usage ;; esac
[ $# -le 1 ] || usage
root=${1:-${VCPKG_ROOT:-}}
if [ ! -x "$root/vcpkg" ] || [ ! -e "$root/.vcpkg-root" ]; then
    echo "tests/package_managers/vcpkg.sh needs VCPKG_ROOT, a vcpkg tree with the program vcpkg in it" >&2
    exit 2
fi
root=$(cd "$root" && pwd -P)
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
work=$(mktemp -d "${TMPDIR:-/tmp}/sotto_vcpkg.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM  # once what runs has ended, which else would go on writing

# Packages are kept for this run alone: vcpkg does not see that the tree ours is made of has changed.
export VCPKG_ROOT=$root VCPKG_DISABLE_METRICS=1 HOME=$work/home
export VCPKG_BINARY_SOURCES="clear;files,$work/packed,readwrite"
unset XDG_CACHE_HOME
mkdir "$HOME" "$work/packed"
folders=("--x-buildtrees-root=$work/buildtrees" "--x-packages-root=$work/packages"
    "--downloads-root=$work/downloads")

overlays=()
if [ "$system" = yes ]; then
    export VCPKG_FORCE_SYSTEM_BINARIES=1 X_VCPKG_ASSET_SOURCES="clear;x-block-origin"
    export VCPKG_BINARY_SOURCES=clear  # to copy is faster
    overlays=("$work/system")
    for name in boost-asio mpi nlohmann-json openblas openssl xsimd xtensor xtl xxhash zlib; do
        mkdir -p "$work/system/$name"
        cp tests/package_managers/system/portfile.cmake "$work/system/$name/"
        more=
        case $name in
            openblas) more=', "features": {"threads": {"description": "It has them"}}' ;;
            xtensor) more=', "dependencies": ["xtl"]' ;;
        esac
        echo "{\"name\": \"$name\", \"version-string\": \"system\"$more}" > "$work/system/$name/vcpkg.json"
    done
fi

# run COMMAND...: its output goes to $work/log, and is shown only if it fails or warns; other ports may warn
run() {
    if ! "$@" > "$work/log" 2>&1 || ! awk '
        /^Building sotto:|^-- Running vcpkg install - done/ { warned = 0 }
        /[Ww]arning:|CMake [A-Za-z ]*Warning/ { warned = 1 }
        END { exit warned }' "$work/log"; then
        cat "$work/log" >&2
        echo "failed, or warned: $*" >&2
        exit 1
    fi
}

# classic COMMAND [ARGUMENT]...: of vcpkg, with our port
classic() {
    "$root/vcpkg" "$@" --classic "${overlays[@]/#/--overlay-ports=}" "--overlay-ports=$PWD/ports" \
        "${folders[@]}" "--x-install-root=$work/installed"
}

# of_manifest COMMAND [ARGUMENT]...: of vcpkg, with our manifest
of_manifest() {
    "$root/vcpkg" "$@" "--x-manifest-root=$work/manifest" "${overlays[@]/#/--overlay-ports=}" \
        "${folders[@]}" "--x-install-root=$work/manifest/installed"
}

# packages_of COMMAND...: what an installation would install beside sotto
packages_of() {
    "$@" --dry-run > "$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
    sed -nE 's/^[ *]+([^:]+):[^@]+@.*/\1/p' "$work/log" | grep -vE '^(sotto|vcpkg-cmake)' | sort
}

# same WHAT FILE FILE
same() {
    diff -u "$2" "$3" >&2 || { echo "$1" >&2; exit 1; }
}

# consume SOURCE BINARY [OPTION]...: builds it with vcpkg's toolchain file, and runs its tests
consume() {
    run cmake -S "$1" -B "$2" "-DCMAKE_TOOLCHAIN_FILE=$root/scripts/buildsystems/vcpkg.cmake" "${@:3}"
    run cmake --build "$2"
    run ctest --test-dir "$2" --output-on-failure
}

# found_in FOLDER BINARY PARTS [ours]: what was looked for is vcpkg's and not this machine's; `ours`: by a build of sotto,
# and not by one that uses a package
found_in() {
    local name place
    local names="xtensor_DIR xsimd_DIR Boost_(INCLUDE_)?DIR xxHash_INCLUDE_DIR"
    case $3 in *models*) names+=" OpenBLAS_DIR ZLIB_INCLUDE_DIR" ;; esac
    case $3 in *tls*) names+=" OPENSSL_INCLUDE_DIR" ;; esac
    case $3${4:-} in *compiled*ours) names+=" nlohmann_json_DIR" ;; esac
    for name in $names; do
        place=$(sed -nE "/NOTFOUND$/d; s/^$name:[A-Z]*=//p" "$2/CMakeCache.txt")
        case $place in
            "$1"/*) ;;
            *)
                echo "$name is '$place' and not in $1" >&2
                exit 1
                ;;
        esac
    done
}

"$root/vcpkg" version | sed -n 1p

echo "== manifests"
for manifest in vcpkg.json ports/sotto/vcpkg.json; do
    cp "$manifest" "$work/vcpkg.json"
    run "$root/vcpkg" format-manifest "$work/vcpkg.json"
    same "$manifest is not as vcpkg writes it" "$manifest" "$work/vcpkg.json"
done
mkdir "$work/manifest"
cp vcpkg.json "$work/manifest/"
for feature in core compiled models mpi tls; do
    packages_of classic install "sotto[$feature]" > "$work/port"
    packages_of of_manifest install "--x-feature=$feature" > "$work/own"
    same "ports/sotto/vcpkg.json and vcpkg.json differ in $feature" "$work/port" "$work/own"
done
packages_of of_manifest install --x-feature=examples --x-feature=tests > "$work/own"

# Of all parts: those that there must be are asked for.
mkdir "$work/consumer"
cat > "$work/consumer/CMakeLists.txt" << 'END'
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
find_package(sotto 0.1 REQUIRED CONFIG COMPONENTS ${PARTS})
add_executable(consumer "${SOURCE}")
target_link_libraries(consumer PRIVATE sotto::sotto)
set(compiled)
if("compiled" IN_LIST PARTS)
    list(REMOVE_ITEM PARTS compiled)
    set(compiled compiled_)
    target_link_libraries(consumer PRIVATE sotto::compiled)
endif()
foreach(part IN LISTS PARTS)
    target_link_libraries(consumer PRIVATE sotto::${compiled}${part})
    target_compile_definitions(consumer PRIVATE WITH_${part})
endforeach()
enable_testing()
add_test(NAME run COMMAND consumer)
END
source=-DSOURCE=$PWD/test_package/test_package.cpp

for features in "" "launcher models tls" mpi "compiled models tls"; do
    port=sotto${features:+[${features// /,}]}
    parts=${features#launcher }
    echo "== vcpkg install $port"
    if [ -d "$work/installed" ]; then run classic remove sotto; fi
    run classic install "$port" --enforce-port-checks
    if grep -vxFf "$work/log" ports/sotto/usage > "$work/unsaid"; then
        cat "$work/unsaid" >&2
        echo "vcpkg did not say this of ports/sotto/usage" >&2
        exit 1
    fi
    there=$(echo "$work"/installed/*/share/sotto)
    there=${there%/share/sotto}
    found_in "$there" "$work"/buildtrees/sotto/*-rel "$parts" ours
    modules=(sotto)
    for part in compiled models tls mpi; do
        file=$there/share/sotto/sotto-$part-targets.cmake
        case " $parts " in
            *" $part "*) modules+=("sotto-$part") ;;
            *) [ ! -e "$file" ] || { echo "$port has sotto::$part unasked" >&2; exit 1; } ;;
        esac
    done
    run env "PKG_CONFIG_LIBDIR=$there/lib/pkgconfig:$there/share/pkgconfig" \
        pkg-config --print-errors --exists "${modules[@]}"
    options=(-DVCPKG_MANIFEST_MODE=OFF "-DVCPKG_INSTALLED_DIR=$work/installed")
    consume "$work/consumer" "$work/classic_$port" "${options[@]}" "$source" "-DPARTS=${parts// /;}"
    found_in "$there" "$work/classic_$port" "$parts"
    case $features in
        compiled*)
            run env "PKG_CONFIG_LIBDIR=$there/lib/pkgconfig:$there/share/pkgconfig" \
                pkg-config --print-errors --exists sotto-compiled-models sotto-compiled-tls
            consume tests/consumer/find_package "$work/compiled_find_package" "${options[@]}" \
                -DCONSUMER_COMPONENTS=compiled
            ;;
    esac
    if [ "$parts" != "$features" ]; then
        consume tests/consumer/find_package "$work/classic_find_package" "${options[@]}"
        run "$there/tools/sotto/sotto_launch" -n 2 true
        run "$there/tools/sotto/sotto_teachers" --help
    fi
done

# vcpkg is run by its toolchain file.
list() { (IFS=";" && echo "$*"); }
options=("-DVCPKG_INSTALL_OPTIONS=$(list "${folders[@]}" --enforce-port-checks)")

echo "== a consumer's manifest"
cat > "$work/consumer/vcpkg.json" << 'END'
{"dependencies": [{"name": "sotto", "features": ["launcher", "models", "mpi", "tls"]}]}
END
consume "$work/consumer" "$work/by_manifest" "${options[@]}" "$source" "-DPARTS=models;mpi;tls" \
    "-DVCPKG_OVERLAY_PORTS=$(list "${overlays[@]}" "$PWD/ports")"
found_in "$work/by_manifest/vcpkg_installed" "$work/by_manifest" "models mpi tls"

echo "== sotto's own"
consume . "$work/own_manifest" "${options[@]}" "-DVCPKG_MANIFEST_FEATURES=compiled;models;mpi;tls" \
    "-DVCPKG_OVERLAY_PORTS=$(list "${overlays[@]}")" \
    -DSOTTO_BUILD_TESTS=OFF -DSOTTO_BUILD_EXAMPLES=OFF -DSOTTO_BUILD_BENCH=OFF
found_in "$work/own_manifest/vcpkg_installed" "$work/own_manifest" "compiled models mpi tls" ours
