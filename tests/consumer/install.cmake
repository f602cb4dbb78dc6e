# Installs into one folder and moves it to another: a package that remembers where it was made fails.
# With `source` it first makes a build without sotto::compiled, of which nothing needs to be built.

cmake_minimum_required(VERSION 3.25)

file(REMOVE_RECURSE "${scratch}")
if(source)
    set(build "${scratch}/build")
    set(off -D SOTTO_BUILD_LAUNCHER=OFF -D SOTTO_BUILD_TESTS=OFF -D SOTTO_BUILD_EXAMPLES=OFF -D SOTTO_BUILD_BENCH=OFF)
    execute_process(COMMAND "${CMAKE_COMMAND}" -S "${source}" -B "${build}" -G "${generator}"
        -D "CMAKE_CXX_COMPILER=${compiler}" -D SOTTO_COMPILED=OFF ${off}
        OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endif()
execute_process(COMMAND "${CMAKE_COMMAND}" --install "${build}" --prefix "${scratch}/first"
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(RENAME "${scratch}/first" "${prefix}")

file(GLOB_RECURSE written "${prefix}/*.cmake" "${prefix}/*.pc")
foreach(file IN LISTS written)
    file(READ "${file}" text)
    foreach(folder IN ITEMS "${scratch}" "${build}")
        string(FIND "${text}" "${folder}" place)
        if(NOT place EQUAL -1)
            message(FATAL_ERROR "${file} names a folder of the machine it was made on: ${folder}")
        endif()
    endforeach()
endforeach()

# A library is of one architecture, and headers alone are of all.
file(GLOB_RECURSE libraries "${prefix}/*.a")
set(has_library FALSE)
if(libraries)
    set(has_library TRUE)
endif()
if(NOT has_library STREQUAL compiled)
    message(FATAL_ERROR "Asked for libraries: '${compiled}'; installed were: '${libraries}'")
endif()
file(GLOB_RECURSE version_file "${prefix}/*/sotto-config-version.cmake")
set(CMAKE_SIZEOF_VOID_P 1)  # of the project that looks for it: no machine is like that
set(PACKAGE_FIND_VERSION 0.1)
include("${version_file}")
if((compiled AND NOT PACKAGE_VERSION_UNSUITABLE) OR (NOT compiled AND PACKAGE_VERSION_UNSUITABLE))
    message(FATAL_ERROR "${version_file} suits every architecture, although there are libraries, or does not without")
endif()

# Where they were built they are there, and work.
if(programs)
    execute_process(COMMAND "${prefix}/${programs}/sotto_launch" -n 2 "${CMAKE_COMMAND}" -E true
                    COMMAND_ERROR_IS_FATAL ANY)
    execute_process(COMMAND "${prefix}/${programs}/sotto_teachers" --help OUTPUT_QUIET
                    COMMAND_ERROR_IS_FATAL ANY)
endif()
