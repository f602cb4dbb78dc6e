# What `cmake --install` writes: the headers, a CMake package with the components that could be
# built, and a pkg-config file for each. Only what is compiled depends on the architecture.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_DATADIR}/cmake/sotto")
# A .pc file with a library lies beside it: what is in share/ is for every architecture.
set(pkgconfig_dir "${CMAKE_INSTALL_DATADIR}/pkgconfig")
set(compiled_pkgconfig_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
# The .pc files find their prefix from where they lie, so that an installed tree can be moved.
file(RELATIVE_PATH pc_to_prefix "/prefix/${pkgconfig_dir}" "/prefix")
file(RELATIVE_PATH compiled_pc_to_prefix "/prefix/${compiled_pkgconfig_dir}" "/prefix")
if(IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
    set(pc_includedir "${CMAKE_INSTALL_INCLUDEDIR}")
else()
    set(pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()

# CMake before 3.23 ignores exported file sets: its users get their include path from INCLUDES.
set(header_sets FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
                FILE_SET bodies DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
foreach(part IN ITEMS models tls mpi torch)
    if(NOT TARGET sotto_${part})
        list(APPEND header_sets FILE_SET ${part}_headers DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
    endif()
endforeach()
install(TARGETS sotto EXPORT sotto-targets ${header_sets}
        INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT sotto-targets NAMESPACE sotto:: DESTINATION "${package_dir}")

configure_file("${PROJECT_SOURCE_DIR}/cmake/sotto.pc.in" sotto.pc @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/sotto.pc" DESTINATION "${pkgconfig_dir}")

# The module of the BLAS that was found: its own .pc file knows the link line.
string(REGEX MATCH "openblas|cblas|blas" pc_cblas "${CBLAS_LIBRARY}")
if(TARGET OpenBLAS::OpenBLAS)
    set(pc_cblas openblas)
endif()
# LibTorch has none.
set(pc_torch_cflags)
set(pc_torch_libs)
if(TARGET sotto_torch)
    cmake_path(GET LibTorch_torch_LIBRARY PARENT_PATH torch_folder)
    if(NOT torch_folder IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
        set(pc_torch_libs "-L${torch_folder} -Wl,-rpath,${torch_folder} ")
    endif()
    string(APPEND pc_torch_libs "-ltorch -ltorch_cpu -lc10")
    get_target_property(torch_abi LibTorch::LibTorch INTERFACE_COMPILE_DEFINITIONS)
    if(torch_abi)
        set(pc_torch_cflags "-D${torch_abi} ")
    endif()
    string(APPEND pc_torch_cflags "-isystem ${LibTorch_API_INCLUDE_DIR}")
    if(NOT LibTorch_INCLUDE_DIR IN_LIST CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)
        string(APPEND pc_torch_cflags " -isystem ${LibTorch_INCLUDE_DIR}")
    endif()
endif()
foreach(part IN LISTS sotto_parts)
    install(TARGETS sotto_${part} EXPORT sotto-${part}-targets
            FILE_SET ${part}_headers DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
            INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
    install(EXPORT sotto-${part}-targets NAMESPACE sotto:: DESTINATION "${package_dir}")
    configure_file("${PROJECT_SOURCE_DIR}/cmake/sotto-${part}.pc.in" sotto-${part}.pc @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/sotto-${part}.pc" DESTINATION "${pkgconfig_dir}")
endforeach()

# sotto_install_compiled(<part or nothing> <modules required> <words>)
function(sotto_install_compiled part pc_requires pc_words)
    set(name compiled)
    set(pc_name sotto-compiled)
    set(pc_library sotto)
    if(part)
        string(APPEND name "_${part}")
        string(APPEND pc_name "-${part}")
        string(APPEND pc_library "_${part}")
    endif()
    install(TARGETS sotto_${name} EXPORT sotto-${name}-targets
            ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
    install(EXPORT sotto-${name}-targets NAMESPACE sotto:: DESTINATION "${package_dir}")
    if(NOT part STREQUAL "torch")
        configure_file("${PROJECT_SOURCE_DIR}/cmake/sotto-compiled.pc.in" ${pc_name}.pc @ONLY)
        install(FILES "${PROJECT_BINARY_DIR}/${pc_name}.pc" DESTINATION "${compiled_pkgconfig_dir}")
    endif()
endfunction()

set(pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    set(pc_libdir "${CMAKE_INSTALL_LIBDIR}")
endif()
set(arch_independent ARCH_INDEPENDENT)
if(SOTTO_COMPILED)
    set(arch_independent)
    sotto_install_compiled("" "sotto = ${PROJECT_VERSION}" "sotto, compiled once")
    foreach(part IN LISTS sotto_parts)
        sotto_install_compiled(${part} "sotto-compiled = ${PROJECT_VERSION}, sotto-${part} = ${PROJECT_VERSION}"
                               "sotto::${part}, compiled once")
    endforeach()
endif()

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/sotto-config.cmake.in" sotto-config.cmake
                              INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file(sotto-config-version.cmake
                                 COMPATIBILITY SameMinorVersion ${arch_independent})
install(FILES "${PROJECT_BINARY_DIR}/sotto-config.cmake"
              "${PROJECT_BINARY_DIR}/sotto-config-version.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/modules/FindxxHash.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/modules/FindCBLAS.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/modules/FindLibTorch.cmake"
        DESTINATION "${package_dir}")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DATADIR}/licenses/sotto")
