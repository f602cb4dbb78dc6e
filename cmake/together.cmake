# Sources of one folder include and instantiate much of the same: compiled as few large units they take
# a third of the time. Whoever changes one compiles its unit again, which is why this is an option.
option(SOTTO_TOGETHER "Compile tests, and benchmarks that nobody runs, in few large units" OFF)
set(sotto_unit_size 130000)  # bytes of the sources' own text

# sotto_write_unit(<file> <sources>...): a source that includes all of them, each in a namespace of its own.
# What they include is included before, outside of these, and guards keep it from coming twice.
function(sotto_write_unit file)
    set(includes)
    set(parts)
    foreach(source IN LISTS ARGN)
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
        file(STRINGS "${source}" lines REGEX "^#include")
        list(APPEND includes ${lines})
        file(RELATIVE_PATH stem "${PROJECT_SOURCE_DIR}" "${source}")
        string(MAKE_C_IDENTIFIER "${stem}" stem)
        string(APPEND parts "namespace part_${stem} {\n#include \"${source}\"\n}\n")
    endforeach()
    list(REMOVE_DUPLICATES includes)
    # Tests include some only where there is such a header.
    list(TRANSFORM includes REPLACE "^#include (.*)$" "#if __has_include(\\1)\n#include \\1\n#endif\n")
    string(JOIN "" text ${includes} "${parts}")
    file(CONFIGURE OUTPUT "${file}" CONTENT "@text@" @ONLY)
endfunction()

# sotto_together(<name> <list variable>): takes units in place of the sources. Sources that have options of their
# own are left alone.
function(sotto_together name list)
    set(kept)
    set(unit)
    set(size 0)
    set(count 0)
    foreach(source IN LISTS ${list} ITEMS "")
        if(source)
            get_source_file_property(options "${source}" COMPILE_OPTIONS)
            if(options)
                list(APPEND kept "${source}")
                continue()
            endif()
            file(SIZE "${source}" more)
            math(EXPR size "${size} + ${more}")
            list(APPEND unit "${source}")
        endif()
        if(unit AND (size GREATER sotto_unit_size OR NOT source))
            set(file "${CMAKE_CURRENT_BINARY_DIR}/together/${name}_${count}.cpp")
            sotto_write_unit("${file}" ${unit})
            # What is called once is inlined, after which GCC 12 warns of bounds that are kept.
            set_source_files_properties("${file}" PROPERTIES
                COMPILE_OPTIONS "$<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-stringop-overflow>")
            list(APPEND kept "${file}")
            math(EXPR count "${count} + 1")
            set(unit)
            set(size 0)
        endif()
    endforeach()
    set(${list} ${kept} PARENT_SCOPE)
endfunction()
