"""What headers add to the time of compiling a file: kernels, policies, and the one include."""

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
ONE_INCLUDE = ("sotto.hpp", "trainer/trainer.hpp")
ONE_INCLUDE_MOST = 2.5
KERNEL_MOST = 0.3
POLICIES = ("compressors", "optimizers", "staleness", "topologies", "distillation", "mixing",
            "consistency", "consensus", "losses")
POLICY_MOST = 0.2


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


def compare(section, repeats, case, sources):
    """Medians of compiling each, in turns."""
    with tempfile.TemporaryDirectory() as folder:
        times = {name: [] for name in sources}
        for turn in range(repeats):
            for name in sorted(sources, reverse=turn % 2 == 1):
                times[name].append(processor_seconds(sources[name], folder))
    return section.case(case, times)


def above_others(section, repeats, header, most):
    """One header beside what it includes of others."""
    path = header.relative_to(libraries.ROOT / "include")
    others = includes_of_others(header)
    alone = "standard headers and xsimd" if XSIMD in others else "standard headers"
    sources = {"with it": f'#include "{path}"\n',
               alone: "".join(f"#include <{name}>\n" for name in sorted(others))}
    case = str(path.relative_to("sotto"))
    medians = compare(section, repeats, case, sources)
    section.line(case, f"above its {alone} alone", medians["with it"] - medians[alone], most,
                 at_most=True, unit=" s")


def compile_times(bench, _):
    section = Section("compile_times", 0,
                      "g++ -O0 of a file with one header, user seconds above one with the standard "
                      "headers that it includes, and with xsimd where it includes that; of headers "
                      "that bring much, user seconds in all")
    repeats = min(REPEATS, bench.options.rounds)
    for header in ONE_INCLUDE:
        medians = compare(section, repeats, header, {"with it": f'#include "sotto/{header}"\n'})
        section.line(header, "in all", medians["with it"], ONE_INCLUDE_MOST, at_most=True, unit=" s")
    for folder, most in (("kernels", KERNEL_MOST), *((policy, POLICY_MOST) for policy in POLICIES)):
        for header in sorted((libraries.ROOT / "include/sotto" / folder).glob("*.hpp")):
            above_others(section, repeats, header, most)
    return section
