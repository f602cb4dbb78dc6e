#!/usr/bin/env python3
"""compile_lines.py ROOT COMPILER [FLAGS]...

What a user's source compiles is bounded: the lines that are left of it after preprocessing, but for blank ones, where
definitions are compiled elsewhere and where they are not. Headers that cost much and that no declaration needs must not
be among them. Nothing is timed: see bench/compile for that. A bound that is far too large fails, too: lower it.
"""

import pathlib
import re
import subprocess
import sys

# What no declaration needs, by how its path ends.
FORBIDDEN = ("/immintrin.h", "/ranges", "/regex", "/random", "/filesystem", "/iostream", "/fstream",
             "/xxhash.h", "/xtensor/xtensor.hpp", "/nlohmann/json.hpp", "/openssl/ssl.h")
THREADS = ("/future", "/mutex", "/thread", "/condition_variable", "/boost/asio.hpp")
SLACK = 1.15  # how much more a bound may allow than there is

# Source, whether it does without threads, and the lines of sotto at most with declarations alone and with all
# definitions.
PROGRAMS = {
    "#include <sotto/sotto.hpp>\n": (True, 18500, 36500),
    "#include <sotto/sotto.hpp>\n#include <sotto/models.hpp>\n": (True, 19700, 39000),
    "#include <sotto/transports/tcp.hpp>\n": (True, 830, 8000),
    "#include <sotto/transports/tcp_tls.hpp>\n": (False, 190, 1600),
    "#include <sotto/checkpoint/saved_model.hpp>\n": (True, 230, 4400),
}

LINE = re.compile(r'^# \d+ "([^"]*)"')


def lines_of(root, compiler, flags, source):
    """The lines of sotto's own headers, and the paths of all headers."""
    ran = subprocess.run([compiler, *flags, "-E", "-x", "c++", "-"], input=source, text=True, cwd=root,
                         stdout=subprocess.PIPE, check=True)
    count, paths, own = 0, set(), False
    for line in ran.stdout.splitlines():
        if marker := LINE.match(line):
            paths.add(marker[1])
            own = "include/sotto/" in marker[1]
        elif own and line.strip():
            count += 1
    return count, paths


def main(root, compiler, *flags):
    root = pathlib.Path(root)
    faults = 0
    for source, (alone, *bounds) in PROGRAMS.items():
        shown = " and ".join(re.findall(r"<(.*?)>", source))
        for mode, bound in zip((["-DSOTTO_SEPARATE_COMPILATION"], []), bounds):
            count, paths = lines_of(root, compiler, [*flags, *mode], source)
            what = f"{shown}, {'declarations' if mode else 'all definitions'}"
            print(f"{what}: {count} lines, at most {bound}")
            if count > bound:
                print("  a user compiles more than before: include less, or raise the bound and say why")
                faults += 1
            elif count * SLACK < bound:
                print(f"  lower the bound, to {round(count * 1.1, -1):.0f}")
                faults += 1
            if mode:
                ends = FORBIDDEN + THREADS if alone else FORBIDDEN
                reached = sorted(path for path in paths if path.endswith(ends))
                for path in reached:
                    print(f"  reaches {path}, which no declaration needs")
                faults += len(reached)
    return faults != 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
