"""What studies of training have in common: runs that are stored one by one, so that a study which was
interrupted goes on where it stopped, and tables that are made of them."""

import concurrent.futures
import datetime
import json
import os
import pathlib
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "bench"
# OpenBLAS 0.3.21 does not know processors that are newer than it is, and takes kernels for the oldest
# there, by which a language model takes twice as long or more.
KERNELS = {"OPENBLAS_CORETYPE": "Haswell"}


def today():
    """When and where a run was done."""
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        processor = next(line.split(":")[1].strip() for line in lines
                         if line.startswith("model name"))
    return f"{datetime.date.today()}, {processor}, {os.cpu_count()} processors"


class Run:
    """One call of a program, whose result is the file of its name in a folder."""

    def __init__(self, folder, program, name, **arguments):
        self.path = folder / f"{name}.json"
        self.program, self.name, self.arguments = program, name, arguments

    def result(self):
        return json.loads(self.path.read_text()) if self.path.exists() else None

    def do(self):
        if self.path.exists():
            return
        part = self.path.with_suffix(".part")
        command = [str(self.program), "--out", str(part)]
        command += [f"--{name.replace('_', '-')}={value}"
                    for name, value in self.arguments.items()]
        print(f"{datetime.datetime.now():%H:%M:%S} {self.name}", flush=True)
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env={**KERNELS, **os.environ, "OPENBLAS_NUM_THREADS": "1",
                                   "OMP_NUM_THREADS": "1"}, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{done.stdout}\n{' '.join(command)} failed")
        part.write_text(json.dumps({**json.loads(part.read_text()), "options": self.arguments,
                                    "measured": today()}, separators=(",", ":")) + "\n")
        part.rename(self.path)


def build(program):
    """Installs what is missing and builds a program of the benchmarks."""
    subprocess.run([ROOT / "cmake" / "install_debian.sh", "bench"], check=True)
    subprocess.run(["cmake", "--preset", "bench", "-S", ROOT], check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", BUILD, "--target", program.name], check=True,
                   stdout=subprocess.DEVNULL)


def do_all(runs, jobs):
    """So many at a time."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda run: run.do(), runs))


class Row:
    """Results of one setting with several seeds, as far as they are there."""

    def __init__(self, runs):
        self.results = [result for run in runs if (result := run.result())]

    def __len__(self):
        return len(self.results)

    def each(self, measure):
        """A measure is a function of a result, or the name of one of its members."""
        value = measure if callable(measure) else (lambda result: result[measure])
        return [value(result) for result in self.results]

    def mean(self, measure):
        return statistics.mean(self.each(measure))

    def cell(self, measure, digits):
        """Mean over seeds, and the least to the most."""
        if not self.results:
            return "-"
        values = self.each(measure)
        text = f"{statistics.mean(values):.{digits}f}"
        return text if len(values) == 1 else \
            f"{text} ({min(values):.{digits}f} to {max(values):.{digits}f})"


class Claims:
    """What was asked beside what was found."""

    def __init__(self):
        self.lines = []

    def add(self, asked, found, held):
        self.lines.append(f"| {asked} | {found} | {'yes' if held else 'no'} |")

    def table(self):
        return ["## Claims", "", "| asked | found | held |", "|---|---|---|", *self.lines, ""]


def measured(runs):
    """When and where, of all that are there."""
    when = sorted({result["measured"] for run in runs if (result := run.result())})
    if when:
        yield f"Measured {'; '.join(when)}."
        yield ""
