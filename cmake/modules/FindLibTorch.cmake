# Finds LibTorch by its files and gives LibTorch::LibTorch. Its own TorchConfig.cmake ends the configuration where
# something is missing that it was built with, asks for other languages, and changes the project's flags.
# A copy that is not found by itself is chosen by CMAKE_PREFIX_PATH, Torch_DIR or Torch_ROOT.

set(libtorch_hints ${TORCH_INSTALL_PREFIX} $ENV{TORCH_INSTALL_PREFIX} ${Torch_ROOT} $ENV{Torch_ROOT})
if(Torch_DIR)
    list(APPEND libtorch_hints "${Torch_DIR}/../../..")
endif()
find_path(LibTorch_INCLUDE_DIR torch/csrc/autograd/function_hook.h
          HINTS ${libtorch_hints} PATH_SUFFIXES include)
find_path(LibTorch_API_INCLUDE_DIR torch/torch.h HINTS "${LibTorch_INCLUDE_DIR}" ${libtorch_hints}
          PATH_SUFFIXES torch/csrc/api/include include/torch/csrc/api/include)
foreach(library IN ITEMS torch torch_cpu c10)
    find_library(LibTorch_${library}_LIBRARY ${library} HINTS ${libtorch_hints} PATH_SUFFIXES lib)
    mark_as_advanced(LibTorch_${library}_LIBRARY)
endforeach()
mark_as_advanced(LibTorch_INCLUDE_DIR LibTorch_API_INCLUDE_DIR)
unset(libtorch_hints)

set(LibTorch_VERSION)
if(EXISTS "${LibTorch_API_INCLUDE_DIR}/torch/version.h")
    file(STRINGS "${LibTorch_API_INCLUDE_DIR}/torch/version.h" LibTorch_VERSION
         REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) [0-9]")
    string(REGEX REPLACE "[^;]* ([0-9]+);[^;]* ([0-9]+);[^;]* ([0-9]+)" "\\1.\\2.\\3"
           LibTorch_VERSION "${LibTorch_VERSION}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch
    REQUIRED_VARS LibTorch_torch_cpu_LIBRARY LibTorch_torch_LIBRARY LibTorch_c10_LIBRARY
                  LibTorch_INCLUDE_DIR LibTorch_API_INCLUDE_DIR
    VERSION_VAR LibTorch_VERSION
    REASON_FAILURE_MESSAGE "sotto::torch needs LibTorch (Debian: libtorch-dev)")

if(LibTorch_FOUND AND NOT TARGET LibTorch::LibTorch)
    add_library(LibTorch::LibTorch INTERFACE IMPORTED)
    set_target_properties(LibTorch::LibTorch PROPERTIES
        INTERFACE_INCLUDE_DIRECTORIES "${LibTorch_API_INCLUDE_DIR};${LibTorch_INCLUDE_DIR}"
        INTERFACE_LINK_LIBRARIES
            "${LibTorch_torch_LIBRARY};${LibTorch_torch_cpu_LIBRARY};${LibTorch_c10_LIBRARY}")
    # Which std::string it was built with: only its own configuration says.
    cmake_path(GET LibTorch_torch_LIBRARY PARENT_PATH libtorch_folder)
    foreach(place IN ITEMS cmake ../share/cmake)
        set(libtorch_config "${libtorch_folder}/${place}/Torch/TorchConfig.cmake")
        if(EXISTS "${libtorch_config}")
            file(STRINGS "${libtorch_config}" libtorch_abi LIMIT_COUNT 1
                 REGEX "_GLIBCXX_USE_CXX11_ABI=[01]")
            if(libtorch_abi MATCHES "(_GLIBCXX_USE_CXX11_ABI=[01])")
                set_target_properties(LibTorch::LibTorch PROPERTIES
                    INTERFACE_COMPILE_DEFINITIONS "${CMAKE_MATCH_1}")
            endif()
            break()
        endif()
    endforeach()
    unset(libtorch_folder)
    unset(libtorch_config)
    unset(libtorch_abi)
endif()
