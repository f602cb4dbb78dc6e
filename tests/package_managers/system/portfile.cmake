# What this machine has in place of one of vcpkg's ports, with its names and targets: copies of headers
# and of static libraries. vcpkg.sh --system makes a port of this file for each name.

set(VCPKG_BUILD_TYPE release)
set(VCPKG_POLICY_MISMATCHED_NUMBER_OF_BINARIES enabled)  # debug builds link the same libraries
cmake_host_system_information(RESULT machine QUERY OS_PLATFORM)
string(APPEND machine -linux-gnu)

# headers(<place below include> <file or folder>...): all that match
function(headers place)
    file(GLOB found LIST_DIRECTORIES ON ${ARGN})
    if(NOT found)
        message(FATAL_ERROR "This machine has no ${ARGN}")
    endif()
    file(COPY ${found} DESTINATION "${CURRENT_PACKAGES_DIR}/include/${place}")
endfunction()

# version_of(<macro> <header>): the numbers of <macro>_MAJOR, _MINOR and _PATCH as ${version}
function(version_of macro header)
    file(GLOB found "/usr/include/${header}")
    file(STRINGS "${found}" lines REGEX "define ${macro}_(MAJOR|MINOR|PATCH) +[0-9]")
    string(REGEX REPLACE "[^;]* ([0-9]+);[^;]* ([0-9]+);[^;]* ([0-9]+)" "\\1.\\2.\\3"
           lines "${lines}")
    set(version "${lines}" PARENT_SCOPE)
endfunction()

# config(<package> <target> <place below include> [<link>...]): what find_package finds, of ${version}
function(config package target place)
    string(REGEX REPLACE "^boost-.*" boost folder "${PORT}")
    string(REPLACE nlohmann-json nlohmann_json folder "${folder}")  # as vcpkg's own port
    set(folder "${CURRENT_PACKAGES_DIR}/share/${folder}")
    set(needs)
    if(PORT STREQUAL "xtensor")
        set(needs "include(CMakeFindDependencyMacro)\nfind_dependency(xtl)\n")
    endif()
    file(WRITE "${folder}/${package}Config.cmake"
        "get_filename_component(prefix \"\${CMAKE_CURRENT_LIST_DIR}/../..\" ABSOLUTE)\n"
        "${needs}"
        "if(NOT TARGET ${target})\n"
        "    add_library(${target} INTERFACE IMPORTED)\n"
        "    set_target_properties(${target} PROPERTIES\n"
        "        INTERFACE_INCLUDE_DIRECTORIES \"\${prefix}/include/${place}\"\n"
        "        INTERFACE_LINK_LIBRARIES \"${ARGN}\")\n"
        "endif()\n")
    file(WRITE "${folder}/${package}ConfigVersion.cmake"
        "set(PACKAGE_VERSION ${version})\n"
        "if(NOT PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)\n"
        "    set(PACKAGE_VERSION_COMPATIBLE TRUE)\n"
        "endif()\n")
endfunction()

# module(<name> [<library>]): what pkg-config finds; the library is copied
function(module name)
    set(place share)
    set(libs)
    if(ARGN)
        set(place lib)
        set(libs "Libs: -L\${prefix}/lib -l${ARGN}\n")
        file(REAL_PATH "/usr/lib/${machine}/lib${ARGN}.a" library)
        file(MAKE_DIRECTORY "${CURRENT_PACKAGES_DIR}/lib")
        file(COPY_FILE "${library}" "${CURRENT_PACKAGES_DIR}/lib/lib${ARGN}.a")
    endif()
    file(WRITE "${CURRENT_PACKAGES_DIR}/${place}/pkgconfig/${name}.pc"
        "prefix=\${pcfiledir}/../..\n\n"
        "Name: ${name}\nDescription: ${name} of this machine\nVersion: 1\n"
        "${libs}Cflags: -I\${prefix}/include\n")
endfunction()

if(PORT STREQUAL "xtl")
    headers("" /usr/include/xtl)
    version_of(XTL_VERSION xtl/xtl_config.hpp)
    config(xtl xtl "")
    module(xtl)
elseif(PORT STREQUAL "xsimd")
    headers("" /usr/include/xsimd)
    version_of(XSIMD_VERSION xsimd/config/xsimd_config.hpp)
    config(xsimd xsimd "")
    module(xsimd)
elseif(PORT STREQUAL "xtensor")
    headers("" /usr/include/xtensor)
    version_of(XTENSOR_VERSION "xtensor/*xtensor_config.hpp")
    config(xtensor xtensor "" xtl)  # and no .pc file
elseif(PORT STREQUAL "boost-asio")
    headers("" /usr/include/boost)
    file(STRINGS /usr/include/boost/version.hpp version REGEX "define BOOST_LIB_VERSION")
    string(REGEX REPLACE ".*\"([0-9]+)_([0-9]+).*" "\\1.\\2" version "${version}")
    config(Boost Boost::headers "")
elseif(PORT STREQUAL "xxhash")
    headers("" /usr/include/xxh*.h)
    module(libxxhash xxhash)
elseif(PORT STREQUAL "nlohmann-json")
    headers("" /usr/include/nlohmann)
    set(version 3)
    config(nlohmann_json nlohmann_json::nlohmann_json "")
elseif(PORT STREQUAL "openblas")
    headers(openblas "/usr/include/${machine}/openblas-*/*.h")
    set(version 0)
    config(OpenBLAS OpenBLAS::OpenBLAS openblas "\${prefix}/lib/libopenblas.a;m;pthread")
    module(openblas openblas)
elseif(PORT STREQUAL "zlib")
    headers("" /usr/include/zlib.h /usr/include/zconf.h)
    module(zlib z)
elseif(PORT STREQUAL "openssl")
    headers("" /usr/include/openssl "/usr/include/${machine}/openssl")
    module(libcrypto crypto)
    module(libssl ssl)
else()
    set(VCPKG_POLICY_EMPTY_PACKAGE enabled)  # of mpi CMake asks the compiler that is in PATH
endif()

file(WRITE "${CURRENT_PACKAGES_DIR}/share/${PORT}/copyright" "Debian's ${PORT} has its own.\n")
