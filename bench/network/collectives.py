"""Dense all-reduce and all-gather beside Gloo and Open MPI: on loopback, and on shaped links beside
what the wire allows."""

import functools

import rows
from namespaces import Namespaces, bits_per_second
from programs import (HERE, MPI_ALGORITHMS, PYTHON, records_of, run_gloo, run_mpi, run_on_all,
                      tell_errors)

KB4, KB64, MB1, MB16, MB100 = 4096, 1 << 16, 1 << 20, 1 << 24, 100_000_000
# Bytes of an Ethernet frame: of TCP's payload; as tbf counts it; as a real wire does, with
# preamble, checksum and gap.
PAYLOAD, COUNTED, WIRE = 1448, 1514, 1538


def contestants(bench, network, operation, sizes, rounds, slow=()):
    """Functions that run one library's program once, each with all its algorithms but `slow`."""
    arguments = ["--rounds", rounds, "--warm-up", 1 if rounds < 5 else 3, *sizes]
    operated = ["--operation", operation, *arguments]

    def without_slow(names):
        return ["--algorithms", ",".join(name for name in names if name not in slow)]
    own = ["automatic", "ring", "tree", "halving_doubling", "recursive_doubling"]
    of_gloo = ["ring", "bcube", "ring_class", "ring_chunked", "halving_doubling", "bcube_class"]
    own_choice, gloo_choice = ((without_slow(own), without_slow(of_gloo))
                               if operation == "all_reduce" else ([], []))
    found = [functools.partial(run_on_all, network,
                               [bench.programs.path("all_reduce"), *operated, *own_choice])]
    if bench.programs.gloo:
        found.append(functools.partial(run_gloo, network, bench.programs.gloo,
                                       operated + gloo_choice))
    if bench.programs.mpi:
        found += [functools.partial(run_mpi, network, bench.programs.mpi, operation, algorithm,
                                    arguments)
                  for algorithm in MPI_ALGORITHMS[operation] if algorithm not in slow]
    return found


def measure(bench, ranks, rate, operation, sizes, rounds, slow=()):
    times = rows.Times()
    with Namespaces(ranks, rate, bench.options.burst) as network:
        taking_turns = contestants(bench, network, operation, sizes, rounds, slow)
        for records in rows.in_turns(bench.options.rounds, taking_turns):
            times.add_runs(operation, records)
    return {"ranks": ranks, "rate": rate, "times": times.times}


def loopback_rows(bench):
    small, large = [KB4, KB64, MB1], [MB16, MB100]
    if bench.options.quick:
        large = [MB16]
    for ranks in (2, 4):
        yield f"{ranks} ranks, small", functools.partial(
            measure, bench, ranks, "loopback", "all_reduce", small, bench.inner(15))
        yield f"{ranks} ranks, large", functools.partial(
            measure, bench, ranks, "loopback", "all_reduce", large, bench.inner(5),
            ("tree", "recursive_doubling"))


def loopback_lines(found):
    for name, row in found.items():
        for case in row["times"]:
            size = int(case.split()[1])
            median = rows.medians(row, case)
            ours = median["sotto automatic"]
            gloo, gloo_seconds = rows.least(median, "Gloo")
            mpi, mpi_seconds = rows.least(median, "Open MPI")
            default = median.get("Open MPI default")
            label = f"{row['ranks']} ranks, {rows.grouped(size)} B"
            line = functools.partial(rows.line, name, label)
            if size >= MB16:
                best = min((s for s in (gloo_seconds, mpi_seconds) if s), default=None)
                of = gloo if best == gloo_seconds else mpi
                yield line(f"best of Gloo and Open MPI ({of}) / sotto", rows.ratio(best, ours),
                           1.3, unit="x")
            elif size >= KB64:
                yield line("Open MPI default / sotto", rows.ratio(default, ours), 1.0, unit="x")
            else:
                yield line("sotto / Open MPI default", rows.ratio(ours, default), 1.2, True, "x")
                yield line(f"best of Gloo ({gloo}) / sotto", rows.ratio(gloo_seconds, ours), 8.0,
                           unit="x")


def measure_stream(bench, ranks, rate):
    """What a plain socket carries, all ranks at once: bytes a second of each turn."""
    count = int(bits_per_second(rate) / 8 * (0.3 if bench.options.quick else 1.0))
    times = rows.Times()
    with Namespaces(ranks, rate, bench.options.burst) as network:
        for _ in range(bench.options.rounds):
            ended = network.run([PYTHON, HERE / "stream.py", "--bytes", count, "--rounds", 2],
                                tell=tell_errors)
            times.add_runs("stream", records_of(ended, "stream.py"))
    return {"ranks": ranks, "rate": rate, "times": times.times}


def wire_rows(bench):
    rate = bench.options.rate
    dense = 4_000_000 if bench.options.quick else MB100
    for ranks in (4, 2):
        yield f"{ranks} ranks, socket", functools.partial(measure_stream, bench, ranks, rate)
        yield f"{ranks} ranks, all-reduce", functools.partial(
            measure, bench, ranks, rate, "all_reduce", [dense], bench.inner(3),
            ("tree", "recursive_doubling", "bcube_class", "ring_class"))
        yield f"{ranks} ranks, all-gather", functools.partial(
            measure, bench, ranks, rate, "all_gather",
            [200_000, 2_000_000] + ([] if bench.options.quick else [20_000_000]),
            bench.inner(5))


def wire_lines(found):
    for name, row in found.items():
        ranks = row["ranks"]
        bandwidth = bits_per_second(row["rate"]) / 8
        # The strictest of the three: what the shaper lets through.
        payload = bandwidth * PAYLOAD / COUNTED
        for case in row["times"]:
            operation, size = case.split()[0], int(case.split()[1])
            median = rows.medians(row, case)
            line = functools.partial(rows.line, name, f"{ranks} ranks, {operation} of "
                                     f"{rows.grouped(size)} B, {row['rate']}")
            if operation == "stream":
                yield line("payload of a frame / what the shaper counts", payload / 1e6,
                           unit=" MB/s")
                yield line("payload of a frame / what a wire carries",
                           bandwidth * PAYLOAD / WIRE / 1e6, unit=" MB/s")
                yield line("measured on a plain socket", size / median["plain socket"] / 1e6,
                           unit=" MB/s")
                continue
            dense = operation == "all_reduce"
            floor = (2 * (ranks - 1) / ranks if dense else ranks - 1) * size / payload
            asked = (0.99 if dense else 0.97) if ranks == 4 else None
            yield line("floor / sotto", floor / median["sotto automatic"], asked)
            for library in ("Gloo", "Open MPI"):
                best, seconds = rows.least(median, library)
                yield line(f"floor / {best}", rows.ratio(floor, seconds))
