#!/usr/bin/python3
"""A command on several machines that are none: network namespaces on a bridge.

    namespaces.py [--ranks N] [--rate RATE] [--burst BYTES] [--latency TIME] COMMAND...

Every rank has a namespace with one interface, eth0, at 10.77.0.1, 10.77.0.2, ...; `--rate 1gbit`
shapes it in both directions by tc's tbf. `--rate loopback` puts all ranks into one namespace that
has nothing but lo; without --rate the bridge is as fast as it can be. The command finds its place
in SOTTO_RANK, SOTTO_SIZE, SOTTO_ADDRESS, SOTTO_PORT and SOTTO_INTERFACE, and where torchrun would
tell it (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT). Its lines come out behind "[rank] ". When a
rank fails the others have some seconds to say why, and are killed.

Nothing of it is visible outside, and nothing is left: the namespaces have no names, and the kernel
ends all that runs in them when this program ends, however it does. Needs Linux, iproute2,
util-linux, and root or the right to make user namespaces."""

import argparse
import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time

PORT = 29500
# Of a rank whose peer failed: as long as sotto takes to notice one that hangs, and as much again.
GRACE = 5.0
UNITS = {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9}


def bits_per_second(rate):
    """Of tc's way to write a rate, such as 1gbit."""
    number = re.fullmatch(r"([0-9.]+)(kbit|mbit|gbit)", rate)
    if not number:
        raise SystemExit(f"{rate} is no rate; expected one such as 100mbit or 1gbit, or loopback")
    return float(number[1]) * UNITS[number[2]]


def own_user_namespace():
    """Makes up for not being root: starts this program again in a user namespace."""
    if os.geteuid() != 0:
        os.execvp("unshare", ["unshare", "--map-root-user", sys.executable, *sys.argv])


class Room:
    """A process namespace that everything runs in: what is in it ends when it does, and it ends
    with this program."""

    def __init__(self):
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "unshare", "--pid", "--fork", "--kill-child",
             "--mount-proc", "sh", "-c", "echo ready && exec sleep infinity"],
            stdout=subprocess.PIPE, text=True, start_new_session=True)
        if self.process.stdout.readline() != "ready\n":
            raise SystemExit("no namespaces can be made: this needs root, or the right to make "
                             "user namespaces")
        pid = self.process.pid
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            self.first = file.read().strip()

    def command(self, words):
        return ["nsenter", "--target", self.first, "--pid", "--mount", f"--wd={os.getcwd()}",
                *map(str, words)]

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Holder:
    """A process in the room that keeps a network namespace and a host name of its own; `pid` is
    its number there."""

    def __init__(self, room, name):
        self.room = room
        self.process = subprocess.Popen(
            room.command(["unshare", "--net", "--uts", "sh", "-c",
                          f"hostname {name} && echo $$ && exec sleep infinity"]),
            stdout=subprocess.PIPE, text=True, start_new_session=True)
        self.pid = self.process.stdout.readline().strip()
        if not self.pid:
            raise SystemExit("no network namespace can be made")

    def command(self, words):
        return self.room.command(["nsenter", "--target", self.pid, "--net", "--uts", *words])

    def run(self, line, **values):
        # Who is root in a namespace alone may not have the path of root.
        path = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"
        subprocess.run(self.command(line.format(**values).split()), check=True,
                       env=os.environ | {"PATH": path})

    def close(self):
        self.process.wait()
        self.process.stdout.close()


class Ended:
    """What became of a rank: its exit status, and the lines that it wrote to stdout."""

    def __init__(self):
        self.status = None
        self.lines = []


class Namespaces:
    """Network namespaces for so many ranks, while it is entered."""

    def __init__(self, ranks, rate=None, burst=None, latency="50ms", congestion="reno"):
        self.ranks = ranks
        self.rate = rate
        self.is_loopback = rate == "loopback"
        self.burst, self.latency, self.congestion = burst, latency, congestion
        self.room = None
        self.holders = []

    def __enter__(self):
        try:
            self.room = Room()
            if self.is_loopback:
                self._hold("ranks")
            else:
                self._build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.room:
            self.room.close()
        while self.holders:
            self.holders.pop().close()

    def _hold(self, name):
        holder = Holder(self.room, name)
        self.holders.append(holder)
        holder.run("ip link set lo up")
        holder.run("sysctl -qw net.ipv4.tcp_congestion_control={which}", which=self.congestion)
        # What takes turns with others pauses, and a connection that did would begin slowly again.
        holder.run("sysctl -qw net.ipv4.tcp_slow_start_after_idle=0")
        return holder

    def _build(self):
        machines = [self._hold(f"rank{rank}") for rank in range(self.ranks)]
        bridge = self._hold("bridge")
        bridge.run("ip link add bridge type bridge")
        bridge.run("ip link set bridge up")
        for rank, machine in enumerate(machines):
            bridge.run("ip link add port{rank} type veth peer name eth0 netns {pid}",
                       rank=rank, pid=machine.pid)
            bridge.run("ip link set port{rank} master bridge up", rank=rank)
            machine.run("ip address add {address}/16 dev eth0", address=self.address(rank))
            machine.run("ip link set eth0 up")
            self._shape(machine, "eth0")
            self._shape(bridge, f"port{rank}")

    def _shape(self, holder, interface):
        if self.rate is None:
            return
        # A link that was idle sends a burst at once: a gift, to be kept short. But the system hands
        # packets over in bundles, and one that is longer than a burst is taken apart by the
        # processor, which then is what limits the link.
        bandwidth = bits_per_second(self.rate) / 8
        bundle = int(min(65536, max(8192, (0.8 * self.burst if self.burst
                                           else bandwidth * 0.25e-3))))
        burst = self.burst or int(max(1.25 * bundle, bandwidth * 0.1e-3))
        holder.run("ip link set {interface} gso_max_size {bundle}", interface=interface,
                   bundle=bundle)
        holder.run("tc qdisc add dev {interface} root tbf rate {rate} burst {burst} "
                   "latency {latency}", interface=interface, rate=self.rate, burst=burst,
                   latency=self.latency)

    def address(self, rank):
        return "127.0.0.1" if self.is_loopback else f"10.77.{(rank + 1) // 256}.{(rank + 1) % 256}"

    @property
    def interface(self):
        return "lo" if self.is_loopback else "eth0"

    def holder(self, rank):
        return self.holders[0 if self.is_loopback else rank]

    def environment(self, rank):
        first = self.address(0)
        return {"SOTTO_RANK": str(rank), "SOTTO_SIZE": str(self.ranks), "SOTTO_ADDRESS": first,
                "SOTTO_PORT": str(PORT), "SOTTO_INTERFACE": self.interface, "RANK": str(rank),
                "WORLD_SIZE": str(self.ranks), "MASTER_ADDR": first, "MASTER_PORT": str(PORT),
                "GLOO_SOCKET_IFNAME": self.interface}

    def start(self, rank, command, environment=None, **popen):
        """A command in a rank's namespace, in a process group of its own."""
        return subprocess.Popen(
            self.holder(rank).command(command),
            env=os.environ | self.environment(rank) | (environment or {}), text=True,
            stdin=subprocess.DEVNULL, start_new_session=True, **popen)

    def run(self, command, environment=None, timeout=3600.0, tell=None, ranks=None):
        """Runs a command as every rank; an Ended for each. `tell(rank, stream, line)` hears every
        line of stdout and stderr as it comes."""
        ranks = range(self.ranks) if ranks is None else ranks
        ended = [Ended() for _ in ranks]
        lock = threading.Lock()

        def read(end, rank, name, stream):
            for line in stream:
                with lock:
                    if name == "stdout":
                        end.lines.append(line)
                    if tell:
                        tell(rank, name, line)
            stream.close()

        processes, readers = [], []
        try:
            for end, rank in zip(ended, ranks):
                process = self.start(rank, command, environment, stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE)
                processes.append(process)
                for name in ("stdout", "stderr"):
                    readers.append(threading.Thread(
                        target=read, args=(end, rank, name, getattr(process, name)), daemon=True))
                    readers[-1].start()
            self._wait(processes, time.monotonic() + timeout)
        finally:
            for process in processes:
                kill_group(process)
        for reader in readers:
            reader.join()
        for end, process in zip(ended, processes):
            end.status = process.returncode
        return ended

    @staticmethod
    def _wait(processes, deadline):
        while any(process.poll() is None for process in processes):
            if any(process.poll() not in (None, 0) for process in processes):
                deadline = min(deadline, time.monotonic() + GRACE)
            if time.monotonic() > deadline:
                return
            # Often enough for short programs, and seldom enough not to be measured.
            time.sleep(0.02)


def kill_group(process):
    """Whatever is left of a command, its children too."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def end_on_signals():
    """So that everything is closed then, too."""
    for which in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(which, lambda number, _: sys.exit(128 + number))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--rate", help="such as 1gbit; loopback")
    parser.add_argument("--burst", type=int, help="bytes that an idle link sends at once")
    parser.add_argument("--latency", default="50ms",
                        help="that bytes may wait in the shaper's queue; links add none")
    parser.add_argument("--congestion", default="reno", help="TCP's congestion control")
    parser.add_argument("--timeout", type=float, default=3600.0, help="seconds")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not command:
        parser.error("which command?")
    if not 1 <= options.ranks <= 1000:
        parser.error(f"{options.ranks} ranks; 1 to 1000 are possible")

    def tell(rank, stream, line):
        print(f"[{rank}] {line}", end="" if line.endswith("\n") else "\n",
              file=getattr(sys, stream), flush=True)

    own_user_namespace()
    end_on_signals()
    with Namespaces(options.ranks, options.rate, options.burst, options.latency,
                    options.congestion) as network:
        ended = network.run(command, timeout=options.timeout, tell=tell)
    # A rank that says why it ended is more to the point than one that was killed for it.
    failed = [end.status for end in ended if end.status]
    sys.exit(abs(next((s for s in failed if s > 0), failed[0])) if failed else 0)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
