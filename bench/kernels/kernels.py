#!/usr/bin/python3
"""Every kernel beside its limit, measured in the same run on the same arrays, and beside its peers.

    kernels.py [--sections NAME...] [--sizes N...] [--x86-simd-sort FOLDER] [--highway FOLDER]
               [--results FILE] [--resume] [--table]

All contestants run in this process, in turns; each round begins with another one and moves the
arrays. Medians count, and every answer is checked. Needs g++ and Debian's python3-numpy, and for
PyTorch python3-torch; x86-simd-sort and Highway are checkouts of their sources, left out if not
given. Each section and size is a line of the results' file, so an interrupted run goes on with
--resume. --table makes bench/results/kernels.md of them. What it measures depends on what else the
machine does: nothing else should run."""

import argparse
import datetime
import functools
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import libraries  # noqa: E402
import limits  # noqa: E402
import many  # noqa: E402
import memory  # noqa: E402
import selections  # noqa: E402
import steps  # noqa: E402
import streams  # noqa: E402
import table  # noqa: E402
from common.machine import processor  # noqa: E402
from common.project import RESULTS, ROOT  # noqa: E402
from common.store import Store  # noqa: E402
from rounds import Section  # noqa: E402

SIZES = (1_000_000, 25_000_000, 138_000_000)
SHARES = [0.001, 0.01, 0.1]
# What runs a section, and the sizes it has a reason for: none for those that bring their own.
SECTIONS = {
    "limits": (limits.limits, SIZES),
    "top_k": (selections.top_k, SIZES),
    "hostile": (selections.hostile, SIZES),
    "dgc": (steps.dgc, SIZES),
    "threads": (selections.threads, (1_000_000, 4_000_000, 25_000_000)),
    "many": (many.many, ()),
    "sets": (selections.sets, SIZES),
    "native": (selections.native, (1_000_000, 25_000_000)),
    "streams": (streams.streams, (1_000_000, 25_000_000)),
    "codec": (selections.codec, SIZES),
}


class Bench:
    """What the sections share."""

    # Freed memory stays with the process: no page is touched anew for every temporary.
    TUNED_ALLOCATOR = {"MALLOC_MMAP_THRESHOLD_": str(1 << 34),
                       "MALLOC_TRIM_THRESHOLD_": str(1 << 34)}

    def __init__(self, options):
        self.options = options

    @functools.cached_property
    def own(self):
        return libraries.own_library(self.options.build, self.options.own)

    @functools.cached_property
    def native(self):
        return libraries.native_library(self.options.build)

    @functools.cached_property
    def peers(self):
        return libraries.peers_library(self.options.build, self.options.x86_simd_sort,
                                       self.options.highway, self.options.peers_library)

    @functools.cached_property
    def torch(self):
        """PyTorch on one thread, or None."""
        try:
            import torch
        except ImportError:
            print("  without PyTorch: apt-get install python3-torch")
            return None
        torch.set_num_threads(1)
        return torch

    def wants(self, contestants):
        return self.options.only is None or contestants in self.options.only

    def wants_kind(self, kind):
        return self.options.kinds is None or kind in self.options.kinds

    def child(self, sections, n, only, environment, shares=None):
        """What this program finds in another environment, as a process of its own."""
        with tempfile.TemporaryDirectory() as folder:
            results = pathlib.Path(folder) / "results.jsonl"
            command = [sys.executable, __file__, "--child", "--sections", *sections, "--sizes",
                       str(n), "--only", only, "--results", str(results), *self.options.repeated,
                       "--own", str(self.own.path), "--peers-library", str(self.peers.path),
                       "--shares", *map(str, shares or self.options.shares)]
            subprocess.run(command, check=True, env=os.environ | environment,
                           stdout=subprocess.DEVNULL)
            return Store(results).get(run_name(sections[0], n))


def run_name(section, n):
    """The name of a line of results; sections that bring their own sizes have n = 0."""
    return f"{section}_{n}" if n else section


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sections", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--sizes", nargs="+", type=int, help="floats; else each section's own")
    parser.add_argument("--shares", nargs="+", type=float, default=SHARES, help="k/n")
    parser.add_argument("--kinds", nargs="+", help="of data; else all")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--patience", type=float, default=0.5,
                        help="seconds; whoever takes longer runs in three rounds only")
    parser.add_argument("--fast", action="store_true", help="three rounds, nothing above 25 M")
    parser.add_argument("--x86-simd-sort", type=pathlib.Path, help="a checkout of its sources")
    parser.add_argument("--highway", type=pathlib.Path, help="a checkout of its sources")
    parser.add_argument("--build", type=pathlib.Path,
                        default=ROOT / "build" / "bench_kernels")
    parser.add_argument("--own", type=pathlib.Path, help="sotto's part, built already")
    parser.add_argument("--results", type=pathlib.Path,
                        default=ROOT / "build" / "bench_kernels" / "kernels.jsonl",
                        help="a file of JSON lines")
    parser.add_argument("--resume", action="store_true", help="leaves out what has a result")
    parser.add_argument("--table", action="store_true",
                        help="measures nothing: makes a table of the results' file")
    parser.add_argument("--table-file", type=pathlib.Path, default=RESULTS / "kernels.md")
    parser.add_argument("--only", type=lambda names: set(names.split(",")), help=argparse.SUPPRESS)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--peers-library", type=pathlib.Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    for checkout in ("x86_simd_sort", "highway"):
        folder = getattr(options, checkout)
        if folder and not folder.is_dir():
            parser.error(f"{folder} is not a folder")
        setattr(options, checkout, folder and folder.resolve())
    options.rounds = options.rounds or (3 if options.fast else 9)
    # What a run's own command repeats, and its children's.
    options.repeated = ["--rounds", str(options.rounds), "--patience", str(options.patience)]
    if options.kinds:
        options.repeated += ["--kinds", *options.kinds]
    options.checkouts = [word for name in ("x86_simd_sort", "highway") if getattr(options, name)
                         for word in ("--" + name.replace("_", "-"), getattr(options, name).name)]
    changing = {"SOTTO_ISA", *Bench.TUNED_ALLOCATOR} & os.environ.keys()
    if changing and not options.child:
        parser.error(f"unset {' '.join(sorted(changing))}: this changes what is measured")
    return options


def commit_of(folder):
    """Of a checkout, with its day, or None."""
    if folder is None or not (folder / ".git").exists():
        return None
    told = subprocess.run(["git", "-C", folder, "log", "-1", "--format=%h of %cs"],
                          capture_output=True, text=True, check=True)
    return f"{folder.name} {told.stdout.strip()}"


def machine(options):
    """The processor, and what was compiled by what."""
    version = subprocess.run([*libraries.compiler(), "--version"], capture_output=True, text=True,
                             check=True).stdout.splitlines()[0]
    return {"date": datetime.date.today().isoformat(), "compiler": version,
            "processor": processor(), "processors": os.cpu_count(),
            "large_pages": memory.has_large_pages(),
            "peers": [commit for commit in (commit_of(options.x86_simd_sort),
                                            commit_of(options.highway)) if commit]}


def main():
    options = arguments()
    store = Store(options.results)
    if options.table:
        missed = table.write(store, options.table_file, list(SECTIONS))
        print(f"{options.table_file}: {missed} missed")
        return
    bench = Bench(options)
    if not options.child:
        for checkout in ("x86_simd_sort", "highway"):
            if not getattr(options, checkout):
                print(f"without {checkout.replace('_', '-')}: no --{checkout.replace('_', '-')}")
    known = machine(options)
    print(f"large pages: {table.yes_or_no(known['large_pages'])}", flush=True)
    for name in options.sections:
        run, own_sizes = SECTIONS[name]
        sizes = [0] if not own_sizes else options.sizes or own_sizes
        for n in sizes:
            if options.fast and not options.sizes and n > 25_000_000:
                continue
            if options.resume and run_name(name, n) in store:
                continue
            command = shlex.join(["bench/kernels/kernels.py", "--sections", name,
                                  *(["--sizes", str(n)] if n else []), *options.repeated,
                                  *(["--shares", *map(str, options.shares)]
                                    if options.shares != SHARES else []), *options.checkouts])
            print(f"{name}, {n} floats:  {command}" if n else f"{name}:  {command}", flush=True)
            load = os.getloadavg()[0]
            section: Section = run(bench, n)
            section.found |= known | {"command": command, "rounds": options.rounds,
                              "load": load}
            section.found["instruction_set"] = bench.own.text("sotto_instruction_set")
            store.put(run_name(name, n), section.found)
    store.sort()


if __name__ == "__main__":
    main()
