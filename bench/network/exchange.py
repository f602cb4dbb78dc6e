"""A whole exchange by Deep Gradient Compression beside the dense ring over the same links, plain
and over TLS; and what ranks send where sums are selected from once more."""

import functools
import secrets
import statistics

import rows
from namespaces import Namespaces
from programs import run_on_all

WEIGHTS, FEW_WEIGHTS = 25_000_000, 2_500_000


def measure(bench, rate):
    weights = bench.options.weights or (1_000_000 if bench.options.quick else WEIGHTS)
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
    return {"rate": rate, "times": times.times,
            "parts": {part: statistics.median(found) for part, found in parts.items()}}


def measure_bytes(bench):
    """Of 4 and of 16 ranks, on links of any speed: how much is sent does not depend on it."""
    sent = {}
    for ranks in (4, 16):
        with Namespaces(ranks, bench.options.rate) as network:
            for how in ("all_gather", "sparse_reduce_scatter"):
                records = run_on_all(network, [
                    bench.programs.path("dgc_exchange"), "--weights", FEW_WEIGHTS, "--rounds",
                    bench.inner(9), "--collective", how])
                sent[f"{how} {ranks}"] = max(record["bytes_sent"] for record in records)
    return {"sent": sent, "times": {}}


def dgc_rows(bench):
    yield f"4 ranks, {bench.options.rate}", functools.partial(measure, bench, bench.options.rate)
    yield "bytes", functools.partial(measure_bytes, bench)


def bytes_lines(name, sent):
    for how in ("all_gather", "sparse_reduce_scatter"):
        few, many = sent[f"{how} 4"], sent[f"{how} 16"]
        line = functools.partial(rows.line, name, how)
        yield line("sent by a rank of 4", few / 1000, unit=" KB")
        yield line("sent by a rank of 16 / of 4", many / few,
                   1.3 if how == "sparse_reduce_scatter" else None, True, "x")


def dgc_lines(found):
    for name, row in found.items():
        if "sent" in row:
            yield from bytes_lines(name, row["sent"])
            continue
        for case in row["times"]:
            median = rows.medians(row, case)
            line = functools.partial(rows.line, name,
                                     f"{rows.grouped(int(case.split()[1]) // 4)} weights")
            for contestant, asked in (("sotto DGC", 40.0), ("sotto DGC TLS", 35.0)):
                yield line(f"dense ring / {contestant}, whole exchange",
                           median["sotto ring"] / median[contestant], asked, unit="x")
            for part in ("compress", "wait", "apply"):
                yield line(f"without TLS, {part}", 1000 * row["parts"][part], unit=" ms")
            yield line("sent by a rank", row["parts"]["bytes_sent"] / 1000, unit=" KB")
