#!/usr/bin/env python3
"""public_border.py ROOT [TYPES_MAX]

What lies in a folder named detail is private, all else under include/sotto is public. Prints one "file: what" for each
place that breaks this:

  - a folder with more than 30 headers side by side;
  - more than TYPES_MAX (250) public types and concepts;
  - a private header that declares something outside namespace sotto::detail;
  - an example, a guide or a program of a consumer test that includes a private header;
  - a public header with bodies behind it in .ipp files that does not reach core/config.hpp without them: no linker
    would see that it is included as header-only in one unit and as compiled in another.

It reads the layout that clang-format keeps: what a namespace declares begins in the first column.
"""

import re
import sys
from pathlib import Path

HEADERS_MAX = 30
OPENED = re.compile(r"(?:inline )?namespace ([\w:]+?)?(?:(?:::)?inline SOTTO_UNIT|SOTTO_UNIT)?(?:::(\w+))? ?\{")
CLOSED = re.compile(r"\}\s+// namespace")
DECLARED = re.compile(r"(?:class|struct|union|enum class|enum)\s+(?:\[\[\w+\]\]\s*)?(?:alignas\([^)]*\)\s*)?(\w+)\b(?!\s*[;<])"
                      r"|concept (\w+) =")
INCLUDED = re.compile(r'#\s*include\s*["<](sotto/(?:[\w]+/)*detail/[^">]*)')
OURS = re.compile(r'#\s*include\s*"(sotto/[^"]*\.hpp)"')
# Namespaces that specialisations of others' templates are written in.
OTHERS = ("std", "sotto::detail", "boost")
USERS = ("README.md", "examples", "tests/consumer", "test_package", "tests/package_managers", "ports")


def scopes(text):
    """Each line of the text and the namespace that it lies in."""
    stack = []
    for line in text.splitlines():
        opened = OPENED.match(line)
        if opened:
            stack.append("::".join(part for part in opened.groups() if part))
            yield line, None
        elif CLOSED.match(line) and stack:
            stack.pop()
            yield line, None
        else:
            yield line, "::".join(part for part in stack if part)


def is_private(namespace):
    return "detail" in namespace.split("::")


def public_types(header):
    """Names of the types and concepts that a public header declares outside sotto::detail."""
    names = set()
    for line, namespace in scopes(header.read_text()):
        if namespace and namespace.startswith("sotto") and not is_private(namespace):
            declared = DECLARED.match(line)
            if declared:
                names.add((namespace, declared.group(1) or declared.group(2)))
    return names


def outside_of_detail(header):
    """The namespaces apart from sotto::detail that a private header declares something in."""
    found = set()
    for line, namespace in scopes(header.read_text()):
        if namespace and line[:1].isalpha() and not namespace.startswith(OTHERS):
            found.add(namespace)
    return sorted(found)


def reached(header, root, known):
    """The header and all others that it includes, as paths; `known` remembers."""
    if header not in known:
        known[header] = {header}
        for included in OURS.findall(header.read_text()) if header.is_file() else ():
            known[header] |= reached(root / "include" / included, root, known)
    return known[header]


def complaints(root, types_max):
    include = root / "include" / "sotto"
    headers = sorted(include.rglob("*.hpp"))
    if not headers:
        yield f"{include}: no headers"
    for folder in sorted({header.parent for header in headers}):
        count = len(list(folder.glob("*.hpp")))
        if count > HEADERS_MAX:
            yield f"{folder.relative_to(root)}: {count} headers side by side, at most {HEADERS_MAX} are allowed"
    types = set()
    known = {}
    for header in headers:
        if "detail" in header.relative_to(include).parts:
            for namespace in outside_of_detail(header):
                yield f"{header.relative_to(root)}: declares in {namespace}; a private header declares in sotto::detail"
        else:
            types |= public_types(header)
            behind = reached(header, root, known)
            if include / "core" / "config.hpp" not in behind and any(each.with_suffix(".ipp").exists() for each in behind):
                yield f"{header.relative_to(root)}: has bodies in .ipp files, but does not reach core/config.hpp without them"
    if len(types) > types_max:
        yield f"{include.relative_to(root)}: {len(types)} public types and concepts, at most {types_max} are allowed"
    for name in USERS:
        place = root / name
        files = [place] if place.is_file() else sorted(file for file in place.rglob("*") if file.is_file())
        for file in files:
            if file.suffix in (".cpp", ".hpp", ".md", ".txt", ".py"):
                for included in INCLUDED.findall(file.read_text(errors="replace")):
                    yield f"{file.relative_to(root)}: includes {included}, which is private"


def main():
    root = Path(sys.argv[1])
    found = list(complaints(root, int(sys.argv[2]) if len(sys.argv) > 2 else 250))
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
