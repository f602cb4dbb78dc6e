"""How much memory a rank takes while the one that it sends to is stopped, and whether all arrives
once that one goes on."""

import functools
import json

import rows
from namespaces import Namespaces

WORK = ("messages", "sums")


def measure(bench, work):
    seconds = 3 if bench.options.quick else 60
    command = [bench.programs.path("backpressure"), "--work", work, "--seconds", seconds]
    with Namespaces(1, "loopback") as network:
        ended = network.run(command, tell=lambda _, stream, line: stream == "stderr" and print(
            f"    {line}", end="", flush=True))
    if ended[0].status != 0:
        raise SystemExit(f"bench_network_backpressure ended with {ended[0].status}")
    return json.loads(ended[0].lines[0]) | {"times": {}}


def backpressure_rows(bench):
    for work in WORK:
        yield work, functools.partial(measure, bench, work)


def backpressure_lines(found):
    for name, row in found.items():
        case = f"receiver stopped for {row['seconds']:g} s"
        line = functools.partial(rows.line, name, case)
        yield line("growth of the sender meanwhile, beside its budget",
                   (row["most"] - row["before"]) / 1e6, row["budget"] / 1e6, True, " MB")
        yield line("growth since its first message", (row["most"] - row["at_first"]) / 1e6,
                   unit=" MB")
        yield line("sent meanwhile, to the system's buffers", row["sent_meanwhile"] / 1e6,
                   unit=" MB")
