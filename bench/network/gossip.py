"""A round of gossip beside the wire's floor and beside an all-reduce over the same links."""

import functools
import statistics

import collectives
import rows
from common.pages import grouped, quotient
from namespaces import Namespaces
from programs import run_on_all

WEIGHTS = 25_000_000
RANKS = 4
METHODS = {"all_reduce": "all-reduce", "ring": "ring", "one_peer": "one-peer exponential",
           "choco": "CHOCO on a ring, top 1 %"}
# Whole models that a rank sends in a round.
SENT = {"all_reduce": 2 * (RANKS - 1) / RANKS, "ring": 2, "one_peer": 1}
ASKED = {"ring": 1.05}

ABOUT = (
    "A step and a round of mixing of all weights, in 8 tensors: each rank steps, and mixes with its "
    "neighbours. From gradients that lie ready until all is applied; beside the strategy "
    "all_reduce, dense. A round of gossip on a ring sends two whole models a rank, no less than a "
    "ring all-reduce does: what it saves is waiting for all. Programs took turns; a turn's figure "
    "is the median over its rounds of the slowest rank, and the median over turns is here. The first "
    "two rounds are compared with a plain computation at ten thousand places, and at the end the mean "
    "over the ranks.")


def measure(bench, rate, weights):
    times, sent = rows.Times(), {}
    with Namespaces(RANKS, rate, bench.options.burst) as network:
        taking_turns = [functools.partial(run_on_all, network, [
            bench.programs.path("gossip_round"), "--method", method, "--weights", weights,
            "--rounds", bench.inner(5), "--warm-up", 2]) for method in METHODS]
        for records in rows.in_turns(bench.options.rounds, taking_turns):
            times.add_runs("round", records)
            for record in records:
                sent.setdefault(record["contestant"], []).append(record["bytes_sent"])
    return {"times": times.times,
            "sent": {method: statistics.median(found) for method, found in sent.items()}}


def gossip_rows(bench):
    rate = bench.options.rate
    weights = bench.options.weights or (1_000_000 if bench.options.quick else WEIGHTS)
    yield rows.Row(f"{RANKS} ranks, {rate}", {"rate": rate, "weights": weights},
                   functools.partial(measure, bench, rate, weights))


def gossip_lines(found):
    for name, row in found.items():
        size = 4 * row["weights"]
        median, sent = rows.medians(row, f"round {size}"), row.get("sent", {})
        for method, title in METHODS.items():
            line = functools.partial(
                rows.line, name, f"{title}, {grouped(row['weights'])} weights, {row['rate']}")
            yield line("time of a round", rows.scaled(1e3, median.get(method)), unit=" ms")
            if method in SENT:
                floor = collectives.seconds_on_wire(SENT[method] * size, row["rate"])
                yield line("time / the wire's floor", quotient(median.get(method), floor),
                           ASKED.get(method), True, "x")
            if method != "all_reduce":
                yield line("time / all-reduce's",
                           quotient(median.get(method), median.get("all_reduce")), unit="x")
            yield line("sent by a rank", rows.scaled(1e-6, sent.get(method)), unit=" MB")
