#!/bin/sh
# check.sh ROOT
# What the compiler does not enforce about the sources under ROOT: floors, names that belong in one
# folder, line width. Prints one "file:line: what, and what was expected" per violation.

cd "$1" || exit 1
LC_ALL=C
export LC_ALL

# What a program left behind, an input that a fuzzer found, belongs to nobody. Only in a clone: what
# is not committed is its owner's affair.
strays=0
if [ -e .git ]; then
    for entry in $(git ls-files | sed 's,/.*,,' | sort -u); do
        case $entry in
            .ci | .clang-format | .github | .gitignore | CHANGELOG.md | CMakeLists.txt) ;;
            CMakePresets.json) ;;
            CONTRIBUTING.md | LICENSE | README.md | bench | cmake | conanfile.py | examples) ;;
            include | ports | test_package | tests | vcpkg.json) ;;
            *)
                echo "$entry: does not belong at the top level"
                strays=1
                ;;
        esac
    done
fi

files=$(find include/sotto tests examples bench \( -name '*.hpp' -o -name '*.ipp' -o -name '*.cpp' \) 2>/dev/null | sort)
if [ -z "$files" ]; then
    echo "no sources under $1/include/sotto"
    exit 1
fi

# The names of source files hold no blanks, so that the list may be split.
# shellcheck disable=SC2086
awk '
BEGIN {
    floor["core"] = 0
    floor["kernels"] = 1
    floor["wire"] = 2
    count = split("compressors optimizers losses staleness distillation topologies transports " \
                  "launch nn data strategies/gossip/control strategies/gossip/mixing " \
                  "strategies/parameter_server/consistency", name, " ")
    for (i = 1; i <= count; ++i) floor[name[i]] = 3
    floor["collectives"] = floor["models"] = floor["checkpoint"] = 4
    floor["strategies"] = 5
    floor["trainer"] = 6
    floor["logging"] = floor["adapters"] = 7
    floor["report"] = 8
    floor["sotto.hpp"] = 9
    count = split("models.hpp src.hpp src_tcp.hpp src_models.hpp src_tls.hpp src_mpi.hpp", name, " ")
    for (i = 1; i <= count; ++i) floor[name[i]] = 9
    floor["version.hpp"] = 0
    columns_max = 100
}

function report(line, text) {
    print file ":" line ": " text
    ++violations
}

# The longest folder in `floor` that contains the file; path is "include/sotto/folder/detail/file.hpp",
# without its first n characters. A file outside of these folders stands for itself.
function folder_of(path, n, whole) {
    whole = path = substr(path, n + 1)
    while (!(path in floor) && sub("/[^/]*$", "", path)) {}
    if (path in floor) return path
    sub("/.*", "", whole)
    return whole
}

function end_of_header() {
    if (!header) return
    if (!once) report(1, "has no #pragma once")
}

FNR == 1 {
    end_of_header()
    file = FILENAME
    header = file ~ "^include/sotto/"
    folder = folder_of(file, length("include/sotto/"))
    once = 0
    if (header && !(folder in floor))
        report(1, "folder " folder " has no floor; give it one in tests/structure/check.sh")
}

{ last = FNR == 1 ? "" : this; this = $0 }

{
    text = $0
    gsub("[\200-\277]", "", text)  # the rest of each UTF-8 sequence: what remains are characters
    if (length(text) > columns_max)
        report(FNR, "has " length(text) " columns, at most " columns_max " are allowed")
    if (!header) next
}

/^#pragma once/ { once = 1 }

/^[ \t]*#[ \t]*include[ \t]*"/ {
    target = $0
    sub(/^[^"]*"/, "", target)
    sub(/".*/, "", target)
    if (target !~ "^sotto/") {
        report(FNR, "includes \"" target "\"; ours are written \"sotto/folder/file.hpp\"")
        next
    }
    if (target ~ /[.]ipp$/ && folder !~ /^src/) {
        own = "include/" target
        sub(/[.]ipp$/, ".hpp", own)
        if (own != file || last != "#ifndef SOTTO_SEPARATE_COMPILATION")
            report(FNR, "includes \"" target "\"; only the header of that name does so, at its end, under " \
                   "#ifndef SOTTO_SEPARATE_COMPILATION")
        next
    }
    other = folder_of(target, length("sotto/"))
    if (!(other in floor) || !(folder in floor) || other == folder) next
    if (floor[other] > floor[folder])
        report(FNR, folder " (floor " floor[folder] ") includes " other " (floor " floor[other] \
               "), which is above it")
    else if (floor[other] == floor[folder] && other != "version.hpp")
        report(FNR, folder " includes " other ", which is on the same floor")
    next
}

/"([^"\\]|\\.)*%[-+#0]*([0-9]+|[*])?([.]([0-9]+|[*]))?[aefgAEFG]/ {
    report(FNR, "prints a number by the locale; append_fixed of core/detail/text/number_text.hpp does not")
}

# From here on the code alone counts, without its strings and comments.
{
    code = $0
    gsub(/\047\\?"\047/, "", code)
    gsub(/"([^"\\]|\\.)*"/, "", code)
    gsub(/\/\*.*\*\//, "", code)
    sub(/\/\/.*/, "", code)
}

code ~ /<boost\/|<asio|boost::|asio::/ && file !~ "^include/sotto/transports/detail/tcp/" {
    report(FNR, "names Boost or Asio, which belong in transports/detail/tcp/")
}
code ~ /<openssl\/|(^|[^A-Za-z0-9_])(SSL|BIO|EVP|ERR|OPENSSL)_/ && file !~ "^include/sotto/transports/detail/tls/" {
    report(FNR, "names OpenSSL, which belongs in transports/detail/tls/")
}
code ~ /<mpi\.h>|(^|[^A-Za-z0-9_])MPI_/ && file !~ /^include\/sotto\/transports\/(detail\/mpi\/)?mpi(_session|_library)?[.][hi]pp$/ {
    report(FNR, "names MPI, which belongs in transports/mpi.hpp")
}
code ~ /<torch\/|(^|[^A-Za-z0-9_])(torch|at|c10)::/ && folder != "adapters" {
    report(FNR, "names LibTorch, which belongs in adapters/torch*.hpp")
}
code ~ /<xsimd|xsimd::/ && folder != "kernels" {
    report(FNR, "names xsimd, which belongs in kernels/")
}
code ~ /<xtensor|<xtl|(^|[^A-Za-z0-9_])xt::/ && folder !~ /^(nn|models|data)$/ {
    report(FNR, "names xtensor, which belongs in nn/, models/ and data/")
}
code ~ /(^|[^A-Za-z0-9_])using[ \t]+namespace[ \t]/ {
    report(FNR, "has a using namespace, which every includer would inherit")
}
code ~ /::(min|max)[ \t]*\(/ {
    report(FNR, "calls min or max, macros of other libraries; write (std::min)(a, b)")
}
(code ~ /(^|[^A-Za-z0-9_])(fopen|freopen|fdopen|tmpfile|popen|mkostemp|mkstemp|opendir|openat|creat)[ \t]*\(/ ||
 code ~ /(^|[^A-Za-z0-9_])(eventfd|signalfd|timerfd_create|epoll_create1?|memfd_create|inotify_init1?)[ \t]*\(/ ||
 code ~ /(^|[^A-Za-z0-9_])((basic_)?[io]?fstream|(basic_)?filebuf)([^A-Za-z0-9_.>]|$)/ ||
 code ~ /(^|[^A-Za-z0-9_:])::(open|socket|socketpair|accept4?|pipe2?|dup)[ \t]*\(/) &&
code !~ /above_standard\(/ && file !~ "^include/sotto/core/detail/files/descriptor[.][hi]pp$" {
    report(FNR, "opens a file or socket; core/detail/files/descriptor.hpp does so above the standard streams")
}
(code ~ /std::(cout|cerr|clog)|f(printf|puts|write|putc)[ \t]*\(.*(stdout|stderr)/ ||
 code ~ /(^|[^A-Za-z0-9_])(printf|puts|putchar|perror)[ \t]*\(/) &&
file !~ "^include/sotto/core/detail/text/print_line[.][hi]pp$" {
    report(FNR, "prints; print_line of core/detail/text/print_line.hpp escapes what a terminal would act on")
}
code ~ /^[ \t]*#[ \t]*define[ \t]/ {
    macro = code
    sub(/^[ \t]*#[ \t]*define[ \t]+/, "", macro)
    sub(/[^A-Za-z0-9_].*/, "", macro)
    if (macro == "XXH_INLINE_ALL") next  # how xxhash.h is asked to be header-only
    if (macro !~ /^SOTTO_/)
        report(FNR, "defines the macro " macro ", whose name must start with SOTTO_")
    else if (file !~ "^include/sotto/(core/config|version)[.]hpp$")
        report(FNR, "defines the macro " macro ", which belongs in core/config.hpp")
}

END {
    end_of_header()
    exit violations > 0
}
' $files && exit "$strays"
