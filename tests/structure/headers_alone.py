#!/usr/bin/env python3
"""headers_alone.py ROOT LIST JOBS COMPILER [FLAGS]...

Every header that the file LIST names, as "include/sotto/folder/file.hpp", compiles alone. With
-DSOTTO_SEPARATE_COMPILATION among the FLAGS, one that has a body, "file.ipp", is compiled as the first of what its body
includes: so either is known to include what it needs.

Most of the time would go into what many headers include, so that some are precompiled. A header may begin with a
precompiled one that it includes itself, directly or not: all of its own text stands behind its includes, and the text
of those is compiled alone as well. JOBS compile side by side. The names of those at fault are printed, after what the
compiler says of them.
"""

import concurrent.futures
import functools
import pathlib
import re
import subprocess
import sys
import tempfile

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
LONG = re.compile(r"xtensor|boost/asio|torch/")  # of other libraries those that take longest
PRECOMPILED = 40


class Includes:
    """What the listed headers include, and what else is compiled with them."""

    def __init__(self, root, listed, with_bodies):
        self.listed, self.with_bodies = listed, with_bodies
        self.direct = {}
        files = [path.relative_to(root).as_posix() for path in (root / "include").rglob("*.[hi]pp")]
        for name in listed.union(files):
            found = INCLUDE.findall((root / name).read_text())
            self.direct[name] = ({f"include/{quoted}" for quoted, _ in found if quoted},
                                 {other for _, other in found if other})

    @functools.cache
    def own(self, name):
        """The listed headers that `name` includes, directly or not but without bodies, and itself."""
        return {name}.union(*(self.own(included) for included in self.direct[name][0] & self.listed))

    @functools.cache
    def cost(self, name):
        """About how long it takes to compile."""
        all_of_it, new = {name}, [name]
        while new:
            for included in self.direct[new.pop()][0]:
                if included in self.direct and included not in all_of_it and (
                        self.with_bodies or not included.endswith(".ipp")):
                    all_of_it.add(included)
                    new.append(included)
        others = set().union(*(self.direct[each][1] for each in all_of_it))
        return len(all_of_it) + 3 * len(others) + 60 * any(map(LONG.search, others))


def header_of(name):
    """That of a body, which must not begin with more than its header includes."""
    return name.removesuffix(".ipp") + ".hpp" if name.endswith(".ipp") else name


def beginnings(includes):
    """For each header the precompiled one that it begins with, or None: those that together save most."""
    names = sorted(includes.direct)
    begins = dict.fromkeys(names)
    saved = dict.fromkeys(names, 0)

    def gains(stem):
        cost = includes.cost(stem)
        return {name: cost - saved[name] for name in names
                if name != stem and stem in includes.own(header_of(name)) and cost > saved[name]}

    for _ in range(PRECOMPILED):
        # To write one costs more than to read the text.
        worth, stem = max((sum(gains(stem).values()) - 1.5 * includes.cost(stem), stem) for stem in names)
        if worth <= 0:
            break
        for name in gains(stem):
            begins[name] = stem
            saved[name] = includes.cost(stem)
    return begins


def main(root, listing, jobs, *compile):
    listed = set(pathlib.Path(listing).read_text().split())
    if not listed:
        sys.exit(f"{listing}: names no header")
    root = pathlib.Path(root)
    separate = "-DSOTTO_SEPARATE_COMPILATION" in compile
    begins = beginnings(Includes(root, listed, not separate))
    stems = sorted({stem for stem in begins.values() if stem})

    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(int(jobs)) as pool:

        def start(stem):
            return f"{scratch}/{stems.index(stem)}.hpp"

        def compiled(*arguments, text=""):
            # From a file that includes it: compilers warn of a #pragma once in their main file.
            return subprocess.run([*compile, *arguments], input=text, text=True, cwd=root,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

        def precompiled(stem):
            text = f'#include "{stem.removeprefix("include/")}"\n'
            pathlib.Path(start(stem)).write_text(text)
            # One that does not compile is included as text by those that begin with it.
            compiled("-x", "c++-header", start(stem), "-o", start(stem) + ".gch")

        def alone(name):
            begin = ["-include", start(begins[name])] if begins[name] else []
            return compiled(*begin, "-fsyntax-only", "-x", "c++", "-", text=f'#include "{name.removeprefix("include/")}"\n')

        list(pool.map(precompiled, stems))
        names = sorted(body if separate and (body := f"{name.removesuffix('.hpp')}.ipp") in begins else name
                       for name in listed)
        at_fault = [(name, ran.stdout) for name, ran in zip(names, pool.map(alone, names)) if ran.returncode]
    for name, said in at_fault:
        print(f"{said}{name}: does not compile alone")
    print(f"{len(listed) - len(at_fault)} of {len(listed)} headers compile alone" + " with their bodies" * separate)
    return 1 if at_fault else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
