#!/usr/bin/python3
"""TCP on loopback and on shaped links, beside what the wire allows and beside Gloo, Open MPI and
PyTorch's DistributedDataParallel.

    network.py [--sections NAME...] [--rows TEXT] [--rounds N] [--results FOLDER] [--resume]
               [--table] [--quick]

One JSON file for each row goes to the results' folder, so that a run that was ended early goes on
with --resume; --table makes bench/results/network.md of them. Peers that are not installed are
left out: apt-get install --no-install-recommends libgloo-dev libopenmpi-dev openmpi-bin
python3-torch python3-numpy. The section end_to_end needs SOTTO_DATA, a folder with mnist/,
cifar10-sample/ and tinyshakespeare/. What it measures depends on what else the machine does:
nothing else should run."""

import argparse
import datetime
import functools
import json
import os
import pathlib
import platform
import shlex
import subprocess

import backpressure
import collectives
import detection
import end_to_end
import exchange
import namespaces
import rows
import table
from programs import ROOT, Programs


class Section:
    """`rows(bench)` yields (name, function that measures it); `lines(found)` what became of them
    beside what is asked."""

    def __init__(self, about, rows_of, lines):
        self.about, self.rows, self.lines = about, rows_of, lines


SECTIONS = {
    "loopback": Section("Dense all-reduce on loopback.", collectives.loopback_rows,
                        collectives.loopback_lines),
    "wire": Section("Dense all-reduce and all-gather on shaped links, beside the wire's floor.",
                    collectives.wire_rows, collectives.wire_lines),
    "dgc": Section("Select, encode, send, receive, decode, apply, beside the dense ring.",
                   exchange.dgc_rows, exchange.dgc_lines),
    "end_to_end": Section("Training, four ranks of one thread each.", end_to_end.end_to_end_rows,
                          end_to_end.end_to_end_lines),
    "detection": Section("A rank is killed or stopped in a phase of a job; all others see to it "
                         "that they name it, stand as after the same round, and hold nothing more.",
                         detection.detection_rows, detection.detection_lines),
    "backpressure": Section("A receiver is stopped and goes on later; all then arrives.",
                            backpressure.backpressure_rows, backpressure.backpressure_lines),
}


class Bench:
    """What the sections share."""

    def __init__(self, options):
        self.options = options
        self.programs = Programs(options.build, options.own)

    def inner(self, rounds):
        """Rounds of one run of a program."""
        return min(rounds, 2) if self.options.quick else rounds


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sections", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--rows", help="only those whose names hold this")
    parser.add_argument("--rounds", type=int, help="turns of every program; 5, or 2 if quick")
    parser.add_argument("--trials", type=int, 
                        help="of each phase in detection; 100, or 3 if quick")
    parser.add_argument("--steps", type=int, default=705, help="of whole training runs")
    parser.add_argument("--weights", type=int, help="of the DGC exchange; else 25 million")
    parser.add_argument("--rate", default="1gbit", help="of the sections wire and dgc")
    parser.add_argument("--burst", type=int, help="bytes that an idle link sends at once")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it works")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "bench_network")
    parser.add_argument("--own", type=pathlib.Path, help="folder of sotto's programs, built")
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--resume", action="store_true", help="leaves out what has a result")
    parser.add_argument("--table", action="store_true",
                        help="measures nothing: makes a table of the results' folder")
    parser.add_argument("--table-file", type=pathlib.Path,
                        default=ROOT / "bench" / "results" / "network.md")
    options = parser.parse_args()
    options.rounds = options.rounds or (2 if options.quick else 5)
    options.trials = options.trials or (3 if options.quick else 100)
    options.build = options.build.resolve()
    options.results = options.results or options.build / "results"
    if "end_to_end" in options.sections and not options.table and "SOTTO_DATA" not in os.environ:
        parser.error("set SOTTO_DATA to a folder that holds mnist/, cifar10-sample/ and "
                     "tinyshakespeare/, or leave out the section end_to_end")
    return options


def command_of(options, section):
    words = ["bench/network/network.py", "--sections", section, "--rounds", options.rounds]
    matter = {"wire": ("rate", "burst"), "dgc": ("rate", "burst", "weights"),
              "end_to_end": ("burst", "steps"), "detection": ("trials",)}
    for name in matter.get(section, ()):
        if getattr(options, name) is not None:
            words += [f"--{name}", getattr(options, name)]
    return shlex.join(map(str, words + (["--quick"] if options.quick else [])))


@functools.cache
def machine():
    with open("/proc/cpuinfo") as file:
        names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]

    def version(package):
        told = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package],
                              capture_output=True, text=True, check=False)
        return told.stdout if told.returncode == 0 else "none"
    return {"processor": names[0] if names else "unknown", "processors": os.cpu_count(),
            "kernel": platform.release(),
            "peers": f"Gloo {version('libgloo-dev')}, Open MPI {version('openmpi-bin')}, "
                     f"PyTorch {version('python3-torch')}"}


def row_path(options, section, name):
    return options.results / f"{section}, {name}.json".replace(", ", "_").replace(" ", "_")


def measure(options):
    bench = Bench(options)
    options.results.mkdir(parents=True, exist_ok=True)
    for section in options.sections:
        print(f"{section}:  {command_of(options, section)}", flush=True)
        for name, function in SECTIONS[section].rows(bench):
            path = row_path(options, section, name)
            if (options.rows and options.rows not in name) or (options.resume and path.exists()):
                continue
            print(f"  {datetime.datetime.now():%H:%M:%S} {name}", flush=True)
            load = os.getloadavg()[0]
            found = function()
            rows.write(path, machine() | {
                "section": section, "row": name, "load": load,
                "date": datetime.date.today().isoformat(),
                "command": command_of(options, section)} | found)
            # Of this row alone: what a later one will be compared with may not be there yet.
            for line in SECTIONS[section].lines({name: found}):
                if line:
                    verdict = {None: "", True: "  met", False: "  MISSED"}[line["met"]]
                    print(f"    {line['case']:34} {line['what']:52} "
                          f"{table.digits(line['ratio'])}{line['unit']}  {table.bound(line)}"
                          f"{verdict}", flush=True)


def stored(options):
    """{section: {row: what was found}}, in the order in which they are measured."""
    bench = Bench(options)
    found = {}
    for section, what in SECTIONS.items():
        found[section] = {}
        for name, _ in what.rows(bench):
            path = row_path(options, section, name)
            if path.exists():
                found[section][name] = json.loads(path.read_text())
    return found


def main():
    options = arguments()
    if options.table:
        missed = table.write(options.table_file, SECTIONS, stored(options))
        print(f"{options.table_file}: {missed} missed")
        return
    namespaces.own_user_namespace()
    namespaces.end_on_signals()
    measure(options)


if __name__ == "__main__":
    main()
