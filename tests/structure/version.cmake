# The version is written in version.hpp; the manifests that cannot read it must say the same.
#   cmake -D root=... -D version=... -P version.cmake

foreach(manifest IN ITEMS vcpkg.json ports/sotto/vcpkg.json)
    file(READ "${root}/${manifest}" text)
    string(JSON found GET "${text}" version)
    if(NOT found STREQUAL version)
        message(FATAL_ERROR "${manifest} says version ${found}, version.hpp says ${version}")
    endif()
endforeach()

file(STRINGS "${root}/CHANGELOG.md" entry REGEX "^## .*${version}")
if(NOT entry)
    message(FATAL_ERROR "CHANGELOG.md has no section for version ${version}")
endif()
