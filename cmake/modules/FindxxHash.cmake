# Finds <xxhash.h>, used header-only (XXH_INLINE_ALL): gives xxHash::headers and links no library.

find_path(xxHash_INCLUDE_DIR xxhash.h)
mark_as_advanced(xxHash_INCLUDE_DIR)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(xxHash
    REQUIRED_VARS xxHash_INCLUDE_DIR
    REASON_FAILURE_MESSAGE "sotto needs <xxhash.h> (Debian: libxxhash-dev)")

if(xxHash_FOUND AND NOT TARGET xxHash::headers)
    add_library(xxHash::headers INTERFACE IMPORTED)
    set_target_properties(xxHash::headers PROPERTIES
        INTERFACE_INCLUDE_DIRECTORIES "${xxHash_INCLUDE_DIR}")
endif()
