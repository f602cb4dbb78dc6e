#!/usr/bin/env python3
"""foreign_macros.py ROOT LIST COMPILER [FLAGS]...

Every header that the file LIST names, as "include/sotto/folder/file.hpp", compiles behind the macros of
foreign_macros.hpp. All headers are one unit: first what they and their bodies (.ipp) include of other libraries, then the macros, then the
headers themselves. The number of headers is printed, or what the compiler reports.
"""

import pathlib
import re
import subprocess
import sys

DIRECTIVE = re.compile(r'^\s*#\s*(if|ifdef|ifndef|elif|else|endif|include|define)\b(.*)')


def others(text):
    """The includes of other libraries, each inside the conditions under which it stands."""
    open_conditions, found = [], []
    for line in text.splitlines():
        directive = DIRECTIVE.match(line)
        if not directive:
            continue
        word, rest = directive.groups()
        if word in ("if", "ifdef", "ifndef"):
            open_conditions.append([line])
        elif word in ("elif", "else"):
            open_conditions[-1].append(line)
        elif word == "endif":
            open_conditions.pop()
        elif word == "include" and rest.strip().startswith("<"):
            conditions = [condition for level in open_conditions for condition in level]
            found.append("\n".join([*conditions, line, *["#endif"] * len(open_conditions)]))
    return found


def main(root, listing, *compile):
    listed = pathlib.Path(listing).read_text().split()
    if not listed:
        sys.exit(f"{listing}: names no header")
    root = pathlib.Path(root)
    bodies = [path for name in listed if (path := (root / name).with_suffix(".ipp")).exists()]
    texts = [path.read_text() for path in [*(root / name for name in listed), *bodies]]
    includes = sorted({include for text in texts for include in others(text)})
    headers = [f'#include "{name.removeprefix("include/")}"' for name in sorted(listed)]
    config = ['#include "sotto/core/config.hpp"'] if (root / "include/sotto/core/config.hpp").exists() else []
    macros = pathlib.Path(__file__).with_name("foreign_macros.hpp")
    text = "\n".join([*config, *includes, f'#include "{macros}"', *headers, ""])
    ran = subprocess.run([*compile, "-fsyntax-only", "-x", "c++", "-"], input=text, text=True, cwd=root,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    print(ran.stdout, end="")
    print(f"{len(listed)} headers compile behind foreign macros" if ran.returncode == 0 else
          "rename what bears the name of a macro; write (std::min)(a, b) and (std::max)(a, b)")
    return ran.returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
