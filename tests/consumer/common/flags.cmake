# Flags as consumers have them, per file: our headers are met with every warning, and for two
# processors at once. Nothing that sotto brings may have changed the project around it.

set(common "${CMAKE_CURRENT_LIST_DIR}")
if(NOT consumer_of_all)
    add_compile_definitions(CONSUMER_OF_CORE)
endif()
set(consumer_sources "${common}/main.cpp" "${common}/strict.cpp" "${common}/wide.cpp")

# One consumer is optimised: some warnings are those of an optimiser, which also takes the other processor's instructions.
set(optimised "")
if(consumer_of_all)
    set(optimised "-O2;-DNDEBUG;")
endif()
set_source_files_properties("${common}/strict.cpp" PROPERTIES
    COMPILE_OPTIONS "${optimised}-Wall;-Wextra;-Wpedantic;-Wconversion;-Wshadow;-Werror")

include(CheckCXXCompilerFlag)
check_cxx_compiler_flag(-march=x86-64-v3 HAS_X86_64_V3)
if(HAS_X86_64_V3)
    set_source_files_properties("${common}/wide.cpp" PROPERTIES COMPILE_OPTIONS "${optimised}-march=x86-64-v3")
endif()

foreach(variable IN ITEMS CMAKE_CXX_STANDARD CMAKE_CXX_FLAGS BUILD_TESTING CMAKE_MODULE_PATH)
    if(NOT "${${variable}}" STREQUAL "")
        message(FATAL_ERROR "sotto set ${variable} to '${${variable}}' in its consumer")
    endif()
endforeach()
foreach(target IN ITEMS sotto_test_main sotto_own_options)
    if(TARGET ${target})
        message(FATAL_ERROR "sotto's own ${target} reached its consumer")
    endif()
endforeach()

enable_testing()
