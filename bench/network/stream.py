#!/usr/bin/python3
"""What a plain socket carries: every rank sends to the next one and receives from the one before,
all at once, as in a ring. Rank, size and addresses come from the environment of namespaces.py.

    stream.py [--bytes N] [--rounds R]

Every rank prints one JSON object: the seconds until all bytes were there, of each round."""

import argparse
import json
import os
import socket
import threading
import time

PORT = 29400


def connect(address):
    while True:
        try:
            return socket.create_connection((address, PORT))
        except ConnectionRefusedError:  # it does not listen yet
            time.sleep(0.01)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bytes", type=int, default=50_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    rank, size = int(os.environ["SOTTO_RANK"]), int(os.environ["SOTTO_SIZE"])
    network, _ = os.environ["SOTTO_ADDRESS"].rsplit(".", 1)
    listener = socket.create_server((f"{network}.{rank + 1}", PORT))
    accepted = []
    waiter = threading.Thread(target=lambda: accepted.append(listener.accept()[0]))
    waiter.start()
    to = connect(f"{network}.{(rank + 1) % size + 1}")
    waiter.join()
    source = accepted[0]

    block = memoryview(bytes(1 << 20))
    room = memoryview(bytearray(1 << 20))

    def send(count):
        while count > 0:
            count -= to.send(block[:min(count, len(block))])

    def receive(count):
        while count > 0:
            got = source.recv_into(room[:min(count, len(room))])
            if got == 0:
                raise SystemExit("the rank before this one is gone")
            count -= got

    def exchange(count):
        sender = threading.Thread(target=send, args=(count,))
        sender.start()
        receive(count)
        sender.join()

    seconds = []
    for turn in range(asked.rounds + 1):
        for _ in range(size):  # all have begun before anybody's clock starts
            exchange(1)
        start = time.perf_counter()
        exchange(asked.bytes)
        if turn > 0:
            seconds.append(time.perf_counter() - start)
    print(json.dumps({"contestant": "plain socket", "bytes": asked.bytes, "rank": rank,
                      "seconds": seconds}), flush=True)


main()
