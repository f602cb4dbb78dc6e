# For our own programs, tests, examples and benchmarks only: nothing here reaches a consumer.

option(SOTTO_WERROR "Warnings in our tests and examples are errors" OFF)
option(SOTTO_OWN_COMPILED "Link our tests, examples and benchmarks to sotto::compiled; OFF: to headers alone" ON)
option(SOTTO_QUICK "Build fewer variants of kernels into our tests, examples and benchmarks, and optimise them less" OFF)
# What tests kernels needs all of their variants, as fast as they are; in a quick build only what is nearest to them.
if(SOTTO_QUICK)
    set(sotto_needs_kernels "^(unit_(kernels|nn)|golden|system_selection_beyond_32_bits)$")
else()
    set(sotto_needs_kernels
        "^(unit_(kernels|wire|compressors|nn|models|threads)|golden|system_selection_beyond_32_bits|example_quickstart)$")
endif()
# What would take longer to run, unoptimised, than a quick build then takes less to compile.
set(sotto_needs_speed "^(system_.*|mpi_.*|example_(character_language_model|quickstart|residual_network))$")
set(SOTTO_LIBRARY_OPTIONS "" CACHE STRING "More compile options of sotto::compiled and its parts")
set(SOTTO_LOOP_OPTIONS "" CACHE STRING "More compile options of their sources that have loops over weights, after all others")
include("${CMAKE_CURRENT_LIST_DIR}/together.cmake")
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
if(TARGET nlohmann_json::nlohmann_json)  # tests read logs
    target_link_libraries(sotto_own_options INTERFACE nlohmann_json::nlohmann_json)
endif()
if(SOTTO_SANITIZE)
    # Clang 14's function check rejects calls through C function types that are well-formed in C++20.
    set(sanitize -fsanitize=${SOTTO_SANITIZE} -fno-sanitize-recover=all
        $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
    target_compile_options(sotto_own_options INTERFACE ${sanitize} -fno-omit-frame-pointer -g1)
    target_link_options(sotto_own_options INTERFACE ${sanitize})
endif()

# What a source includes that needs a part of sotto.
set(sotto_needing_models "sotto/(nn|models|data)/|sotto/models\\.hpp|cblas\\.h")
set(sotto_needing_tls "sotto/transports/tcp_tls\\.hpp")
set(sotto_needing_torch "sotto/adapters/torch|support/with_torch\\.hpp")

# sotto_needs(<variable> <source> <part>): whether it includes what needs the part.
function(sotto_needs variable source part)
    file(STRINGS "${source}" needs LIMIT_COUNT 1 REGEX "include [<\"](${sotto_needing_${part}})")
    set(${variable} "${needs}" PARENT_SCOPE)
endfunction()

# Flags of their own say what becomes of all that these are made of, or they look into kernels: their units compile it themselves.
set(sotto_header_only "^(fast_math_.*|fuzz_.*|unit_kernels(_.*)?|bench_kernels)$")
# What stands before the names of the parts that our other targets link.
set(sotto_own_prefix "")
set(sotto_own_base sotto::sotto)
if(SOTTO_OWN_COMPILED AND TARGET sotto_compiled)
    set(sotto_own_prefix compiled_)
    set(sotto_own_base sotto::compiled)
    foreach(target IN ITEMS compiled compiled_models compiled_tls compiled_mpi)
        if(TARGET sotto_${target})
            target_link_libraries(sotto_${target} PRIVATE $<BUILD_INTERFACE:sotto_own_options>)
            target_compile_options(sotto_${target} PRIVATE ${SOTTO_LIBRARY_OPTIONS})
        endif()
    endforeach()
endif()

# sotto_link_parts(<target>): to all of sotto's parts that there are but sotto::mpi and sotto::torch.
function(sotto_link_parts target)
    set(prefix "${sotto_own_prefix}")
    if(target MATCHES "${sotto_header_only}")
        set(prefix "")
    endif()
    if(prefix)
        target_link_libraries(${target} PRIVATE sotto::compiled)
    endif()
    set(parts ${sotto_parts})
    # What MPI is linked to works only with its launcher at hand; LibTorch takes a second to load.
    list(REMOVE_ITEM parts mpi torch)
    foreach(part IN LISTS parts)
        target_link_libraries(${target} PRIVATE sotto::${prefix}${part})
    endforeach()
endfunction()

# sotto_own_target(<name>): linked to all of sotto that there is but sotto::mpi; to sotto::torch if a source needs it.
function(sotto_own_target name)
    set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF)
    target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
    target_link_libraries(${name} PRIVATE sotto_own_options sotto::sotto)
    sotto_link_parts(${name})
    get_target_property(sources ${name} SOURCES)
    foreach(source IN LISTS sources)
        cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
        if(TARGET sotto::torch AND EXISTS "${source}")
            sotto_needs(needs "${source}" torch)
            if(needs)
                target_link_libraries(${name} PRIVATE sotto::${sotto_own_prefix}torch)
                break()
            endif()
        endif()
    endforeach()
endfunction()

# sotto_add_own_executable(<name> <sources>...)
function(sotto_add_own_executable name)
    add_executable(${name} ${ARGN})
    sotto_own_target(${name})
    if(SOTTO_QUICK AND NOT name MATCHES "${sotto_needs_kernels}")
        target_compile_definitions(${name} PRIVATE SOTTO_BASELINE_ONLY)
        if(SOTTO_SANITIZE OR SOTTO_PRECOMPILE)
            # Their presets say how much is optimised, and precompile headers for that.
        elseif(name MATCHES "${sotto_needs_speed}")
            target_compile_options(${name} PRIVATE -Og)
        else()
            target_compile_options(${name} PRIVATE -O0)
        endif()
    endif()
endfunction()

# sotto_check_own_sources(<name> <sources>...): that they compile; nothing is made of them.
function(sotto_check_own_sources name)
    add_library(${name} OBJECT ${ARGN})
    sotto_own_target(${name})
    target_compile_definitions(${name} PRIVATE SOTTO_BASELINE_ONLY)
    target_compile_options(${name} PRIVATE -O0 -fsyntax-only)
endfunction()

# sotto_buildable(<list variable>): takes out the sources that need a part that is missing.
function(sotto_buildable list)
    set(kept)
    foreach(source IN LISTS ${list})
        set(lacks)
        foreach(part IN ITEMS models tls torch)
            sotto_needs(needs "${source}" ${part})
            if(needs AND NOT TARGET sotto::${part})
                set(lacks sotto::${part})
            endif()
        endforeach()
        if(lacks)
            cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${PROJECT_SOURCE_DIR}")
            message(STATUS "${source} is left out: it needs ${lacks}")
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
