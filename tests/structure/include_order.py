#!/usr/bin/env python3
"""include_order.py ROOT

Header-only, a header ends with its body, which may include headers that include that one. Whichever public header is
included first, a file must stand behind the declarations of all headers that it includes. Follows the includes of each
public header as a compiler does, and prints each file that stands too early, and for which header.
"""

import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*"(sotto/[^"]+)"', re.MULTILINE)
COMPILED = re.compile(r"^#ifdef SOTTO_SEPARATE_COMPILATION$.*?^#(?:else|endif)", re.MULTILINE | re.DOTALL)


def included_by(root):
    """The files that each file includes, in order."""
    folder = root / "include"
    return {path.relative_to(folder).as_posix(): INCLUDE.findall(COMPILED.sub("", path.read_text()))
            for path in sorted(folder.rglob("*.[hi]pp"))}


def too_early(includes, first):
    """(file, header) where a file stands before the declarations of a header that it includes, if `first` is included
    first."""
    seen, undeclared, found = set(), set(), []

    def enter(name):
        seen.add(name)
        body = name.removesuffix(".hpp") + ".ipp" if name.endswith(".hpp") else None
        if body:
            undeclared.add(name)
        for included in includes.get(name, []):
            if included == body:
                undeclared.discard(name)  # its body comes last
            if included in undeclared:
                found.append((name, included))
            if included not in seen:
                enter(included)
        undeclared.discard(name)

    enter(first)
    return found


def main(root):
    includes = included_by(pathlib.Path(root))
    public = [name for name in includes
              if name.endswith(".hpp") and "/detail/" not in name and not name.startswith("sotto/src")]
    if not public:
        sys.exit(f"{root}: has no public header")
    at_fault = {}
    for first in public:
        for place in too_early(includes, first):
            at_fault.setdefault(place, first)
    for (name, header), first in sorted(at_fault.items()):
        print(f"include/{name}: stands before the declarations of {header} if {first} is included first")
    print(f"{len(public)} public headers, {len(at_fault)} places too early")
    return 1 if at_fault else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
