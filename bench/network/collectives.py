"""Dense all-reduce and all-gather beside Gloo and Open MPI: on loopback, and on shaped links beside
what the wire allows."""

import functools

import rows
from common.pages import grouped, quotient
from namespaces import Namespaces, bits_per_second
from programs import (HERE, MPI_ALGORITHMS, PYTHON, records_of, run_gloo, run_mpi, run_on_all,
                      tell_errors)

KB4, KB64, MB1, MB16, MB100 = 4096, 1 << 16, 1 << 20, 1 << 24, 100_000_000
# Bytes of an Ethernet frame: of TCP's payload; as tbf counts it; as a real wire does, with
# preamble, checksum and gap.
PAYLOAD, COUNTED, WIRE = 1448, 1514, 1538
LARGE = 1_000_000

OWN = ["automatic", "ring", "tree", "halving_doubling", "recursive_doubling"]

TURNS = ("Programs took turns; a turn's figure is the median over its rounds of the slowest rank, "
         "and the median over turns is here.")
CHECKED = ("Every sum was compared with its closed form, every gathered byte with what its rank "
           "had.")
BARE = ("Bare sockets are a ring that moves bytes and adds them and does nothing else: no frames, "
        "no digests, no deadlines (peers/bare_ring.cpp).")
LEFT_OUT = ("Left out are sotto's own tree above 1 MB, through whose root all of it passes; Open "
            "MPI's basic_linear and nonoverlapping, a sum at one rank and then a broadcast: 2 n "
            "bytes one after the other, where a ring of N ranks sends 2 (N - 1) / N n; and Gloo's "
            "bcube_class among four ranks, whose sums are wrong when it runs again at once.")


def contestants(bench, network, operation, sizes, rounds):
    """Functions that run one library's program once, each with all its algorithms."""
    arguments = ["--rounds", rounds, "--warm-up", 1 if rounds < 5 else 3, *sizes]
    operated = ["--operation", operation, *arguments]
    own = [name for name in OWN if name != "tree" or min(sizes) <= LARGE]
    chosen = ["--algorithms", ",".join(own)] if operation == "all_reduce" else []
    found = [functools.partial(run_on_all, network, [bench.programs.path("all_reduce"), *operated,
                                                     *chosen])]
    if network.is_loopback and operation == "all_reduce":
        found.append(functools.partial(run_on_all, network, [bench.programs.bare, *operated]))
    if bench.programs.gloo:
        found.append(functools.partial(run_gloo, network, bench.programs.gloo, operated))
    if bench.programs.mpi:
        found += [functools.partial(run_mpi, network, bench.programs.mpi, operation, algorithm,
                                    arguments) for algorithm in MPI_ALGORITHMS[operation]]
    return found


def measure(bench, about, rounds):
    times = rows.Times()
    operation, sizes = about["operation"], about["sizes"]
    with Namespaces(about["ranks"], about["rate"], bench.options.burst) as network:
        taking_turns = contestants(bench, network, operation, sizes, rounds)
        for records in rows.in_turns(bench.options.rounds, taking_turns):
            times.add_runs(operation, records)
    return {"times": times.times}


def row(bench, name, ranks, rate, operation, sizes, rounds):
    about = {"ranks": ranks, "rate": rate, "operation": operation, "sizes": sizes}
    return rows.Row(name, about, functools.partial(measure, bench, about, bench.inner(rounds)))


def loopback_rows(bench):
    small = [KB4, *(KB64 << doublings for doublings in range(5))]
    large = [MB16] if bench.options.quick else [MB16, MB100]
    for ranks in (2, 4):
        yield row(bench, f"{ranks} ranks, small", ranks, "loopback", "all_reduce", small, 15)
        yield row(bench, f"{ranks} ranks, large", ranks, "loopback", "all_reduce", large, 5)


def loopback_lines(found):
    for name, of_row in found.items():
        for size in of_row["sizes"]:
            median = rows.medians(of_row, f"all_reduce {size}")
            ours = median.get("sotto automatic")
            gloo, gloo_seconds = rows.least(median, "Gloo")
            default = median.get("Open MPI default")
            label = f"{of_row['ranks']} ranks, {grouped(size)} B"
            line = functools.partial(rows.line, name, label)
            if size >= MB16:
                best, seconds = rows.least({peer: s for peer, s in median.items()
                                            if peer.startswith(("Gloo", "Open MPI"))}, "")
                yield line(f"best of Gloo and Open MPI ({best}) / sotto",
                           quotient(seconds, ours), 1.3, unit="x")
            elif size >= KB64:
                yield line("Open MPI default / sotto", quotient(default, ours), 1.0, unit="x")
            else:
                yield line("sotto / Open MPI default", quotient(ours, default), 1.2, True,
                           "x")
                yield line(f"best of Gloo ({gloo}) / sotto", quotient(gloo_seconds, ours),
                           8.0, unit="x")
            yield line("bare sockets' ring / sotto",
                       quotient(median.get("bare sockets"), ours), unit="x")


def measure_stream(bench, ranks, rate):
    """What a plain socket carries, all ranks at once: bytes a second of each turn."""
    count = int(bits_per_second(rate) / 8 * (0.3 if bench.options.quick else 1.0))
    times = rows.Times()
    with Namespaces(ranks, rate, bench.options.burst) as network:
        for _ in range(bench.options.rounds):
            ended = network.run([PYTHON, HERE / "stream.py", "--bytes", count, "--rounds", 2],
                                tell=tell_errors)
            times.add_runs("stream", records_of(ended, "stream.py"))
    return {"times": times.times}


def wire_rows(bench):
    rate, quick = bench.options.rate, bench.options.quick
    dense = [4_000_000 if quick else MB100]
    sparse = [200_000, 2_000_000] + ([] if quick else [20_000_000])
    for ranks in (4, 2):
        place = f"{ranks} ranks, {rate}"
        yield rows.Row(f"{place}, socket", {"ranks": ranks, "rate": rate, "operation": "stream"},
                       functools.partial(measure_stream, bench, ranks, rate))
        yield row(bench, f"{place}, all-reduce", ranks, rate, "all_reduce", dense, 3)
        yield row(bench, f"{place}, all-gather", ranks, rate, "all_gather", sparse, 5)


def seconds_on_wire(sent, rate):
    """That so many bytes take a rank, by the strictest of the three ways to count a frame: what
    the shaper lets through."""
    return sent / (bits_per_second(rate) / 8 * PAYLOAD / COUNTED)


def floor_seconds(operation, ranks, size, rate):
    """What a ring cannot be faster than."""
    sent = (2 * (ranks - 1) / ranks if operation == "all_reduce" else ranks - 1) * size
    return seconds_on_wire(sent, rate)


def stream_lines(line, of_row):
    bandwidth = bits_per_second(of_row["rate"]) / 8
    yield line("payload of a frame / what the shaper counts", bandwidth * PAYLOAD / COUNTED / 1e6,
               unit=" MB/s")
    yield line("payload of a frame / what a wire carries", bandwidth * PAYLOAD / WIRE / 1e6,
               unit=" MB/s")
    for case in of_row["times"]:
        yield line("measured on a plain socket", int(case.split()[1]) / 1e6 /
                   rows.medians(of_row, case)["plain socket"], unit=" MB/s")


def wire_lines(found):
    for name, of_row in found.items():
        ranks, rate, operation = of_row["ranks"], of_row["rate"], of_row["operation"]
        label = f"{ranks} ranks, {operation}"
        if operation == "stream":
            if rows.is_measured(of_row):
                yield from stream_lines(functools.partial(rows.line, name, f"{label}, {rate}"),
                                        of_row)
            continue
        for size in of_row["sizes"]:
            median = rows.medians(of_row, f"{operation} {size}")
            line = functools.partial(rows.line, name, f"{label} of {grouped(size)} B, {rate}")
            floor = floor_seconds(operation, ranks, size, rate)
            asked = 0.99 if operation == "all_reduce" else 0.97
            yield line("floor / sotto", quotient(floor, median.get("sotto automatic")),
                       asked if ranks == 4 else None)
            for library in ("Gloo", "Open MPI"):
                best, seconds = rows.least(median, library)
                yield line(f"floor / {best}", quotient(floor, seconds))
