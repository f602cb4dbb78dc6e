#!/usr/bin/python3
"""Jobs on links whose queues or outages keep signs of life longer than tcp_options::dead_after.

    slow_links.py PROGRAM [NAME...]

Starts PROGRAM, the test system_slow_links, as the ranks of each job, or of the named ones. Prints a
row of a table for each. Ends with 1 if a job failed. Needs what bench/network/namespaces.py needs."""

import contextlib
import os
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench/network"))
import namespaces  # noqa: E402

# name: ranks, rate, queue, values, steps, pattern, seconds of an outage, busy processes
JOBS = {
    "ring of 2": (2, "100kbit", "2s", 8000, 3, 0, 0, 0),
    "ring of 4": (4, "100kbit", "2s", 8000, 3, 0, 0, 0),
    "server and 3 workers": (4, "100kbit", "2s", 3000, 3, 1, 0, 0),
    "ring of 4, 1 Mbit/s": (4, "1mbit", "3s", 100000, 3, 0, 0, 0),
    "outages of 1.0 s": (4, "100mbit", "50ms", 100000, 300, 0, 1.0, 8),
    "outages of 1.3 s": (4, "100mbit", "50ms", 100000, 300, 0, 1.3, 8),
    "outages of 1.6 s": (4, "100mbit", "50ms", 100000, 300, 0, 1.6, 8),
}


@contextlib.contextmanager
def busy(processes):
    """So many processes that keep the processors busy."""
    started = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def interrupt(network, seconds, ended):
    """Takes rank 1's link off the bridge for so long, again and again. Nothing tells its ends."""
    bridge = network.holders[-1]
    while not ended.wait(4.0):
        bridge.run("ip link set port1 nomaster")
        time.sleep(seconds)
        bridge.run("ip link set port1 master bridge")


def run(program, name):
    ranks, rate, queue, values, steps, pattern, outage, load = JOBS[name]
    environment = {"SOTTO_SLOW_STEPS": str(steps), "SOTTO_SLOW_VALUES": str(values),
                   "SOTTO_SLOW_PATTERN": str(pattern), "OPENBLAS_NUM_THREADS": "1"}
    said = []

    def tell(rank, _, line):
        print(f"[{rank}] {line}", end="", file=sys.stderr, flush=True)
        if "sotto: rank" in line:
            said.append(line.strip())

    began = time.monotonic()
    with namespaces.Namespaces(ranks, rate, latency=queue) as network, busy(load):
        ended = threading.Event()
        thread = threading.Thread(target=interrupt, args=(network, outage, ended))
        if outage:
            thread.start()
        try:
            ends = network.run([program], environment, timeout=300.0, tell=tell)
        finally:
            ended.set()
            if outage:
                thread.join()
    well = all(end.status == 0 for end in ends)
    limits = [line.split("accepts ")[1].split(" without")[0] for line in said if "accepts " in line]
    longest = max(limits, key=lambda limit: float(limit.split()[0]), default="2 s")
    print(f"| {name} | {rate} | {queue} | {load} | {'trained' if well else 'FAILED'} | "
          f"{time.monotonic() - began:.0f} | {longest} |", flush=True)
    return well


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    namespaces.own_user_namespace()
    namespaces.end_on_signals()
    names = sys.argv[2:] or list(JOBS)
    sys.exit(0 if all([run(os.path.abspath(sys.argv[1]), name) for name in names]) else 1)


if __name__ == "__main__":
    main()
