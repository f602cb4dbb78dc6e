# Configures, builds and runs one consumer. Every consumer has a test named `run`.

file(REMOVE_RECURSE "${binary}")
set(flags "-O0")  # without -g: it is not debugged
set(unity OFF)
if(compiles_sotto)  # in little time
    string(APPEND flags " -DSOTTO_BASELINE_ONLY")
    set(unity ON)
endif()
execute_process(
    COMMAND "${CMAKE_COMMAND}" -S "${source}" -B "${binary}" -G "${generator}"
        "-DCMAKE_BUILD_TYPE=Debug" "-DCMAKE_CXX_COMPILER=${compiler}"
        "-DCMAKE_CXX_FLAGS_DEBUG=${flags}" "-DCMAKE_UNITY_BUILD=${unity}"
        "-DCMAKE_CXX_COMPILER_LAUNCHER=${launcher}" "-DCMAKE_PREFIX_PATH=${prefix}"
        "-DSOTTO_SOURCE_DIR=${sotto}" "-DCONSUMER_COMPONENTS=${components}"
    COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${CMAKE_COMMAND}" --build "${binary}" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${CMAKE_CTEST_COMMAND}" --test-dir "${binary}" --output-on-failure
                --no-tests=error COMMAND_ERROR_IS_FATAL ANY)
