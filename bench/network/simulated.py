"""What the simulated network predicts beside what shaped links measured, and what a thousand ranks
cost to simulate."""

import functools
import statistics

import rows
from common.pages import grouped, quotient
from namespaces import Namespaces, bits_per_second
from programs import run_alone, run_on_all

WEIGHTS = 25_000_000
MANY_RANKS = 1000
# Of memory, for each value that is added: two are read and one is written.
SUMMED = 12
DENSE, DGC = "sotto ring", "sotto DGC"
EXCHANGES = {DENSE: "dense", DGC: "dgc"}

ABOUT = (
    "A dense step, a sum of all weights around a ring, and a step of DGC at 0.1 %: as the "
    "simulated network predicts them from sizes alone, and as they were measured on shaped "
    "links. A line carries 1448 bytes of 1514, as the shaper counts them, and has 50 us to the "
    "switch. What ranks compute is measured beforehand, on loopback, by as many ranks at once "
    "on the same processors: bytes of memory a second of a dense sum, 12 for each value added; "
    "the seconds of the slowest rank of a round for selecting, encoding and decoding, and for "
    "applying. Nothing is fitted to the shaped links. Programs took turns, on loopback and on "
    "shaped links; a turn's figure is the median over its rounds of the slowest rank, and the "
    "median over turns counts. Of a thousand ranks only sums are charged, at 10 GB/s. DGC is by "
    "all_gather, as published, throughout: what the strategy takes by default from 9 ranks on, "
    "a selection from sums, depends on content.")


def slowest(records, part):
    """Median over rounds of the slowest rank."""
    return statistics.median(max(of_round) for of_round in
                             zip(*(record[part] for record in records), strict=True))


def simulate(bench, exchange, ranks, weights, **costs):
    words = [bench.programs.path("simulated_costs"), "--exchange", exchange, "--ranks", ranks,
             "--weights", weights]
    for name, value in costs.items():
        words += [f"--{name}", value]
    return run_alone(words)


def measure(bench, ranks, rate, weights):
    size = 4 * weights
    programs = {
        DENSE: [bench.programs.path("all_reduce"), "--algorithms", "ring", "--rounds",
                bench.inner(3), "--warm-up", 1, size],
        DGC: [bench.programs.path("dgc_exchange"), "--weights", weights, "--rounds",
              bench.inner(9)]}
    times, parts = rows.Times(), {"compressing": [], "applying": []}
    bytes_sent = []
    with Namespaces(ranks, "loopback") as alone, \
            Namespaces(ranks, rate, bench.options.burst) as shaped:
        contestants = [functools.partial(lambda *found: found, name, place, network)
                       for name in programs for place, network in (("loopback", alone),
                                                                   (rate, shaped))]
        for name, place, network in rows.in_turns(bench.options.rounds, contestants):
            records = run_on_all(network, programs[name])
            times.add_runs(place, records)
            if name == DGC and network is alone:
                for part, found in parts.items():
                    found.append(slowest(records, part))
            elif name == DGC:
                bytes_sent += [record["bytes_sent"] for record in records]
    alone = rows.medians({"times": times.times}, f"loopback {size}")
    costs = {"memory": SUMMED * weights * (ranks - 1) / ranks / alone[DENSE],
             "select": statistics.median(parts["compressing"]),
             "apply": statistics.median(parts["applying"])}
    costs_and_rate = costs | {"rate": bits_per_second(rate)}
    simulated = {name: simulate(bench, exchange, ranks, weights, **costs_and_rate)
                 for name, exchange in EXCHANGES.items()}
    return {"times": times.times, "costs": costs, "simulated": simulated,
            "bytes_sent": statistics.median(bytes_sent)}


def measure_many(bench, ranks, weights):
    return {"simulated": {name: simulate(bench, exchange, ranks, weights)
                          for name, exchange in EXCHANGES.items()}}


def simulated_rows(bench):
    rate, quick = bench.options.rate, bench.options.quick
    weights = bench.options.weights or (1_000_000 if quick else WEIGHTS)
    for ranks in (2, 4):
        yield rows.Row(f"{ranks} ranks, {rate}", {"ranks": ranks, "rate": rate, "weights": weights},
                       functools.partial(measure, bench, ranks, rate, weights))
    many = 100 if quick else MANY_RANKS
    yield rows.Row(f"{grouped(many)} ranks", {"ranks": many, "weights": weights},
                   functools.partial(measure_many, bench, many, weights))


def predicted(found):
    """The vote is part of an exchange by DGC, as it is of what was measured."""
    return found.get("with_vote" if found.get("exchange") == "dgc" else "seconds")


def deviation(value, from_that):
    """In percent; None where either is missing."""
    off = quotient(value, from_that)
    return None if off is None else 100 * abs(off - 1)


def prediction_lines(name, row):
    median = rows.medians(row, f"{row['rate']} {4 * row['weights']}")
    for what in (DENSE, DGC):
        line = functools.partial(rows.line, name, f"{what}, {grouped(row['weights'])} weights")
        seconds = predicted(row.get("simulated", {}).get(what, {}))
        yield line("predicted", rows.scaled(1e3, seconds), unit=" ms")
        yield line("measured", rows.scaled(1e3, median.get(what)), unit=" ms")
        yield line("predicted is off by", deviation(seconds, median.get(what)), 15, True, " %")
    line = functools.partial(rows.line, name, f"{DGC}, {grouped(row['weights'])} weights")
    yield line("sent by a rank, predicted / measured", quotient(
        row.get("simulated", {}).get(DGC, {}).get("bytes_a_rank"), row.get("bytes_sent")))
    costs = row.get("costs", {})
    yield line("charged for compressing and decoding", rows.scaled(1e3, costs.get("select")),
               unit=" ms")
    yield line("charged for applying", rows.scaled(1e3, costs.get("apply")), unit=" ms")
    yield rows.line(name, DENSE, "charged for sums, of memory",
                    rows.scaled(1e-9, costs.get("memory")), unit=" GB/s")


def cost_lines(name, row):
    for what in (DENSE, DGC):
        found = row.get("simulated", {}).get(what, {})
        line = functools.partial(rows.line, name, f"{what}, {grouped(row['weights'])} weights")
        yield line("real time to simulate a step", found.get("real_seconds"), 60, True, " s")
        yield line("of a processor's time", found.get("processor_seconds"), unit=" s")
        yield line("simulated time", predicted(found), unit=" s")
        yield line("messages", rows.scaled(1e-6, found.get("messages")), unit=" million")
        yield line("sent by a rank", rows.scaled(1e-6, found.get("bytes_a_rank")), unit=" MB")
        yield line("memory at most", rows.scaled(1e-9, found.get("peak_memory")), unit=" GB")


def simulated_lines(found):
    for name, row in found.items():
        yield from (prediction_lines if "rate" in row else cost_lines)(name, row)
