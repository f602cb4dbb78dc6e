#!/usr/bin/env python3
"""Results of many runs in one file of JSON lines, a line for each run.

    store.py add FILE NAME RESULT.json

`add` is for shell scripts. It puts the JSON value of RESULT.json into FILE under the name of its run and
sorts FILE. Python scripts use the class `Store`.

A line is {"name": NAME, ...} with the members of the run's result behind the name. A result that is not an
object, or has a member "name", is the member "result" of its line: {"name": NAME, "result": ...}."""

import contextlib
import fcntl
import fnmatch
import json
import os
import pathlib
import sys


class Store:
    """The results in one file, by the names of their runs.

    `put` appends a line at once, so an interrupted study goes on where it stopped. A later line of the same
    name replaces an earlier one. `sort` gives the file its stable order.

    Several threads, and several processes, may put results into one file: each write locks the file. A store
    knows the lines that were there when it was made, and its own. Callers must not change what `get` returns."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        if self.path.is_dir():
            raise SystemExit(f"{self.path}: this is a folder; expected a file of JSON lines")
        self._results = {}
        if self.path.exists():
            with open(self.path, "rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH)
                self._results = _parse(self.path, file.read())

    def __contains__(self, name):
        return name in self._results

    def get(self, name):
        """The result of a run, or None."""
        return self._results.get(name)

    def names(self, pattern="*"):
        """The names that match a pattern of the shell, in the order of the sorted file."""
        return sorted(name for name in list(self._results) if fnmatch.fnmatchcase(name, pattern))

    def results(self, pattern="*"):
        """The results of the runs whose names match, in the same order."""
        return [self._results[name] for name in self.names(pattern)]

    def put(self, name, result):
        """Appends a result. A number that is not finite raises ValueError: JSON has none."""
        line = _line(name, result)
        with self._locked() as file:
            _mend_end(file)
            file.write(line)
            file.flush()
        self._results.update([_entry(line)])

    def sort(self):
        """Rewrites the file with one line for each name, sorted by name."""
        if not self.path.exists():
            return
        with self._locked() as file:
            file.seek(0)
            before = file.read()
            self._results = _parse(self.path, before)
            after = b"".join(_line(name, self._results[name]) for name in self.names())
            if after != before:
                part = self.path.with_name(self.path.name + ".part")
                part.write_bytes(after)
                os.replace(part, self.path)

    @contextlib.contextmanager
    def _locked(self):
        """The open file, which no other thread or process writes meanwhile."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        while True:
            with open(self.path, "a+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                # `sort` of another process may have put a new file in place of this one.
                if os.path.samestat(os.fstat(file.fileno()), os.stat(self.path)):
                    yield file
                    return


def _line(name, result):
    """A line of the file, in bytes. Floats have the shortest text that gives the same value again."""
    is_plain = isinstance(result, dict) and "name" not in result and result.keys() != {"result"}
    entry = {"name": name, **(result if is_plain else {"result": result})}
    return json.dumps(entry, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode() + b"\n"


def _refuse_constant(constant):
    raise ValueError(f"{constant} is not JSON")


def _entry(line):
    """The name and the result of a line. Raises ValueError if the line has no such form."""
    members = json.loads(line, parse_constant=_refuse_constant)
    if not isinstance(members, dict) or not isinstance(members.get("name"), str):
        raise ValueError("it has no name")
    name = members.pop("name")
    return name, members["result"] if members.keys() == {"result"} else members


def _parse(path, data):
    """{name: result} of a file's bytes. Only a last line that a crash cut off may be wrong."""
    results = {}
    *lines, last = data.split(b"\n")
    for number, line in enumerate(lines, 1):
        try:
            results.update([_entry(line)])
        except ValueError as why:
            raise SystemExit(f'{path}:{number}: expected a JSON object that begins with {{"name": "..."; '
                             f"{why}") from None
    if last:
        try:
            results.update([_entry(last)])
        except ValueError:
            print(f"{path}:{len(lines) + 1}: this last line is cut off and does not count", file=sys.stderr)
    return results


def _mend_end(file):
    """Completes a last line that lacks only its end, and removes one that a crash cut off."""
    file.seek(0)
    data = file.read()
    last = data[data.rfind(b"\n") + 1:]
    if not last:
        return
    try:
        _entry(last)
        file.write(b"\n")
    except ValueError:
        file.truncate(len(data) - len(last))


def main():
    if len(sys.argv) != 5 or sys.argv[1] != "add":
        sys.exit("usage: store.py add FILE NAME RESULT.json")
    path, name, source = sys.argv[2:]
    try:
        result = json.loads(pathlib.Path(source).read_bytes())
    except ValueError as why:
        sys.exit(f"{source}: expected one JSON value; {why}")
    store = Store(path)
    store.put(name, result)
    store.sort()


if __name__ == "__main__":
    main()
