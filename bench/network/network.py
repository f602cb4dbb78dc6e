#!/usr/bin/python3
"""TCP on loopback and on shaped links, beside what the wire allows and beside Gloo, Open MPI and
PyTorch's DistributedDataParallel.

    network.py [--sections NAME...] [--rows TEXT] [--rounds N] [--results FILE] [--resume]
               [--table] [--quick]

What is missing cmake/install_debian.sh installs; peers that are not there then are left out. Each row
is a line of bench/results/network.jsonl, so an interrupted run goes on with --resume. --table makes
bench/results/network.md of those that were measured with the options it is given, and names what is
asked and was not measured. The sections end_to_end and libtorch need SOTTO_DATA, a folder with
mnist/, cifar10-sample/ and tinyshakespeare/. What it measures depends on what else the machine does:
nothing else should run."""

import argparse
import datetime
import functools
import os
import pathlib
import platform
import shlex
import subprocess
import sys
from typing import Callable, NamedTuple

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import backpressure  # noqa: E402
import collectives  # noqa: E402
import detection  # noqa: E402
import end_to_end  # noqa: E402
import exchange  # noqa: E402
import gossip  # noqa: E402
import libtorch  # noqa: E402
import namespaces  # noqa: E402
import rows  # noqa: E402
import server  # noqa: E402
import simulated  # noqa: E402
import table  # noqa: E402
from common.machine import facts, processor  # noqa: E402
from common.pages import bound  # noqa: E402
from common.project import RESULTS, ROOT  # noqa: E402
from common.store import Store  # noqa: E402
from programs import Programs  # noqa: E402


class Section(NamedTuple):
    """`rows(bench)` yields rows.Row; `lines(found)` what became of them beside what is asked, of
    {name: what is known of the row, and what was found if it was measured}."""

    about: str
    rows: Callable
    lines: Callable


SECTIONS = {
    "loopback": Section(
        f"Dense all-reduce on loopback. {collectives.TURNS} {collectives.CHECKED} "
        f"{collectives.BARE} {collectives.LEFT_OUT}",
        collectives.loopback_rows, collectives.loopback_lines),
    "wire": Section(
        "Dense all-reduce and all-gather on shaped links, beside the wire's floor. "
        f"{collectives.TURNS} {collectives.CHECKED} {collectives.LEFT_OUT} Of Open MPI's "
        "all-gathers linear, a gather and then a broadcast, and two_proc are left out. Its ranks "
        "are bound to no processor, and let others work while they wait (mpi_yield_when_idle).",
        collectives.wire_rows, collectives.wire_lines),
    "dgc": Section(exchange.ABOUT, exchange.dgc_rows, exchange.dgc_lines),
    "gossip": Section(gossip.ABOUT, gossip.gossip_rows, gossip.gossip_lines),
    "simulated": Section(simulated.ABOUT, simulated.simulated_rows, simulated.simulated_lines),
    "end_to_end": Section(end_to_end.ABOUT, end_to_end.end_to_end_rows,
                          end_to_end.end_to_end_lines),
    "libtorch": Section(libtorch.ABOUT, libtorch.libtorch_rows, libtorch.libtorch_lines),
    "detection": Section(detection.ABOUT, detection.detection_rows, detection.detection_lines),
    "backpressure": Section(backpressure.ABOUT, backpressure.backpressure_rows,
                            backpressure.backpressure_lines),
    "server": Section(server.ABOUT, server.server_rows, server.server_lines),
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
    parser.add_argument("--weights", type=int, help="of dgc, gossip and simulated; else 25 million")
    parser.add_argument("--rate", default="1gbit", help="of the sections wire, dgc, gossip and simulated")
    parser.add_argument("--burst", type=int, help="bytes that an idle link sends at once")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it works")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "bench_network")
    parser.add_argument("--own", type=pathlib.Path, help="folder of sotto's programs, built")
    parser.add_argument("--results", type=pathlib.Path,
                        help="file; bench/results/network.jsonl, or of the build if quick")
    parser.add_argument("--resume", action="store_true", help="leaves out what has a result")
    parser.add_argument("--table", action="store_true",
                        help="measures nothing: makes a table of the results' file")
    parser.add_argument("--table-file", type=pathlib.Path, help="beside the results' file")
    options = parser.parse_args()
    options.rounds = options.rounds or (2 if options.quick else 5)
    options.trials = options.trials or (3 if options.quick else 100)
    options.build = options.build.resolve()
    # What was only tried is not to be taken for what was measured.
    kept = options.build if options.quick else RESULTS
    options.results = (options.results or kept / "network.jsonl").resolve()
    options.table_file = options.table_file or kept / "network.md"
    if (not options.table and "SOTTO_DATA" not in os.environ and
            not {"end_to_end", "libtorch"}.isdisjoint(options.sections)):
        parser.error("set SOTTO_DATA to a folder that holds mnist/, cifar10-sample/ and "
                     "tinyshakespeare/, or leave out the sections end_to_end and libtorch")
    return options


# The options that a section's rows depend on.
MATTER = {"wire": ("rate", "burst"), "dgc": ("rate", "burst", "weights"), "gossip": ("rate", "burst", "weights"),
          "simulated": ("rate", "burst", "weights"),
          "end_to_end": ("burst", "steps"), "libtorch": ("burst",), "detection": ("trials",)}


def command_of(options, section=None):
    """That measures a section; without one, that makes the table of all. Folders of this machine
    are nobody else's."""
    environment = [f"{name}={os.environ[name]}" for name in ("OPENBLAS_CORETYPE",)
                   if section and name in os.environ]
    if section in ("end_to_end", "libtorch"):
        environment.insert(0, "SOTTO_DATA=FOLDER")
    words = ["bench/network/network.py"]
    words += ["--sections", section, "--rounds", options.rounds] if section else ["--table"]
    matter = MATTER.get(section, ()) if section else sum(MATTER.values(), ())
    for name in dict.fromkeys(matter):
        if getattr(options, name) is not None:
            words += [f"--{name}", getattr(options, name)]
    if section and options.own:
        words += ["--own", "FOLDER"]
    return " ".join([*environment, shlex.join(map(str, words + (["--quick"] if options.quick
                                                                 else [])))])


def git(*words):
    """Its answer; None outside of a clone."""
    done = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def commit():
    """That programs are built of; the results themselves may be another one's."""
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!bench/results")
    return (git("rev-parse", "--short=10", "HEAD") or "unknown") + ("-dirty" if changed else "")


@functools.cache
def machine():
    """See rows.MACHINE."""
    first = facts()

    def version(package):
        told = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package],
                              capture_output=True, text=True, check=False)
        return told.stdout if told.returncode == 0 else "none"
    # A virtual machine's processor may have a name that says little.
    return {"processor": f"{processor()} (family {first.get('cpu family', '?')}, "
                         f"model {first.get('model', '?')})",
            "processors": os.cpu_count(), "kernel": platform.release(),
            "peers": f"Gloo {version('libgloo-dev')}, Open MPI {version('openmpi-bin')}, "
                     f"PyTorch {version('python3-torch')}"}


def run_name(section, name):
    """The name of a row's line in the results."""
    return f"{section}, {name}".replace(", ", "_").replace(" ", "_")


def read(store, options, section, row):
    """What is stored of a row; None where nothing is, or of something else than what is asked."""
    name = run_name(section, row.name)
    found = store.get(name)
    if found is None or rows.is_of(found, row.about | {"quick": options.quick}):
        return found
    print(f"  {name} was measured with other options: {found['command']}", file=sys.stderr)
    return None


def tell(lines):
    """Figures alone: what a row is compared with may come later."""
    for line in lines:
        if line and line["value"] is not None:
            print(f"    {line['case']:34} {line['what']:52} {table.figure(line)}  "
                  f"{bound(line)}  {table.verdict(line)}".rstrip(), flush=True)


def measure(store, options):
    bench = Bench(options)
    for section in options.sections:
        print(f"{section}:  {command_of(options, section)}", flush=True)
        for row in SECTIONS[section].rows(bench):
            if options.rows and options.rows not in row.name:
                continue
            known = read(store, options, section, row) if options.resume else None
            if known:
                print(f"  there already, of commit {known['commit']}: {row.name}", flush=True)
                continue
            print(f"  {datetime.datetime.now():%H:%M:%S} {row.name}", flush=True)
            provenance = machine() | {
                "section": section, "row": row.name, "quick": options.quick,
                "load": os.getloadavg()[0], "commit": commit(),
                "date": datetime.date.today().isoformat(), "command": command_of(options, section)}
            found = row.measure()
            if found is None:
                continue
            found = provenance | row.about | found
            store.put(run_name(section, row.name), found)
            tell(SECTIONS[section].lines({row.name: found}))
    store.sort()


def stored(store, options):
    """{section: {row: what is known of it, and what was found}}, in the order in which they are
    measured."""
    bench = Bench(options)
    return {section: {row.name: read(store, options, section, row) or row.about
                      for row in what.rows(bench)}
            for section, what in SECTIONS.items()}


def install():
    """What is missing, where that is possible: before this program makes itself root of nothing but
    a namespace, in which nothing can be installed."""
    script = ROOT / "cmake" / "install_debian.sh"
    if subprocess.run([script, "bench"], check=False).returncode != 0:
        sys.exit("with SOTTO_INSTALL=no it measures what it can without them")
    os.environ["SOTTO_INSTALL"] = "no"


def main():
    options = arguments()
    store = Store(options.results)
    if options.table:
        others = table.write(options.table_file, SECTIONS, stored(store, options),
                             command_of(options))
        print(f"{options.table_file}: {others} missed or not measured")
        return
    install()
    namespaces.own_user_namespace()
    namespaces.end_on_signals()
    measure(store, options)


if __name__ == "__main__":
    main()
