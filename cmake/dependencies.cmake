# What sotto is built on. sotto-config.cmake.in names the same packages for consumers.
# The spellings are the same in Debian, upstream, vcpkg and Conan Center: plain `xtensor`, `xsimd`.

# In front: package managers put find modules of the same names there, with other targets.
list(PREPEND CMAKE_MODULE_PATH "${PROJECT_SOURCE_DIR}/cmake/modules")

# xtensor first: it finds xtl, which Debian's xsimd target links without looking for it.
find_package(xtensor 0.24.3 REQUIRED)

# No version here: xsimd's version file accepts equal majors only, and 8.1 to 14 all work.
find_package(xsimd REQUIRED)
if(xsimd_VERSION AND xsimd_VERSION VERSION_LESS 8.1)
    message(FATAL_ERROR "sotto needs xsimd 8.1 or newer, found ${xsimd_VERSION} in ${xsimd_DIR}")
endif()

find_package(Boost 1.74 REQUIRED)
find_package(xxHash MODULE REQUIRED)
find_package(Threads REQUIRED)

find_package(CBLAS MODULE QUIET)
find_package(ZLIB QUIET)
find_package(OpenSSL 3.0 QUIET)
find_package(nlohmann_json MODULE QUIET)

# Its C interface, which both of its languages have: the bindings for C++ were given up.
set(MPI_CXX_SKIP_MPICXX ON)
find_package(MPI 3.0 QUIET COMPONENTS CXX)

option(SOTTO_TORCH "Build what needs LibTorch, where it is there" ON)
set(LibTorch_FOUND FALSE)
if(SOTTO_TORCH)
    find_package(LibTorch 1.13 MODULE QUIET)
endif()
set(torch_needs "LibTorch 1.13 (Debian: libtorch-dev)")
if(NOT SOTTO_TORCH)
    set(torch_needs "SOTTO_TORCH, which is OFF")
elseif(LibTorch_FOUND AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # As C++20 clang refuses headers of LibTorch 1.13: a vector of a type that is not complete yet.
    include(CheckCXXSourceCompiles)
    set(CMAKE_REQUIRED_FLAGS -std=c++20)
    set(CMAKE_REQUIRED_LIBRARIES LibTorch::LibTorch)
    check_cxx_source_compiles("#include <ATen/core/List.h>\nint main() {}" SOTTO_COMPILES_LIBTORCH)
    unset(CMAKE_REQUIRED_FLAGS)
    unset(CMAKE_REQUIRED_LIBRARIES)
    if(NOT SOTTO_COMPILES_LIBTORCH)
        set(LibTorch_FOUND FALSE)
        set(torch_needs "a LibTorch whose headers ${CMAKE_CXX_COMPILER_ID} compiles as C++20; g++ compiles those of ${LibTorch_VERSION}")
    endif()
endif()
