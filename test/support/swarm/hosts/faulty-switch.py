"""A switch between hosts that loses, doubles and delays frames, and lets some hosts not hear others.

Its ports are the interfaces `port1`, `port2`, ... of the network namespace that it runs in. Each line on standard input
is one change, as JSON; each is answered with `ok` on standard output when it is in force:
  {"ports": N}                                  the ports that there are from now on
  {"loss": 0.1, "double": 0.05, "delay": 0.2}   shares of all frames, and seconds for each
  {"cut": [[1, 2], [2, 1]]}                     pairs (from, to) that nothing passes between
Random choices follow the seed that is the program's one argument. `plain INTERFACE` instead lets a host compute its
own checksums there, and ends.
"""

import ctypes
import fcntl
import heapq
import json
import os
import random
import select
import socket
import struct
import sys
import time

ETH_P_ALL = 3
OUTGOING = 4
SIOCETHTOOL = 0x8946
# ETHTOOL_S{TXCSUM,SG,TSO,GSO,GRO}: what the kernel leaves for hardware to do would never be done here.
OFFLOADS = (0x17, 0x19, 0x1F, 0x24, 0x2C)


def without_offloads(name):
    control = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for command in OFFLOADS:
        value = ctypes.create_string_buffer(struct.pack("II", command, 0))
        request = struct.pack("16sP", name.encode(), ctypes.addressof(value))
        try:
            fcntl.ioctl(control, SIOCETHTOOL, request)
        except OSError:
            pass
    control.close()


def open_port(name):
    without_offloads(name)
    port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    port.bind((name, ETH_P_ALL))
    port.setblocking(False)
    return port


class Switch:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.ports = {}
        self.places = {}
        self.loss = self.double = self.delay = 0
        self.cut = set()
        self.waiting = []
        self.count = 0

    def change(self, wish):
        for number in range(len(self.ports) + 1, wish.get("ports", 0) + 1):
            self.ports[number] = open_port(f"port{number}")
        self.loss = wish.get("loss", self.loss)
        self.double = wish.get("double", self.double)
        self.delay = wish.get("delay", self.delay)
        if "cut" in wish:
            self.cut = {tuple(pair) for pair in wish["cut"]}

    def take(self, source):
        while True:
            try:
                frame, (_, _, kind, _, _) = self.ports[source].recvfrom(65536)
            except OSError:
                return
            if kind == OUTGOING:
                continue
            self.places[frame[6:12]] = source
            known = self.places.get(frame[0:6])
            targets = [known] if known is not None else [each for each in self.ports if each != source]
            for target in targets:
                if target != source and (source, target) not in self.cut:
                    self.pass_on(target, frame)

    def pass_on(self, target, frame):
        if self.random.random() < self.loss:
            return
        copies = 2 if self.random.random() < self.double else 1
        for _ in range(copies):
            if self.delay == 0:
                self.send(target, frame)
            else:
                self.count += 1
                heapq.heappush(self.waiting, (time.monotonic() + self.delay, self.count, target, frame))

    def send(self, target, frame):
        try:
            self.ports[target].send(frame)
        except OSError:
            # A cable that is out, or a queue that is full: a switch loses the frame too.
            pass

    def due(self):
        now = time.monotonic()
        while self.waiting and self.waiting[0][0] <= now:
            _, _, target, frame = heapq.heappop(self.waiting)
            self.send(target, frame)
        return self.waiting[0][0] - now if self.waiting else None

    def run(self):
        pending = b""
        while True:
            by_file = {port.fileno(): number for number, port in self.ports.items()}
            ready, _, _ = select.select([0, *by_file], [], [], self.due())
            for file in ready:
                if file != 0:
                    self.take(by_file[file])
                    continue
                read = os.read(0, 65536)
                if read == b"":
                    return
                *lines, pending = (pending + read).split(b"\n")
                for line in lines:
                    self.change(json.loads(line))
                    print("ok", flush=True)


if sys.argv[1] == "plain":
    without_offloads(sys.argv[2])
else:
    Switch(sys.argv[1]).run()
