# Finds <cblas.h> and a library with its functions: OpenBLAS where there is one, else any CBLAS.
# Gives CBLAS::CBLAS. Another one is chosen with -DCBLAS_INCLUDE_DIR= and -DCBLAS_LIBRARY=.

if(NOT CBLAS_LIBRARY)
    find_package(OpenBLAS CONFIG QUIET)  # vcpkg, Conan and upstream make a target; Debian does not
endif()

if(TARGET OpenBLAS::OpenBLAS)
    set(CBLAS_LIBRARY OpenBLAS::OpenBLAS)
    set(CBLAS_INCLUDE_DIR "")
    set(cblas_required CBLAS_LIBRARY)
else()
    find_path(CBLAS_INCLUDE_DIR cblas.h PATH_SUFFIXES openblas openblas-pthread)
    # Debian's reference libblas holds the C functions too; elsewhere they are in libcblas.
    find_library(CBLAS_LIBRARY NAMES openblas cblas blas PATH_SUFFIXES openblas-pthread)
    mark_as_advanced(CBLAS_INCLUDE_DIR CBLAS_LIBRARY)
    set(cblas_required CBLAS_LIBRARY CBLAS_INCLUDE_DIR)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CBLAS
    REQUIRED_VARS ${cblas_required}
    REASON_FAILURE_MESSAGE "sotto::models needs a <cblas.h> with its library (Debian: libopenblas-dev)")
unset(cblas_required)

if(CBLAS_FOUND AND CBLAS_LIBRARY MATCHES "/lib(c)?blas\\.")
    message(STATUS "sotto: ${CBLAS_LIBRARY} may be the reference BLAS, many times slower than OpenBLAS")
endif()

if(CBLAS_FOUND AND NOT TARGET CBLAS::CBLAS)
    add_library(CBLAS::CBLAS INTERFACE IMPORTED)
    set_target_properties(CBLAS::CBLAS PROPERTIES
        INTERFACE_LINK_LIBRARIES "${CBLAS_LIBRARY}"
        INTERFACE_INCLUDE_DIRECTORIES "${CBLAS_INCLUDE_DIR}")
endif()
