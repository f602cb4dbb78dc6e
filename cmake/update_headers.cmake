# Writes what lists the files of include/: cmake/headers.cmake, of what is installed and verified, and
# sotto/src*.hpp, of what a compiled program compiles once:
#   cmake -P cmake/update_headers.cmake
# With -D CHECK=ON it writes nothing and fails, naming the files that would change.

cmake_minimum_required(VERSION 3.25)
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH root)

set(of_models "^include/sotto/(models\\.hpp|(nn|models|data)/)")
# Of those, what trainers and logs need of any model; no library is needed for it.
set(of_any_model "^include/sotto/(data/(dataset|labelled_batch|sampler)|models/(churn|gradient_source|detail/predict_with))\\.[hi]pp$")
set(of_tcp "^include/sotto/transports/(detail/tcp/.*|tcp)\\.ipp$")
set(of_tls "^include/sotto/transports/(detail/tls/.*|tcp_tls)\\.[hi]pp$")
set(of_mpi "^include/sotto/transports/(detail/mpi/)?mpi(_session|_library)?\\.[hi]pp$")
set(of_torch "^include/sotto/adapters/")
set(of_src "^include/sotto/src(_[a-z]+)?\\.hpp$")
set(of_any "${of_models}|${of_tls}|${of_mpi}|${of_torch}|${of_src}")

file(GLOB_RECURSE headers RELATIVE "${root}" "${root}/include/*.hpp")
file(GLOB_RECURSE bodies RELATIVE "${root}" "${root}/include/*.ipp")
list(SORT headers)
list(SORT bodies)
foreach(kind IN ITEMS headers bodies)
    set(any_model_${kind} ${${kind}})
    list(FILTER any_model_${kind} INCLUDE REGEX "${of_any_model}")
    list(REMOVE_ITEM ${kind} ${any_model_${kind}})
endforeach()
foreach(part IN ITEMS models tls mpi torch)
    set(${part}_headers ${headers})
    list(FILTER ${part}_headers INCLUDE REGEX "${of_${part}}")
endforeach()
foreach(part IN ITEMS models tcp tls mpi)
    set(${part}_bodies ${bodies})
    list(FILTER ${part}_bodies INCLUDE REGEX "${of_${part}}")
endforeach()
list(FILTER headers EXCLUDE REGEX "${of_any}")
list(FILTER bodies EXCLUDE REGEX "${of_any}|${of_tcp}")
foreach(kind IN ITEMS headers bodies)
    list(APPEND ${kind} ${any_model_${kind}})
    list(SORT ${kind})
endforeach()

# What sotto::compiled has must not need another library of sotto.
set(others ${models_headers} ${tls_headers} ${mpi_headers})
foreach(file IN LISTS headers bodies tcp_bodies)
    file(STRINGS "${root}/${file}" includes REGEX "^ *# *include \"sotto/")
    foreach(line IN LISTS includes)
        string(REGEX REPLACE ".*\"(sotto/[^\"]*)\".*" "include/\\1" included "${line}")
        if(included IN_LIST others)
            message(FATAL_ERROR "${file} is of sotto::sotto, but includes ${included}, which is of another part")
        endif()
    endforeach()
endforeach()
if(torch_bodies)
    message(FATAL_ERROR "sotto::torch has no compiled part; these belong into headers: ${torch_bodies}")
endif()

# updated(<file> <text>): writes it, or fails if the file has another one.
set(outdated)
function(updated file text)
    if(CHECK)
        set(now)
        if(EXISTS "${root}/${file}")
            file(READ "${root}/${file}" now)
        endif()
        if(NOT now STREQUAL text)
            set(outdated ${outdated} ${file} PARENT_SCOPE)
        endif()
    else()
        file(WRITE "${root}/${file}" "${text}")
    endif()
endfunction()

set(list "# Every header of sotto. Written by: cmake -P cmake/update_headers.cmake\n")
# listed(<variable> <comment>): adds it to the text of headers.cmake.
function(listed variable comment)
    list(JOIN ${variable} "\n    " lines)
    string(APPEND list "\n# ${comment}\nset(sotto_${variable}\n    ${lines})\n")
    set(list "${list}" PARENT_SCOPE)
endfunction()
listed(headers "What sotto::sotto has.")
listed(bodies "Definitions that these headers include at their end, or sotto::compiled compiles.")
listed(tcp_bodies "Those of transports over TCP.")
listed(models_headers "Installed with sotto::models, which has what they need.")
listed(models_bodies "For sotto::compiled_models.")
listed(tls_headers "With sotto::tls.")
listed(tls_bodies "For sotto::compiled_tls.")
listed(mpi_headers "With sotto::mpi.")
listed(mpi_bodies "For sotto::compiled_mpi.")
listed(torch_headers "With sotto::torch.")
updated(cmake/headers.cmake "${list}")

# source(<part> <bodies> <words>): the header that compiles these.
function(source part variable words)
    set(text "#pragma once

// ${words}
// One source file of a program includes it, and all of its source files are compiled with
// -D SOTTO_SEPARATE_COMPILATION: they see declarations alone, and compile in less time.
// Written by: cmake -P cmake/update_headers.cmake

#ifndef SOTTO_SEPARATE_COMPILATION
#error \"sotto/src${part}.hpp is for programs that are compiled with -D SOTTO_SEPARATE_COMPILATION\"
#endif

")
    foreach(body IN LISTS ${variable})
        string(REPLACE "include/" "" body "${body}")
        string(APPEND text "#include \"${body}\"\n")
    endforeach()
    updated(include/sotto/src${part}.hpp "${text}")
    set(outdated ${outdated} PARENT_SCOPE)
endfunction()
source("" bodies "What sotto compiles once, except for TCP, models, TLS and MPI: see src_tcp.hpp and so on.")
source(_tcp tcp_bodies "What transports over TCP compile once, beside src.hpp. Needs Boost.Asio.")
source(_models models_bodies "What built-in models and data sets compile once, beside src.hpp. Needs a CBLAS and zlib.")
source(_tls tls_bodies "What secret connections compile once, beside src.hpp and src_tcp.hpp. Needs OpenSSL 3.")
source(_mpi mpi_bodies "What the transport over MPI compiles once, beside src.hpp. Needs MPI 3.")

if(outdated)
    list(JOIN outdated "\n  " outdated)
    message(FATAL_ERROR "these and the files under include/ differ; run cmake -P cmake/update_headers.cmake\n"
                        "  ${outdated}")
endif()
