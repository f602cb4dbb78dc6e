"""A whole exchange by Deep Gradient Compression beside the dense ring over the same links, plain
and over TLS; and what ranks send where sums are selected from once more."""

import functools
import secrets
import statistics

import rows
from common.pages import grouped, quotient
from namespaces import Namespaces
from programs import run_on_all

WEIGHTS, FEW_WEIGHTS = 25_000_000, 2_500_000
FEW_RANKS, MANY_RANKS = 4, 16
COLLECTIVES = ("all_gather", "sparse_reduce_scatter")
# That one rank takes, measured: of gradient, parameters, what DGC remembers of both and how to
# take a round back; with all_gather the first round is computed a second time, to compare.
BYTES_A_WEIGHT = {"all_gather": 45, "sparse_reduce_scatter": 35}

ABOUT = ("Select, encode, send, receive, decode, apply and vote; beside the dense ring. Programs "
         "took turns; a turn's figure is the median over its rounds of the slowest rank, and the "
         "median over turns is here; of parts and bytes the median over ranks and turns, and "
         "where 16 ranks are compared with 4 the rank that sends most. In every round all ranks "
         "hold the same parameters; with all_gather those of the first round are compared with a "
         "plain computation.")


def measure(bench, rate, weights):
    times = rows.Times()
    parts = {}
    exchange = [bench.programs.path("dgc_exchange"), "--weights", weights, "--rounds",
                bench.inner(9)]
    ring = [bench.programs.path("all_reduce"), "--algorithms", "ring", "--rounds", bench.inner(3),
            "--warm-up", 1, 4 * weights]
    secret = {"SOTTO_SECRET": secrets.token_hex(32)}
    with Namespaces(4, rate, bench.options.burst) as network:
        run = functools.partial(run_on_all, network)
        taking_turns = [functools.partial(run, ring), functools.partial(run, exchange),
                        functools.partial(run, [*exchange, "--tls"], secret)]
        for records in rows.in_turns(bench.options.rounds, taking_turns):
            times.add_runs("exchange", records)
            for record in records:
                for part in ("compress", "wait", "apply", "bytes_sent"):
                    if record["contestant"] == "sotto DGC":
                        parts.setdefault(part, []).append(record[part])
    return {"times": times.times,
            "parts": {part: statistics.median(found) for part, found in parts.items()}}


def available_bytes():
    """Of this machine's memory."""
    with open("/proc/meminfo") as file:
        return next(1024 * int(line.split()[1]) for line in file
                    if line.startswith("MemAvailable:"))


def measure_bytes(bench, weights, collectives):
    """Of few and of many ranks, on links of any speed: how much is sent does not depend on it."""
    needed = MANY_RANKS * weights * max(BYTES_A_WEIGHT[how] for how in collectives)
    if needed > available_bytes():
        print(f"    left out: {MANY_RANKS} ranks need {needed / 1e9:.1f} GB of memory")
        return None
    sent = {}
    for ranks in (FEW_RANKS, MANY_RANKS):
        with Namespaces(ranks, bench.options.rate) as network:
            for how in collectives:
                records = run_on_all(network, [
                    bench.programs.path("dgc_exchange"), "--weights", weights, "--rounds",
                    bench.inner(9), "--collective", how])
                sent[f"{how} {ranks}"] = max(record["bytes_sent"] for record in records)
    return {"sent": sent}


def bytes_row(bench, weights, collectives):
    return rows.Row(f"bytes, {grouped(weights)} weights",
                    {"weights": weights, "collectives": list(collectives)},
                    functools.partial(measure_bytes, bench, weights, collectives))


def dgc_rows(bench):
    rate, quick = bench.options.rate, bench.options.quick
    weights = bench.options.weights or (1_000_000 if quick else WEIGHTS)
    yield rows.Row(f"4 ranks, {rate}", {"rate": rate, "weights": weights},
                   functools.partial(measure, bench, rate, weights))
    # Of all_gather fewer weights: what it sends grows with the ranks however many there are.
    yield bytes_row(bench, FEW_WEIGHTS, COLLECTIVES)
    if not quick:
        yield bytes_row(bench, WEIGHTS, COLLECTIVES[1:])


def bytes_lines(name, row):
    sent = row.get("sent", {})
    for how in row["collectives"]:
        few, many = (sent.get(f"{how} {ranks}") for ranks in (FEW_RANKS, MANY_RANKS))
        line = functools.partial(rows.line, name,
                                 f"{how}, {grouped(row['weights'])} weights")
        yield line(f"sent by a rank of {FEW_RANKS}", rows.scaled(1e-3, few), unit=" KB")
        yield line(f"sent by a rank of {MANY_RANKS} / of {FEW_RANKS}", quotient(many, few),
                   1.3 if how == "sparse_reduce_scatter" else None, True, "x")


def dgc_lines(found):
    for name, row in found.items():
        if "collectives" in row:
            yield from bytes_lines(name, row)
            continue
        median = rows.medians(row, f"exchange {4 * row['weights']}")
        parts = row.get("parts", {})
        line = functools.partial(rows.line, name,
                                 f"{grouped(row['weights'])} weights, {row['rate']}")
        for contestant, asked in (("sotto DGC", 40.0), ("sotto DGC TLS", 35.0)):
            yield line(f"dense ring / {contestant}, whole exchange",
                       quotient(median.get("sotto ring"), median.get(contestant)), asked,
                       unit="x")
        for part in ("compress", "wait", "apply"):
            yield line(f"without TLS, {part}", rows.scaled(1e3, parts.get(part)), unit=" ms")
        yield line("sent by a rank", rows.scaled(1e-3, parts.get("bytes_sent")), unit=" KB")
