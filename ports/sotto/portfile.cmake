# An overlay port of the tree it lies in:  vcpkg install sotto --overlay-ports=<this tree>/ports
# In a registry, vcpkg_from_github(OUT_SOURCE_PATH SOURCE_PATH REPO ... REF "v${VERSION}" SHA512 ...
# HEAD_REF main) takes the place of the next line; nothing else changes.
# Of what changes in the tree vcpkg sees only this folder: then  VCPKG_BINARY_SOURCES=clear  makes it anew.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)

if("compiled" IN_LIST FEATURES)
    vcpkg_check_linkage(ONLY_STATIC_LIBRARY)
else()
    set(VCPKG_BUILD_TYPE release) # header-only
endif()

# What happens to be installed must not add to the package: a BLAS no sotto::models without the feature.
vcpkg_check_features(OUT_FEATURE_OPTIONS feature_options
    FEATURES
        compiled SOTTO_COMPILED
        compiled SOTTO_OWN_COMPILED
        launcher SOTTO_BUILD_LAUNCHER
    INVERTED_FEATURES
        models CMAKE_DISABLE_FIND_PACKAGE_CBLAS
        mpi CMAKE_DISABLE_FIND_PACKAGE_MPI
        tls CMAKE_DISABLE_FIND_PACKAGE_OpenSSL
)

vcpkg_cmake_configure(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        -DSOTTO_INSTALL=ON
        -DSOTTO_BUILD_TESTS=OFF
        -DSOTTO_BUILD_EXAMPLES=OFF
        -DSOTTO_BUILD_BENCH=OFF
        -DSOTTO_TORCH=OFF
        ${feature_options}
    OPTIONS_DEBUG
        -DSOTTO_BUILD_LAUNCHER=OFF
    MAYBE_UNUSED_VARIABLES
        CMAKE_DISABLE_FIND_PACKAGE_CBLAS
        CMAKE_DISABLE_FIND_PACKAGE_MPI
        CMAKE_DISABLE_FIND_PACKAGE_OpenSSL
        SOTTO_OWN_COMPILED
)
vcpkg_cmake_install()
if("launcher" IN_LIST FEATURES)
    vcpkg_copy_tools(TOOL_NAMES sotto_launch sotto_teachers AUTO_CLEAN)
endif()
vcpkg_cmake_config_fixup(CONFIG_PATH share/cmake/sotto)
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
# vcpkg's xtensor has no .pc file, and lies where our headers do.
vcpkg_replace_string("${CURRENT_PACKAGES_DIR}/share/pkgconfig/sotto.pc"
    "Requires: xtensor xsimd" "Requires: xsimd")
# Our .pc files of headers lie in share/pkgconfig, which vcpkg allows only to files without a Libs line.
vcpkg_fixup_pkgconfig()

# vcpkg keeps licences at share/<port>/copyright.
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/share/licenses")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
