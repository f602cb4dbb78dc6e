#!/usr/bin/env python3
"""mutations.py [OPTIONS]

Seeds faults into a copy of the sources, one at a time, and runs the test that must fail.

The lists beside this file, *.faults, name the faults. A block describes one fault:

    [name-of-the-fault]
    file: include/sotto/core/random.hpp       the source that it changes
    text: low + (high - low) * uniform()      its text there, exactly once; any run of blanks equals any other
    with: high - (high - low) * uniform()     the text that takes its place; empty: none, of a statement its ;
    test: tests/unit/core/random.cpp          the test that must fail
    case: stream: uniform*                    its test case, as doctest filters; without: all of them

A test is a source of tests/unit, contract, golden or system, a target of tests/fuzz, which runs over its corpus, or a
shell script, which gets the programs in `program:`, compiled from their sources, as arguments.

Only the test's own source is compiled. A test counts only if it passes without the fault. A fault is caught where the
test fails, crashes or hangs. A fault whose text is not there exactly once, or does not compile, is an error of the list.
Results are kept in the scratch folder, so that a run that was interrupted resumes. A result holds until the fault, the
changed source or the test's source changes.

  --check         only checks the lists, in seconds
  --only WORDS    faults whose name or list contains one of these words, which commas separate
  --shard I/N     the I-th of N parts of the faults, from 1 on
  --fresh         ignores earlier results
  --table         writes bench/results/mutations.md from all results, also those of earlier runs
  --scratch DIR   where sources are copied and results are kept; by default build/mutations
  --root DIR      the sources; by default those that this file is part of

The environment variables CXX, CXXFLAGS and LIBS replace the compiler, its flags and the libraries.
The exit status is 0 if every fault that ran was caught, 1 if one was missed, 2 if a list is wrong.
"""

import argparse
import dataclasses
import datetime
import fnmatch
import functools
import hashlib
import json
import os
import pathlib
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time

FIELDS = ("file", "text", "with", "test", "case", "program")
CAUGHT = ("fails", "crashes", "hangs")
KERNELS = re.compile(r"tests/(unit/(kernels|nn)|golden)/")  # tests of every instruction set
# What no fault changes and most tests include: precompiled, it halves their time.
COMMON = ("doctest/doctest.h algorithm array bit charconv chrono cmath concepts condition_variable cstdint cstring deque "
          "filesystem functional limits map memory mutex numeric optional span string string_view system_error thread "
          "tuple utility variant vector").split()
MEMORY, OUTPUT = 12 << 30, 1 << 30  # bytes that a test with a fault may take, and may write to a file


class WrongList(Exception):
    """A list of faults that does not match the sources."""


@dataclasses.dataclass(frozen=True)
class Fault:
    """One change of one source, and the test that must fail."""

    list: str
    line: int
    name: str
    fields: tuple

    def __getattr__(self, name):
        return dict(self.fields).get({"replacement": "with"}.get(name, name), "")

    @property
    def test_key(self):
        return self.test, self.case, self.program

    def pattern(self):
        return re.compile(r"\s+".join(re.escape(word) for word in self.text.split()))

    def applied(self, source):
        """The text of the source with this fault."""
        found = [match.span() for match in self.pattern().finditer(source)]
        if len(found) != 1:
            raise WrongList(f"{self.list}:{self.line}: [{self.name}]: {self.file} has the text {len(found)} times, "
                            f"expected once: {self.text}")
        begin, end = found[0]
        # What is left of a statement is an empty one, so that an if before it governs nothing else.
        replacement = self.replacement or (";" if self.text.endswith(";") else "")
        return source[:begin] + replacement + source[end:]


def read_list(path):
    faults, name, line, fields = [], None, 0, {}

    def complete():
        if name is None:
            return
        lacking = [field for field in ("file", "text", "with", "test") if field not in fields]
        if lacking:
            raise WrongList(f"{path.name}:{line}: [{name}]: lacks {', '.join(lacking)}")
        faults.append(Fault(path.name, line, name, tuple(fields.items())))

    for number, raw in enumerate(path.read_text().splitlines(), 1):
        text = raw.strip()
        if not text or text.startswith("#"):
            continue
        if text.startswith("[") and text.endswith("]"):
            complete()
            name, line, fields = text[1:-1], number, {}
            continue
        key, colon, value = text.partition(":")
        if name is None or not colon or key not in FIELDS or key in fields:
            raise WrongList(f"{path.name}:{number}: expected [name] or one of {', '.join(FIELDS)}, each once: {text}")
        fields[key] = value.strip()
    complete()
    return faults


def case_names(source):
    """The names of a source's test cases."""
    calls = re.findall(r'TEST_CASE(?:_TEMPLATE_DEFINE|_TEMPLATE)?\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)', source)
    return ["".join(re.findall(r'"((?:[^"\\]|\\.)*)"', call)).replace('\\"', '"') for call in calls]


def check(root, faults):
    """Raises WrongList where faults do not match the sources; names each of these."""
    seen, wrong = {}, []
    for fault in faults:
        where = f"{fault.list}:{fault.line}: [{fault.name}]"
        if fault.name in seen:
            wrong.append(f"{where}: {seen[fault.name]} has the same name")
        seen[fault.name] = f"{fault.list}:{fault.line}"
        missing = [each for each in (fault.file, fault.test, *fault.program.split()) if not (root / each).is_file()]
        if missing:
            wrong.append(f"{where}: no file {', '.join(missing)}")
            continue
        source = (root / fault.file).read_text()
        try:
            if fault.applied(source) == source:
                wrong.append(f"{where}: the fault changes nothing")
        except WrongList as why:
            wrong.append(str(why))
        if fault.case and not any(fnmatch.fnmatchcase(name, fault.case.replace("[", "[[]"))
                                  for name in case_names((root / fault.test).read_text())):
            wrong.append(f"{where}: {fault.test} has no test case '{fault.case}'")
    if wrong:
        raise WrongList("\n".join(wrong))


def is_stopped(process):
    """Whether somebody halted a process, by SIGSTOP as well."""
    try:
        return pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] in "Tt"
    except OSError:
        return False


def wait_for(process, seconds):
    """The exit status of a process; None after so many seconds, without those in which it or this one was halted."""
    step, looked = 0.5, time.monotonic()
    while seconds > 0:
        try:
            return process.wait(step)
        except subprocess.TimeoutExpired:
            now = time.monotonic()
            seconds -= 0 if is_stopped(process) else min(now - looked, 10 * step)
            looked = now
    return None


class Runner:
    """Compiles and runs tests in a copy of the sources."""

    def __init__(self, root, scratch):
        self.root = root
        self.scratch = scratch
        self.tree = scratch / "tree"
        self.built = scratch / "built"
        self.compiler = shlex.split(os.environ.get("CXX", "")) or [shutil.which("clang++") or "g++"]
        self.flags = shlex.split(os.environ.get("CXXFLAGS", "-O0 -w"))
        self.libs = shlex.split(os.environ.get("LIBS", "-pthread -lssl -lcrypto -lopenblas -lz"))
        self.baselines = {}
        self.environment = dict(os.environ, OPENBLAS_NUM_THREADS="1", CCACHE_BASEDIR=str(self.tree),
                                CCACHE_NOHASHDIR="1")
        ccache = shutil.which("ccache")
        self.compile_by = ([ccache] if ccache else []) + self.compiler
        self.copy()

    def copy(self):
        for folder in ("include", "tests", "examples"):
            if not (self.root / folder).is_dir():
                continue
            kept = set()
            for source in (self.root / folder).rglob("*"):
                if not source.is_file():
                    continue
                name = source.relative_to(self.root)
                kept.add(name)
                target = self.tree / name
                content = source.read_bytes()
                if not target.is_file() or target.read_bytes() != content:
                    target.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(source, target)
            for target in (self.tree / folder).rglob("*"):
                if target.is_file() and target.relative_to(self.tree) not in kept:
                    target.unlink()
        self.built.mkdir(parents=True, exist_ok=True)

    def run(self, command, seconds, limited=False):
        """The exit status of a command, None if it took longer, and the end of its output."""

        def limit():
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if limited:
                resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
                resource.setrlimit(resource.RLIMIT_FSIZE, (OUTPUT, OUTPUT))

        log = self.scratch / "output"
        with open(log, "wb") as output:
            process = subprocess.Popen(command, cwd=self.tree, env=self.environment, stdin=subprocess.DEVNULL,
                                       stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
                                       preexec_fn=limit)
            try:
                status = wait_for(process, seconds)
            finally:
                try:  # also what the test started and left behind
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                process.wait()
        with open(log, "rb") as output:
            output.seek(max(0, log.stat().st_size - 20000))
            return status, output.read().decode(errors="replace")

    def object_of(self, source):
        """Compiles one source; its object, or None and what the compiler says."""
        target = self.built / (source.replace("/", "_") + ".o")
        definitions = [] if KERNELS.match(source) else ["-DSOTTO_BASELINE_ONLY"]
        text = (self.tree / source).read_text()
        tests = "<doctest/" in text and "CONFIG_IMPLEMENT" not in text
        common = ["-include-pch", self.precompiled()] if tests and self.precompiled() else []
        status, said = self.run([*(self.compiler if common else self.compile_by), "-std=c++20", *self.flags,
                                 *definitions, *common, "-Iinclude", "-Itests", "-c", source, "-o", str(target)], 1200)
        return (target, "") if status == 0 else (None, said)

    @functools.cache
    def precompiled(self):
        """The file of precompiled headers; empty if the compiler has none of this kind."""
        header, target = self.built / "common.hpp", self.built / "common.pch"
        header.write_text("".join(f"#include <{name}>\n" for name in COMMON))
        status, _ = self.run([*self.compiler, "-std=c++20", *self.flags, "-x", "c++-header", str(header), "-o",
                              str(target)], 600)
        version = self.run([*self.compiler, "--version"], 60)[1]
        return str(target) if status == 0 and "clang" in version else ""

    def program_of(self, name, sources, fresh):
        """Links a program; its path, or None and why not. Compiles again only the sources in `fresh`."""
        objects = []
        for source in sources:
            target = self.built / (source.replace("/", "_") + ".o")
            if source in fresh or not target.is_file():
                target, said = self.object_of(source)
                if not target:
                    return None, said
            objects.append(str(target))
        program = self.built / name
        status, said = self.run([*self.compiler, *objects, "-o", str(program), *self.libs], 600)
        return (program, "") if status == 0 else (None, said)

    def build(self, fault):
        """The command that runs the test, or None and why it was not built."""
        if fault.test.endswith(".sh"):
            programs = []
            for source in fault.program.split():
                program, said = self.program_of(pathlib.Path(source).stem, [source], [source])
                if not program:
                    return None, said
                programs.append(str(program))
            return ["sh", fault.test, *programs], ""
        name = fault.test.replace("/", "_").removesuffix(".cpp")
        if fault.test.startswith("tests/fuzz/"):
            main = ["tests/fuzz/replay.cpp"]
            corpus = "tests/fuzz/corpus/" + pathlib.Path(fault.test).stem
            arguments = [corpus]
        else:
            support = sorted((self.tree / "tests/support").glob("*.cpp"))
            main = ["tests/unit/main.cpp", *(str(each.relative_to(self.tree)) for each in support)]
            # In a doctest filter a comma begins another one.
            arguments = ["--abort-after=1"]
            if fault.case:
                arguments.append("--test-case=" + fault.case.replace(",", "?"))
        program, said = self.program_of(name, [fault.test, *main], [fault.test])
        return ([str(program), *arguments], "") if program else (None, said)

    def passes(self, fault):
        """Whether the test passes without the fault, and the seconds it takes; else why not."""
        if fault.test_key not in self.baselines:
            command, said = self.build(fault)
            if not command:
                self.baselines[fault.test_key] = False, f"does not compile without the fault:\n{said[-3000:]}"
            for attempt in range(2 if command else 0):  # a busy machine fails what waits for time
                begun = time.monotonic()
                status, said = self.run(command, 600)
                if status == 0 and not re.search(r"test cases: +0 ", said):
                    self.baselines[fault.test_key] = True, time.monotonic() - begun
                    break
                self.baselines[fault.test_key] = False, f"fails without the fault:\n{said[-3000:]}"
        return self.baselines[fault.test_key]

    def outcome(self, fault):
        """What the test does with the fault, and what it prints."""
        passed, seconds = self.passes(fault)
        if not passed:
            return "wrong: its test does not pass", seconds
        source = self.tree / fault.file
        whole = source.read_text()
        source.write_text(fault.applied(whole))
        try:
            command, said = self.build(fault)
            if not command:
                return "wrong: does not compile", said[-3000:]
            limit = max(60.0, 20 * seconds)
            status, said = self.run(command, limit, limited=True)
            if status is None:  # a busy machine is slow once
                status, said = self.run(command, limit, limited=True)
        finally:
            source.write_text(whole)
        if status is None:
            return "hangs", said
        if status == 0:
            return "missed", said
        return ("crashes" if status < 0 else "fails"), said


def digest_of(root, fault):
    known = hashlib.sha256(repr((fault.name, fault.fields)).encode())
    for name in (fault.file, fault.test):
        known.update((root / name).read_bytes())
    return known.hexdigest()


def results_of(scratch):
    """All results so far, the last of each fault, by name."""
    found = {}
    for path in sorted(scratch.glob("results*.jsonl")):
        for line in path.read_text().splitlines():
            result = json.loads(line)
            if result["name"] not in found or found[result["name"]]["time"] <= result["time"]:
                found[result["name"]] = result
    return found


def processor():
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return "unknown processor"


def commit_of(root):
    try:
        return subprocess.run(["git", "describe", "--always", "--dirty"], cwd=root, text=True, check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def table(root, faults, results):
    """The text of bench/results/mutations.md."""
    held = {f.name: results[f.name] for f in faults
            if f.name in results and results[f.name]["digest"] == digest_of(root, f)}
    rows, all_caught = [], 0
    for name in sorted({f.list for f in faults}):
        own = [f for f in faults if f.list == name]
        ran = [held[f.name] for f in own if f.name in held]
        caught = sum(r["outcome"] in CAUGHT for r in ran)
        all_caught += caught
        kinds = [sum(r["outcome"] == kind for r in ran) for kind in CAUGHT]
        rows.append(f"| {name.removesuffix('.faults')} | {len(own)} | {caught} | {' | '.join(map(str, kinds))} | "
                    f"{sum(r['seconds'] for r in ran):.0f} |")
    missed = [f for f in faults if f.name not in held or held[f.name]["outcome"] not in CAUGHT]
    share = 100.0 * all_caught / len(faults)
    lines = ["# Seeded faults", "",
             "Each fault changes one place of one source. Its test must fail. The lists in `tests/mutations` name both.",
             "", f"**{all_caught} of {len(faults)} caught ({share:.1f} %).**", "",
             "| list | faults | caught | test fails | crashes | hangs | seconds |", "|---|---|---|---|---|---|---|",
             *rows, ""]
    for fault in missed:
        outcome = held[fault.name]["outcome"] if fault.name in held else "did not run"
        lines.append(f"- {outcome}: `{fault.name}` ({fault.file}, {fault.test})")
    if missed:
        lines.append("")
    commits = sorted({r["commit"] for r in held.values()})
    dates = sorted({r["date"] for r in held.values()})
    lines += [f"{dates[-1] if dates else '-'}, commit {', '.join(commits) or '-'}. {processor()}, "
              f"{os.cpu_count()} cores.", "Command: `tests/mutations/mutations.py --table`", ""]
    return "\n".join(lines), share


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    own = pathlib.Path(__file__).resolve()
    parser.add_argument("--root", type=pathlib.Path, default=own.parent.parent.parent)
    parser.add_argument("--scratch", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--shard", default="1/1")
    for flag in ("--check", "--fresh", "--table", "--verbose"):
        parser.add_argument(flag, action="store_true")
    options = parser.parse_args()
    root = options.root.resolve()
    scratch = (options.scratch or root / "build/mutations").resolve()
    shard = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", options.shard)
    if not shard or int(shard[1]) > int(shard[2]):
        parser.error(f"--shard is {options.shard}; expected I/N, such as 1/4")
    part, parts = map(int, shard.groups())

    try:
        lists = sorted((root / "tests/mutations").glob("*.faults"))
        faults = [fault for path in lists for fault in read_list(path)]
        if not faults:
            raise WrongList(f"{root}/tests/mutations: no list names a fault")
        check(root, faults)
    except WrongList as why:
        print(why)
        return 2
    if options.check:
        print(f"{len(faults)} faults, each text is there once")
        return 0

    words = options.only.split(",")
    chosen = [f for f in faults if any(word in f.name or word in f.list for word in words)]
    # Faults of one test stay together: it is compiled without a fault once.
    chosen.sort(key=lambda fault: (fault.test, fault.case, fault.program))
    chosen = chosen[len(chosen) * (part - 1) // parts:len(chosen) * part // parts]
    if not chosen:
        parser.error(f"--only {options.only} --shard {options.shard}: no fault is left")

    work = scratch if parts == 1 else scratch / f"shard-{part}-of-{parts}"
    work.mkdir(parents=True, exist_ok=True)
    kept = scratch / ("results.jsonl" if parts == 1 else f"results-{part}-of-{parts}.jsonl")
    results = {} if options.fresh else results_of(scratch)
    # Sources may change while this runs: what is run is what is there now.
    digests, commit = {fault.name: digest_of(root, fault) for fault in chosen}, commit_of(root)
    is_known = {fault.name: fault.name in results and results[fault.name]["digest"] == digests[fault.name] and
                not results[fault.name]["outcome"].startswith("wrong") for fault in chosen}
    runner = None if all(is_known.values()) else Runner(root, work)
    counts = {"caught": 0, "missed": 0, "wrong": 0}
    for number, fault in enumerate(chosen, 1):
        result, said = results.get(fault.name), ""
        if not is_known[fault.name]:
            begun = time.monotonic()
            outcome, said = runner.outcome(fault)
            result = {"name": fault.name, "digest": digests[fault.name], "outcome": outcome, "commit": commit,
                      "seconds": round(time.monotonic() - begun, 1), "date": datetime.date.today().isoformat(),
                      "time": time.time()}
            with open(kept, "a") as out:
                out.write(json.dumps(result) + "\n")
        kind = "caught" if result["outcome"] in CAUGHT else result["outcome"].partition(":")[0]
        counts[kind] += 1
        print(f"{number}/{len(chosen)} {kind}: {fault.name} ({result['outcome']}"
              f"{', as before' if is_known[fault.name] else ''}, {result['seconds']} s)", flush=True)
        if said and (kind != "caught" or options.verbose):
            print("    " + said[-3000:].strip().replace("\n", "\n    "), flush=True)
    print(f"{counts['caught']} caught, {counts['missed']} missed, {counts['wrong']} wrong of {len(chosen)}")

    if options.table:
        text, _ = table(root, faults, results_of(scratch))
        (root / "bench/results/mutations.md").write_text(text)
    return 2 if counts["wrong"] else 1 if counts["missed"] else 0


if __name__ == "__main__":
    sys.exit(main())
