# Writes cmake/headers.cmake, the one list of what is installed and verified, from include/:
#   cmake -P cmake/update_headers.cmake
# With -D CHECK=ON it writes nothing and fails, naming the headers, when list and folder differ.

cmake_minimum_required(VERSION 3.25)
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH root)
file(GLOB_RECURSE headers RELATIVE "${root}" "${root}/include/*.hpp")
list(SORT headers)
set(of_models "^include/sotto/(nn|models|data)/")
set(of_tls "^include/sotto/transports/tcp_tls\\.hpp$")
set(of_mpi "^include/sotto/transports/(detail/mpi/)?mpi(_session|_library)?\\.hpp$")
set(of_torch "^include/sotto/adapters/")
foreach(part IN ITEMS models tls mpi torch)
    set(${part}_headers ${headers})
    list(FILTER ${part}_headers INCLUDE REGEX "${of_${part}}")
endforeach()
list(FILTER headers EXCLUDE REGEX "${of_models}|${of_tls}|${of_mpi}|${of_torch}")

if(CHECK)
    include("${root}/cmake/headers.cmake")
    set(differences)
    foreach(kind IN ITEMS headers models_headers tls_headers mpi_headers torch_headers)
        foreach(header IN LISTS sotto_${kind})
            if(NOT header IN_LIST ${kind})
                list(APPEND differences "  listed, but not there: ${header}")
            endif()
        endforeach()
        foreach(header IN LISTS ${kind})
            if(NOT header IN_LIST sotto_${kind})
                list(APPEND differences "  there, but not listed: ${header}")
            endif()
        endforeach()
    endforeach()
    if(differences)
        list(JOIN differences "\n" differences)
        message(FATAL_ERROR "cmake/headers.cmake and include/ differ; "
                            "run cmake -P cmake/update_headers.cmake\n${differences}")
    endif()
    return()
endif()

list(JOIN headers "\n    " headers)
list(JOIN models_headers "\n    " models_headers)
list(JOIN tls_headers "\n    " tls_headers)
list(JOIN mpi_headers "\n    " mpi_headers)
list(JOIN torch_headers "\n    " torch_headers)
file(CONFIGURE OUTPUT "${root}/cmake/headers.cmake" @ONLY CONTENT
"# Every header of sotto. Written by: cmake -P cmake/update_headers.cmake

set(sotto_headers
    @headers@)

# Installed with sotto::models, which has what they need.
set(sotto_models_headers
    @models_headers@)

# With sotto::tls.
set(sotto_tls_headers
    @tls_headers@)

# With sotto::mpi.
set(sotto_mpi_headers
    @mpi_headers@)

# With sotto::torch.
set(sotto_torch_headers
    @torch_headers@)
")
