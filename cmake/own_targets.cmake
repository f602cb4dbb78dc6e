# For our own tests, examples and benchmarks only: nothing here reaches a consumer.

option(SOTTO_WERROR "Warnings in our tests and examples are errors" OFF)
set(SOTTO_SANITIZE "" CACHE STRING "Sanitizers of our tests: address,undefined or thread")

if(PROJECT_IS_TOP_LEVEL AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
    find_program(CCACHE ccache)
    mark_as_advanced(CCACHE)
    if(CCACHE)
        set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE}")
    endif()
endif()

add_library(sotto_own_options INTERFACE)
target_compile_options(sotto_own_options INTERFACE
    -Wall -Wextra -Wpedantic -Wconversion -Wshadow $<$<BOOL:${SOTTO_WERROR}>:-Werror>)
if(SOTTO_SANITIZE)
    # Clang 14's function check rejects calls through C function types that are well-formed in C++20.
    set(sanitize -fsanitize=${SOTTO_SANITIZE} -fno-sanitize-recover=all
        $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
    target_compile_options(sotto_own_options INTERFACE ${sanitize} -fno-omit-frame-pointer -g1)
    target_link_options(sotto_own_options INTERFACE ${sanitize})
endif()

# sotto_add_own_executable(<name> <sources>...): linked to all of sotto that there is.
function(sotto_add_own_executable name)
    add_executable(${name} ${ARGN})
    set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF)
    target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
    target_link_libraries(${name} PRIVATE sotto_own_options sotto::sotto)
    if(TARGET sotto::models)
        target_link_libraries(${name} PRIVATE sotto::models)
    endif()
endfunction()

# sotto_buildable(<list variable>): takes out the sources that need sotto::models where it is missing.
function(sotto_buildable list)
    if(TARGET sotto::models)
        return()
    endif()
    set(kept)
    foreach(source IN LISTS ${list})
        file(STRINGS "${source}" needs LIMIT_COUNT 1
             REGEX "include [<\"](sotto/(nn|models|data)/|sotto/sotto\\.hpp|cblas\\.h)")
        if(needs)
            cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${PROJECT_SOURCE_DIR}")
            message(STATUS "${source} is left out: it needs sotto::models")
        else()
            list(APPEND kept "${source}")
        endif()
    endforeach()
    set(${list} "${kept}" PARENT_SCOPE)
endfunction()

# sotto_limit_test(<test> <seconds> <label>): every test ends, and workers share the processors by
# threads of their own, so that BLAS must not add more.
function(sotto_limit_test test seconds label)
    set_tests_properties(${test} PROPERTIES TIMEOUT ${seconds} LABELS ${label}
        ENVIRONMENT "OPENBLAS_NUM_THREADS=1;UBSAN_OPTIONS=print_stacktrace=1")
endfunction()
