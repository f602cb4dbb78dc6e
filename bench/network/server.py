"""How many recorded pushes a parameter server takes, dense and by Deep Gradient Compression, beside
what bare sockets need for the same bytes and beside the memory that a push must touch."""

import functools
import json

import rows
from common.pages import grouped, quotient
from namespaces import Namespaces
from programs import tell_errors

COMPENSATORS = ("none", "adaptive")
COMPRESSORS = ("none", "dgc")
NAMES = {"none": "dense", "dgc": "DGC"}
# Of a worker, in one run.
ROUNDS = {"none": 20, "dgc": 1000}
# Different pushes of a worker: whole gradients are written to the same memory in every round, and
# where entries lie decides what of a memory a push touches.
RECORDED = {"none": 1, "dgc": 4}
ABOUT = ("A server and two workers on loopback, 25 million weights in 10 tensors, plain SGD, "
         "asynchronous, without compensation or with DC-ASGD-a; workers push what none, or dgc at "
         "density 0.001, made of gradients beforehand. All contestants take turns. Plain sockets "
         "in as many processes send as many bytes there and back, and do nothing with them; the "
         "floor of a dense push over TCP is that and then the memory which a server's one thread "
         "cannot but touch: what is asked of it, 0.8, is of this floor; beside bare sockets alone the "
         "figure is shown and nothing asked. The floor of a push alone is a loop that touches the memory which a "
         "push cannot but touch: for each entry of DGC the line of the parameters, and with "
         "DC-ASGD-a those of what the worker has read and of the mean square, in the order of the "
         "same pushes; for a dense push 12 bytes a weight (message and parameters read, parameters "
         "written), or 24 (what was read and the mean square read, the latter written). The "
         "parameters that the server ends with are compared with a plain computation from its log.")


def run(bench, *arguments):
    command = [bench.programs.path("server_throughput"), *arguments]
    if bench.options.quick:
        command += ["--weights", 200_000]
    with Namespaces(1, "loopback") as network:
        ended = network.run(command, tell=tell_errors)
    if ended[0].status != 0:
        raise SystemExit(f"bench_network_server_throughput ended with {ended[0].status}")
    return json.loads(ended[0].lines[0])


def measure(bench, compensator, rounds):
    times = rows.Times()
    details = {}

    def over_tcp(compressor):
        found = run(bench, "--part", "messages", "--compressor", compressor, "--compensator",
                    compensator, "--rounds", ROUNDS[compressor], "--recorded", RECORDED[compressor])
        times.add("over TCP", NAMES[compressor], 1 / found["pushes_per_second"])
        details.setdefault(f"{NAMES[compressor]} server", []).append(found["server_seconds"])

    def bare():
        found = run(bench, "--part", "bare", "--rounds", ROUNDS["none"])
        times.add("over TCP", "bare sockets", 1 / found["pushes_per_second"])
        details.setdefault("bare server", []).append(found["server_seconds"])

    def alone(compressor):
        found = run(bench, "--part", "memory", "--compressor", compressor, "--compensator",
                    compensator, "--rounds", ROUNDS[compressor], "--recorded", RECORDED[compressor])
        case = f"alone, {NAMES[compressor]}"
        times.add(case, "push", found["seconds"])
        times.add(case, "answer", found["answer"])
        times.add(case, "touching memory", found["floor"])
        details[case] = {name: found[name] for name in ("lines", "arrays", "bandwidth")}

    contestants = [bare] + [functools.partial(part, compressor) for part in (over_tcp, alone)
                            for compressor in COMPRESSORS]
    for _ in rows.in_turns(rounds, contestants):
        pass
    return {"times": times.times, "details": details}


def server_rows(bench):
    rounds = bench.inner(bench.options.rounds)
    for compensator in COMPENSATORS:
        yield rows.Row(f"compensation {compensator}", {"compensator": compensator},
                       functools.partial(measure, bench, compensator, rounds))


def server_lines(found):
    for name, row in found.items():
        tcp = rows.medians(row, "over TCP")
        line = functools.partial(rows.line, name, "over TCP, two workers")
        dense, bare = tcp.get("dense"), tcp.get("bare sockets")
        yield line("DGC pushes a second, beside dense ones", quotient(dense, tcp.get("DGC")),
                   10.0)
        yield line("dense pushes a second, beside bare sockets", quotient(bare, dense))
        alone = {compressor: rows.medians(row, f"alone, {NAMES[compressor]}")
                 for compressor in COMPRESSORS}
        touching = alone["none"].get("touching memory")
        both = None if bare is None or touching is None else bare + touching
        yield line("the same, beside bare sockets and then touching memory",
                   quotient(both, dense), 0.8)
        for compressor, of_case in alone.items():
            detail = row.get("details", {}).get(f"alone, {NAMES[compressor]}")
            how = (f" ({grouped(round(detail['lines']))} lines, "
                   f"{detail['bandwidth'] / 1e9:.1f} GB/s)" if detail else "")
            yield rows.line(name, f"alone, {NAMES[compressor]}",
                            f"decode, compensate and update, beside touching memory{how}",
                            quotient(of_case.get("push"), of_case.get("touching memory")),
                            1.5, True)

