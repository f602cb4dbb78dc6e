"""How much memory a rank takes while the one that it sends to is stopped, and whether all arrives
once that one goes on."""

import functools
import json

import rows
from namespaces import Namespaces
from programs import tell_errors

WORK = ("messages", "sums")
SECONDS = 60
BUDGET = 16 << 20  # tcp_options::budget, by default
ABOUT = ("A receiver is stopped and goes on later; all then arrives as it was sent. One run each; "
         "memory is what is resident, 20 times a second.")


def measure(bench, work, seconds):
    command = [bench.programs.path("backpressure"), "--work", work, "--seconds", seconds,
               "--budget", BUDGET]
    with Namespaces(1, "loopback") as network:
        ended = network.run(command, tell=tell_errors)
    if ended[0].status != 0:
        raise SystemExit(f"bench_network_backpressure ended with {ended[0].status}")
    return json.loads(ended[0].lines[0])


def backpressure_rows(bench):
    seconds = 3 if bench.options.quick else SECONDS
    for work in WORK:
        yield rows.Row(work, {"work": work, "seconds": seconds, "budget": BUDGET},
                       functools.partial(measure, bench, work, seconds))


def growth(row, since):
    return (row["most"] - row[since]) / 1e6 if rows.is_measured(row) else None


def backpressure_lines(found):
    """What is bounded is all that the sender took since its first message: once it is blocked it
    can take no more."""
    for name, row in found.items():
        line = functools.partial(rows.line, name, f"receiver stopped for {row['seconds']:g} s")
        yield line("growth of the sender since its first message, beside its budget",
                   growth(row, "at_first"), row["budget"] / 1e6, True, " MB")
        yield line("growth while the receiver was stopped", growth(row, "before"), unit=" MB")
        yield line("sent meanwhile, to the system's buffers",
                   rows.scaled(1e-6, row.get("sent_meanwhile")), unit=" MB")
