# Installs into one folder and moves it to another: a package that remembers where it was made fails.

file(REMOVE_RECURSE "${scratch}")
execute_process(COMMAND "${CMAKE_COMMAND}" --install "${build}" --prefix "${scratch}/first"
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(RENAME "${scratch}/first" "${prefix}")

file(GLOB_RECURSE written "${prefix}/*.cmake" "${prefix}/*.pc")
foreach(file IN LISTS written)
    file(READ "${file}" text)
    string(FIND "${text}" "${scratch}" place)
    if(NOT place EQUAL -1)
        message(FATAL_ERROR "${file} names the folder it was installed into: ${scratch}")
    endif()
endforeach()

# Where they were built they are there, and work.
if(programs)
    execute_process(COMMAND "${prefix}/${programs}/sotto_launch" -n 2 "${CMAKE_COMMAND}" -E true
                    COMMAND_ERROR_IS_FATAL ANY)
    execute_process(COMMAND "${prefix}/${programs}/sotto_teachers" --help OUTPUT_QUIET
                    COMMAND_ERROR_IS_FATAL ANY)
endif()
