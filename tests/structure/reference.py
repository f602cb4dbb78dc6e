#!/usr/bin/env python3
"""reference.py XML_FOLDER

What Doxygen does not say by itself: prints one "file:line: what" for each public entity in its XML that has no words,
also in scopes that have none, and for each that is said to be as a concept says which does not name it.
"""

import re
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

COMPOUNDS = {"class", "struct", "union", "concept", "namespace"}
FRIENDS = {"friend", "friend class", "friend struct"}  # of a class: no entity
AS_CONCEPT = re.compile(r"As (sotto::[a-z_:]+) says\.")


def words_of(entity):
    parts = (entity.find(part) for part in ("briefdescription", "detaileddescription"))
    return " ".join("".join(part.itertext()) for part in parts if part is not None).strip()


def place_of(entity):
    location = entity.find("location")
    if location is None:
        return ("", 0)
    return (location.get("declfile") or location.get("file"), int(location.get("declline") or location.get("line")))


def is_internal(name):
    parts = name.split("::")
    return parts[0] != "sotto" or any(part == "detail" or part.startswith("@") for part in parts)


class Report:
    def __init__(self):
        self.lines = set()
        self.seen = 0
        self.concepts = {}
        self.referred = []

    def entity(self, entity, what, place=None):
        self.seen += 1
        words = words_of(entity)
        if not words:
            self.lines.add((*(place or place_of(entity)), f"{what} is not documented"))
        return words

    def compound(self, compound):
        name, kind = compound.findtext("compoundname"), compound.get("kind")
        if kind not in COMPOUNDS or is_internal(name) or compound.get("prot") == "private":
            return
        words = self.entity(compound, f"{kind} {name}")
        if kind == "concept":
            self.concepts[name] = words + "".join(compound.find("initializer").itertext())
        for member in compound.iter("memberdef"):
            kind, own = member.get("kind"), member.findtext("name")
            if member.get("prot") == "private" or (kind == "friend" and member.findtext("type") in FRIENDS):
                continue
            words = self.entity(member, f"{kind} {name}::{own}")
            if found := AS_CONCEPT.fullmatch(words):
                self.referred.append((member, f"{name}::{own}", own, found[1]))
            for value in member.iter("enumvalue"):
                self.entity(value, f"enumerator {name}::{own}::{value.findtext('name')}", place_of(member))

    def check_concepts(self):
        for member, name, own, concept in self.referred:
            if not re.search(rf"\b{re.escape(own)}\b", self.concepts.get(concept, "")) and own != concept.split("::")[-1]:
                self.lines.add((*place_of(member), f"{name} is said to be as {concept} says, which does not name it"))


def main():
    report = Report()
    for path in sorted(Path(sys.argv[1]).glob("*.xml")):
        for compound in xml.parse(path).getroot().iter("compounddef"):
            report.compound(compound)
    report.check_concepts()
    for file, line, text in sorted(report.lines):
        print(f"{file}:{line}: {text}")
    print(f"{report.seen} entities, {len(report.lines)} faults")
    return 1 if report.lines or report.seen == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
