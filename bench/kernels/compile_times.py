"""What each kernel's header adds to the time of compiling a file."""

import re
import resource
import subprocess
import tempfile

import libraries
from rounds import Section

INCLUDE = re.compile(r'^\s*#\s*include\s+(?:<([^>]+)>|"([^"]+)")', re.M)
XSIMD = "xsimd/xsimd.hpp"
# Of the compiler and the system, not of the standard library: they count as the header's own.
NOT_STANDARD = re.compile(rf"intrin\.h$|^arm_|^cpuid\.h$|^(?!{XSIMD}$).*/|^xxhash")
REPEATS = 5


def includes_of_others(header, seen=None):
    """Headers of the standard library, and xsimd's, that it includes, itself or through others of
    ours."""
    seen = set() if seen is None else seen
    found = set()
    if header in seen:
        return found
    seen.add(header)
    include = libraries.ROOT / "include"
    for angled, quoted in INCLUDE.findall(header.read_text()):
        if angled and not NOT_STANDARD.search(angled):
            found.add(angled)
        elif quoted and (include / quoted).exists():
            found |= includes_of_others(include / quoted, seen)
    return found


def processor_seconds(source, folder):
    """User seconds of a compilation, the compiler's children included."""
    path = f"{folder}/alone.cpp"
    with open(path, "w") as file:
        file.write(source)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run([*libraries.compiler(), "-std=c++20", "-O0", f"-I{libraries.ROOT / 'include'}",
                    "-c", path, "-o", f"{folder}/alone.o"], check=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def compile_times(bench, _):
    section = Section("compile_times", 0,
                      "g++ -O0 of a file with one header, user seconds above one with the standard "
                      "headers that it includes, and with xsimd where it includes that")
    repeats = min(REPEATS, bench.options.rounds)
    with tempfile.TemporaryDirectory() as folder:
        for header in sorted((libraries.ROOT / "include/sotto/kernels").glob("*.hpp")):
            others = includes_of_others(header)
            alone = "standard headers and xsimd" if XSIMD in others else "standard headers"
            sources = {"with it": f'#include "sotto/kernels/{header.name}"\n',
                       alone: "".join(f"#include <{name}>\n" for name in sorted(others))}
            times = {name: [] for name in sources}
            for turn in range(repeats):
                for name in sorted(sources, reverse=turn % 2 == 1):
                    times[name].append(processor_seconds(sources[name], folder))
            medians = section.case(header.name, times)
            section.line(header.name, f"above its {alone} alone",
                         medians["with it"] - medians[alone], 0.3, at_most=True, unit=" s")
    return section
