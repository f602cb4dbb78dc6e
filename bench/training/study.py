"""What studies of training have in common: runs, each a line of a store, and tables that are made of them."""

import concurrent.futures
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

from common.machine import today
from common.pages import table_row, table_rule

# OpenBLAS 0.3.21 does not know processors that are newer than it is, and takes kernels for the oldest
# there, by which a language model takes twice as long or more.
KERNELS = {"OPENBLAS_CORETYPE": "Haswell"}


class Run:
    """One call of a program, whose result is the line of its name in a store."""

    def __init__(self, store, program, name, **arguments):
        self.store, self.program, self.name, self.arguments = store, program, name, arguments

    def result(self):
        return self.store.get(self.name)

    def do(self):
        """Calls the program, unless its result is stored."""
        if self.name in self.store:
            return
        print(f"{datetime.datetime.now():%H:%M:%S} {self.name}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "result.json"
            self._call(out)
            found = json.loads(out.read_text())
        self.store.put(self.name, {**self.kept(found), "options": self.arguments, "measured": today()})

    def kept(self, found):
        """Returns what the store keeps of a result."""
        return found

    def _call(self, out):
        command = [str(self.program), "--out", str(out)]
        command += [f"--{name.replace('_', '-')}={value}"
                    for name, value in self.arguments.items()]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env={**KERNELS, **os.environ, "OPENBLAS_NUM_THREADS": "1",
                                   "OMP_NUM_THREADS": "1"}, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{done.stdout}\n{' '.join(command)} failed")


def do_all(runs, jobs):
    """Does so many runs at a time, and sorts their stores."""
    runs = list(runs)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda run: run.do(), runs))
    for store in {run.store for run in runs}:
        store.sort()


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
        self.lines.append(table_row((asked, found, "yes" if held else "no")))

    def table(self):
        return ["## Claims", "", table_row(("asked", "found", "held")), table_rule(3), *self.lines, ""]


def measured(runs):
    """When and where, of all that are there."""
    when = sorted({result["measured"] for run in runs if (result := run.result())})
    if when:
        yield f"Measured {'; '.join(when)}."
        yield ""
