#!/usr/bin/env python3
"""What compiling programs costs, header-only and against the compiled library, beside LibTorch.

    compile.py [--compiler g++] [--rounds 5] [--table] [--build FOLDER]

Each program is compiled in turns with the others, for so many rounds; medians of the compiler's user
seconds and of its peak memory count. The library is built once before, and its own cost is said. A
program's edit is one more line in its main(), compiled and linked against the library, also with its
headers precompiled, as CMake's target_precompile_headers does. Limits that depend on the machine are
in parts of the LibTorch program's time, which is taken as LIBTORCH_SECONDS on the machine that they
were set on. LibTorch (Debian: libtorch-dev) is left out where it is not there. Nothing else should
run. --table writes bench/results/compile.md."""

import argparse
import os
import pathlib
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from common.machine import today  # noqa: E402
from common.project import RESULTS, ROOT  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
PAGE = RESULTS / "compile.md"
LIBTORCH_SECONDS = 21.0  # user seconds of the LibTorch program where the limits were set
MEMORY_MOST = 400  # MiB, of anything that is compiled against the library
LIBRARIES = ["-lsotto_models", "-lsotto_tls", "-lsotto", "-lopenblas", "-lz", "-lssl", "-lcrypto", "-pthread"]


class Program:
    """A source, how it is optimised, and how many seconds it may take in either mode."""

    def __init__(self, name, source, optimised, compiled, header_only=None, text=None):
        self.name, self.source, self.optimised = name, source, optimised
        self.most = {"compiled": compiled, "header-only": header_only}
        self.text = text


PROGRAMS = [
    Program("README's first program", ROOT / "examples/guides/first.cpp", "-O2",
            0.35 * LIBTORCH_SECONDS, 0.9 * LIBTORCH_SECONDS),
    Program("#include <sotto/sotto.hpp>", None, "-O0", 2.5, 5.0, "#include <sotto/sotto.hpp>\n"),
    Program("own model, DGC, checkpoints, progress bar", HERE / "own_model.cpp", "-O2", 6.0),
    Program("several machines: TLS, a log, a report", HERE / "several_machines.cpp", "-O2", 8.0),
    Program("inference only", HERE / "inference.cpp", "-O2", 1.5),
]


def measured(command, **options):
    """User seconds and MiB at the peak of a command, its children included."""
    child = subprocess.Popen(command, **options)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"failed: {shlex.join(map(str, command))}")
    return usage.ru_utime, usage.ru_maxrss / 1024


def torch_flags():
    """What compiles against Debian's LibTorch, or None."""
    for prefix in (pathlib.Path("/usr/include"), pathlib.Path("/usr/local/include")):
        api = prefix / "torch/csrc/api/include"
        if (api / "torch/torch.h").exists():
            return [f"-isystem{api}"]
    return None


def build_library(folder, compiler):
    """The static libraries, in this folder; returns user seconds, 0 if they were there."""
    if (folder / "libsotto.a").exists():
        return 0.0
    configure = ["cmake", "-S", ROOT, "-B", folder, "-D", "CMAKE_BUILD_TYPE=Release",
                 f"-DCMAKE_CXX_COMPILER={compiler}", *(f"-DSOTTO_BUILD_{part}=OFF" for part in
                                                      ("TESTS", "EXAMPLES", "BENCH", "LAUNCHER"))]
    subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
    seconds, _ = measured(["cmake", "--build", folder, "-j", "1"], stdout=subprocess.DEVNULL)
    return seconds


class Bench:
    def __init__(self, options, scratch):
        self.options, self.scratch = options, pathlib.Path(scratch)
        # A header that could not be used as precompiled would be read as text.
        clang = "clang" in pathlib.Path(options.compiler).name
        self.only_precompiled = [] if clang else ["-Winvalid-pch", "-Werror=invalid-pch"]
        self.flags = [options.compiler, "-std=c++20", f"-I{ROOT / 'include'}"]

    def compile(self, source, optimised, *more, made=None):
        return measured([*self.flags, optimised, *more, "-c", source, "-o", made or self.scratch / "made.o"])

    def program(self, program, mode):
        source = program.source
        if source is None:
            source = self.scratch / "one_include.cpp"
            source.write_text(program.text)
        more = ["-DSOTTO_SEPARATE_COMPILATION"] if mode == "compiled" else []
        return self.compile(source, program.optimised, *more)

    def libtorch(self):
        return self.compile(HERE / "libtorch_mlp.cpp", "-O2", *torch_flags())

    def edit(self, number, precompiled=False):
        """A line more in main(), compiled as one debugs, and linked."""
        text = (ROOT / "examples/guides/first.cpp").read_text()
        more = ["-DSOTTO_SEPARATE_COMPILATION"]
        if precompiled:
            headers = self.scratch / "headers.hpp"
            if not headers.exists():  # once, as a project's build does
                headers.write_text("".join(line for line in text.splitlines(True) if line.startswith("#include")))
                self.compile(headers, "-O0", *more, "-x", "c++-header", made=f"{headers}.gch")
            more += ["-include", headers, *self.only_precompiled]
        source = self.scratch / "edited.cpp"
        source.write_text(text.replace("int main() try {", f"int main() try {{\n    (void){number};", 1))
        compiled, memory = self.compile(source, "-O0", *more)
        linked, _ = measured([self.options.compiler, self.scratch / "made.o", f"-L{self.options.build}",
                              *LIBRARIES, "-o", self.scratch / "made"])
        return compiled + linked, memory


def rows(bench):
    """(what, mode, limit in seconds or None, function) of everything that is timed."""
    for program in PROGRAMS:
        for mode in ("compiled", "header-only"):
            yield (f"{program.name}, {program.optimised}", mode, program.most[mode],
                   lambda turn, p=program, m=mode: bench.program(p, m))
    yield ("a line of the first program edited, -O0, and linked", "compiled", 4.0, bench.edit)
    yield ("the same edit, the headers precompiled", "compiled", 4.0, lambda turn: bench.edit(turn, precompiled=True))
    if torch_flags():
        yield ("LibTorch: MLP 784-512-10, ten steps of SGD, -O2", "", None, lambda turn: bench.libtorch())


def table(options, library_seconds, found):
    reference = next((seconds for what, _, _, seconds, _ in found if what.startswith("LibTorch")), None)
    scale = reference / LIBTORCH_SECONDS if reference else 1.0
    lines = ["# What compiling costs", "",
             f"{today()}. Medians of "
             f"{options.rounds} rounds in turns: user seconds of the compiler, and its memory at the peak. "
             + (f"Limits are in seconds of a machine whose LibTorch program takes {LIBTORCH_SECONDS:.0f} s; here it "
                f"takes {reference:.1f} s, so that each is multiplied by {scale:.2f}."
                if reference else "LibTorch is not here: limits are as they were set."), "",
             f"    bench/compile/compile.py --table --compiler {options.compiler} --rounds {options.rounds}", ""]
    if library_seconds:
        lines += [f"The library itself, once, at -O3: {library_seconds:.0f} s.", ""]
    lines += ["| program | mode | user seconds | at most | MiB |", "|---|---|---|---|---|"]
    met = True
    for what, mode, most, seconds, memory in found:
        limit = "" if most is None else f"{most * scale:.2f}"
        good = (most is None or seconds <= most * scale) and (mode != "compiled" or memory <= MEMORY_MOST)
        met = met and good
        lines.append(f"| {what} | {mode} | {seconds:.2f}{'' if good else ' (missed)'} | {limit} | {memory:.0f} |")
    return "\n".join(lines) + "\n", met


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/compile")
    options = parser.parse_args()
    if options.rounds < 1:
        sys.exit(f"--rounds {options.rounds}: at least 1 is needed")
    if not shutil.which(options.compiler):
        sys.exit(f"--compiler {options.compiler}: there is no such program")
    library_seconds = build_library(options.build, options.compiler)
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(options, scratch)
        timed = list(rows(bench))
        taken = {row[:2]: [] for row in timed}
        for turn in range(options.rounds):
            for what, mode, _, run in timed if turn % 2 == 0 else reversed(timed):
                taken[what, mode].append(run(turn))
                print(f"  {what} {mode}: {taken[what, mode][-1][0]:.2f} s", flush=True)
    found = [(what, mode, most, statistics.median(s for s, _ in taken[what, mode]),
              statistics.median(m for _, m in taken[what, mode])) for what, mode, most, _ in timed]
    text, met = table(options, library_seconds, found)
    print(text)
    if options.table:
        PAGE.write_text(text)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
