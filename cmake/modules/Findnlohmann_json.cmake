# Finds nlohmann-json, which is headers alone: gives nlohmann_json::nlohmann_json, by its own CMake package where there is one.

if(NOT TARGET nlohmann_json::nlohmann_json)
    find_package(nlohmann_json CONFIG QUIET)
endif()
if(NOT TARGET nlohmann_json::nlohmann_json)
    find_path(nlohmann_json_INCLUDE_DIR nlohmann/json_fwd.hpp)
    mark_as_advanced(nlohmann_json_INCLUDE_DIR)
    if(nlohmann_json_INCLUDE_DIR)
        add_library(nlohmann_json::nlohmann_json INTERFACE IMPORTED)
        set_target_properties(nlohmann_json::nlohmann_json PROPERTIES
            INTERFACE_INCLUDE_DIRECTORIES "${nlohmann_json_INCLUDE_DIR}")
    endif()
endif()

set(nlohmann_json_FOUND FALSE)
if(TARGET nlohmann_json::nlohmann_json)
    set(nlohmann_json_FOUND TRUE)
endif()
