#!/usr/bin/env python3
"""reference.py XML_FOLDER

What Doxygen does not say by itself: prints one "file:line: what" for each public entity in its XML that has no
words, also of what lies in undocumented scopes, of concepts and of namespaces.
"""

import sys
import xml.etree.ElementTree as xml
from pathlib import Path

COMPOUNDS = {"class", "struct", "union", "concept", "namespace"}


def has_words(entity):
    for part in ("briefdescription", "detaileddescription"):
        found = entity.find(part)
        if found is not None and "".join(found.itertext()).strip():
            return True
    return False


def place_of(entity):
    location = entity.find("location")
    if location is None:
        return ("", 0)
    return (location.get("declfile") or location.get("file"), int(location.get("declline") or location.get("line")))


def is_internal(name):
    return any(part == "detail" or part.startswith("@") for part in name.split("::")) or name.split("::")[0] != "sotto"


def report(folder):
    lines = set()
    seen = 0
    for path in sorted(Path(folder).glob("*.xml")):
        for compound in xml.parse(path).getroot().iter("compounddef"):
            name = compound.findtext("compoundname")
            kind = compound.get("kind")
            if kind not in COMPOUNDS or is_internal(name) or compound.get("prot") == "private":
                continue
            seen += 1
            if not has_words(compound):
                lines.add((*place_of(compound), f"{kind} {name} is not documented"))
            for member in compound.iter("memberdef"):
                if member.get("prot") == "private":
                    continue
                seen += 1
                what = f"{member.get('kind')} {name}::{member.findtext('name')}"
                if member.get("kind") == "friend" and member.findtext("type") in ("friend class", "friend struct", "friend"):
                    continue
                if not has_words(member):
                    lines.add((*place_of(member), f"{what} is not documented"))
                for value in member.iter("enumvalue"):
                    seen += 1
                    if not has_words(value):
                        lines.add((*place_of(member), f"enumerator {name}::{value.findtext('name')} is not documented"))
    return lines, seen


def main():
    lines, seen = report(sys.argv[1])
    for file, line, text in sorted(lines):
        print(f"{file}:{line}: {text}")
    if seen < 100:
        print(f"{sys.argv[1]}: only {seen} entities were found")
        lines.add("few")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
