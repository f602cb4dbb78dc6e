"""Where the parts of the project are, and how programs of the benchmarks are built."""

import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench" / "results"  # NAME.jsonl has the results of a study, NAME.md is the table of them
BUILD = ROOT / "build" / "bench"
PROGRAMS = BUILD / "bench"


def build(*programs):
    """Installs what is missing and builds programs of PROGRAMS."""
    for command in ([ROOT / "cmake" / "install_debian.sh", "bench"],
                    ["cmake", "--preset", "bench", "-S", ROOT],
                    ["cmake", "--build", BUILD, "--target", *(program.name for program in programs)]):
        is_cmake = command[0] == "cmake"
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL if is_cmake else None)
