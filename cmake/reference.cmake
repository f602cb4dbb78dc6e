# The reference of every public entity, which Doxygen makes of the headers' comments: the target
# `reference` writes it to <build>/reference/index.html.

find_program(SOTTO_DOXYGEN doxygen)
find_program(SOTTO_AWK NAMES mawk gawk awk)
mark_as_advanced(SOTTO_DOXYGEN SOTTO_AWK)

# sotto_configure_reference(<Doxyfile> <folder to write to> HTML|XML): XML is for tests, to which each warning is an error.
function(sotto_configure_reference file folder kind)
    set(SOTTO_REFERENCE_DIR "${folder}")
    set(SOTTO_REFERENCE_HTML NO)
    set(SOTTO_REFERENCE_XML NO)
    set(SOTTO_REFERENCE_${kind} YES)
    set(SOTTO_REFERENCE_WARNINGS_ARE_ERRORS NO)
    if(kind STREQUAL XML)
        set(SOTTO_REFERENCE_WARNINGS_ARE_ERRORS FAIL_ON_WARNINGS)
    endif()
    configure_file("${PROJECT_SOURCE_DIR}/cmake/Doxyfile.in" "${file}" @ONLY)
endfunction()

if(SOTTO_DOXYGEN AND SOTTO_AWK)
    sotto_configure_reference("${PROJECT_BINARY_DIR}/reference.doxyfile" "${PROJECT_BINARY_DIR}/reference" HTML)
    add_custom_target(reference
        COMMAND "${CMAKE_COMMAND}" -E rm -rf "${PROJECT_BINARY_DIR}/reference"
        COMMAND "${SOTTO_DOXYGEN}" "${PROJECT_BINARY_DIR}/reference.doxyfile"
        COMMENT "Writing reference/index.html" VERBATIM)
else()
    add_custom_target(reference
        COMMAND "${CMAKE_COMMAND}" -E echo "The reference needs doxygen and an awk (Debian: doxygen, mawk); configure again once they are there."
        COMMAND "${CMAKE_COMMAND}" -E false VERBATIM)
endif()
