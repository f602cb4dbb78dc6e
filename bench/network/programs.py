"""The programs that are compared: how they are built, and run in the ranks of a network."""

import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from common.project import ROOT

HERE = pathlib.Path(__file__).resolve().parent
# Debian's, which has Debian's PyTorch and numpy.
PYTHON = "/usr/bin/python3"

# Numbers of the algorithms of Open MPI's component "tuned".
MPI_ALGORITHMS = {
    "all_reduce": {"default": 0, "recursive_doubling": 3, "ring": 4, "segmented_ring": 5,
                   "rabenseifner": 6},
    "all_gather": {"default": 0, "bruck": 2, "ring": 3, "neighbor_exchange": 4},
}
MPI_VARIABLES = {"all_reduce": "coll_tuned_allreduce_algorithm",
                 "all_gather": "coll_tuned_allgatherv_algorithm"}


def run_quietly(*command):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{done.stdout}\n{command[0]} failed")


class Programs:
    def __init__(self, build, own=None):
        self.build = build
        self.own = own
        self.is_configured = False
        build.mkdir(parents=True, exist_ok=True)

    def path(self, name):
        """One of sotto's programs, built."""
        if self.own:
            return self.own / f"bench_network_{name}"
        if not self.is_configured:
            run_quietly("cmake", "--preset", "bench", "-S", ROOT, "-B", self.build / "sotto")
            self.is_configured = True
        run_quietly("cmake", "--build", self.build / "sotto", "--target", f"bench_network_{name}")
        return self.build / "sotto" / "bench" / f"bench_network_{name}"

    def _peer(self, source, compiler, *flags):
        made = self.build / source.stem
        headers = [HERE / "timed_rounds.hpp", source]
        if not made.exists() or any(h.stat().st_mtime > made.stat().st_mtime for h in headers):
            run_quietly(compiler, "-std=c++20", "-O2", "-Wall", "-Wextra", source, "-o", made,
                        *flags)
        return made

    @functools.cached_property
    def bare(self):
        """What moves bytes and adds them, and nothing else; over loopback."""
        # Its additions are the only work of its own: for the processor at hand.
        return self._peer(HERE / "peers" / "bare_ring.cpp", os.environ.get("CXX", "g++"), "-O3",
                          "-march=native", "-pthread")

    @functools.cached_property
    def gloo(self):
        """Or None."""
        if not pathlib.Path("/usr/include/gloo/allreduce.h").exists():
            print("  without Gloo: apt-get install libgloo-dev")
            return None
        return self._peer(HERE / "peers" / "gloo_all_reduce.cpp", os.environ.get("CXX", "g++"),
                          "-lgloo", "-pthread")

    @functools.cached_property
    def mpi(self):
        """Or None."""
        if shutil.which("mpirun.openmpi") is None or shutil.which("mpicxx.openmpi") is None:
            print("  without Open MPI: apt-get install libopenmpi-dev openmpi-bin")
            return None
        return self._peer(HERE / "peers" / "mpi_all_reduce.cpp", "mpicxx.openmpi",
                          "-DOMPI_SKIP_MPICXX")

    @functools.cached_property
    def has_torch(self):
        found = subprocess.run([PYTHON, "-c", "import torch.distributed, numpy"],
                               stderr=subprocess.DEVNULL, check=False).returncode == 0
        if not found:
            print("  without PyTorch: apt-get install python3-torch python3-numpy")
        return found


def records_of(ended, name):
    """The JSON objects that the ranks printed; whoever failed ends everything."""
    failed = [rank for rank, end in enumerate(ended) if end.status != 0]
    if failed:
        raise SystemExit(f"{name}: rank {failed[0]} ended with {ended[failed[0]].status}")
    return [json.loads(line) for end in ended for line in end.lines if line.startswith("{")]


def tell_errors(_, stream, line):
    if stream == "stderr":
        print(f"    {line}", end="", file=sys.stderr, flush=True)


def run_on_all(network, command, environment=None):
    """A command as every rank; what they printed."""
    ended = network.run(command, environment, tell=tell_errors)
    return records_of(ended, pathlib.Path(str(command[0])).name)


def run_alone(command):
    """A command on this machine, outside of all networks; the JSON object that it printed."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True,
                          check=False)
    if done.returncode != 0:
        raise SystemExit(f"{pathlib.Path(str(command[0])).name} ended with {done.returncode}")
    return json.loads(done.stdout)


def run_gloo(network, program, arguments):
    with tempfile.TemporaryDirectory() as store:
        return run_on_all(network, [program, "--store", store, *arguments])


def run_mpi(network, program, operation, algorithm, arguments):
    """By mpirun in the first namespace, which starts one rank in each."""
    number = MPI_ALGORITHMS[operation][algorithm]
    interface = network.interface
    command = ["mpirun.openmpi", "-n", network.ranks, "--mca", "pml", "ob1", "--mca", "btl",
               "tcp,self", "--mca", "btl_tcp_if_include", interface, "--mca",
               "oob_tcp_if_include", interface]
    if network.is_loopback:
        command += ["--oversubscribe"]
    else:
        # Each namespace takes itself for the whole machine: ranks would be bound to the same
        # processor, and wait for each other without letting each other work.
        command += ["--host", ",".join(f"{network.address(rank)}:1"
                                       for rank in range(network.ranks)),
                    "--mca", "plm_rsh_agent", HERE / "enter.sh", "--mca",
                    "plm_rsh_no_tree_spawn", "1", "--bind-to", "none", "--mca",
                    "mpi_yield_when_idle", "1"]
    if number:
        command += ["--mca", "coll_tuned_use_dynamic_rules", "1", "--mca",
                    MPI_VARIABLES[operation], number]
    command += [program, "--operation", operation, "--algorithms", algorithm, *arguments]
    ended = network.run(command, {
        "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "SOTTO_NAMESPACES": " ".join(
            f"{network.address(rank)}={network.holder(rank).pid}"
            for rank in range(network.ranks))}, ranks=[0], tell=tell_errors)
    return records_of(ended, f"mpirun, {algorithm}")
