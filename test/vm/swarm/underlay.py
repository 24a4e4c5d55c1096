"""What the tests of encrypted networks do on the cable below them, and in tasks, each in a network namespace.

watch DEVICE TEXT    prints a line for each packet of an overlay network, in or out: `esp SPI`, or `vxlan VNI`; and
                     `fragment` for a part of one, `readable` where TEXT is in it
forge DEVICE VNI OUTER INNER TEXT
                     sends a datagram for port 9000 in VXLAN, unencrypted, past the firewall of this host; OUTER and INNER
                     are MAC,ADDRESS,MAC,ADDRESS of the sender and the receiver on the cable and in the network
hear                 prints what comes to port 9000
say ADDRESS TEXT     sends a datagram there
"""

import socket
import struct
import sys

PORT = 9000
VXLAN = 4789
ESP = 50
UDP = 17


def watch(device, text):
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003))
    # SO_RCVBUFFORCE: all of a transfer, however slow this program is.
    s.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)
    s.bind((device, 0))
    print("ready", flush=True)
    while True:
        packet = s.recv(65535)
        kind, body = protocol_of(packet)
        if kind == "fragment" or (kind == UDP and body[2:4] == struct.pack("!H", VXLAN)):
            line = kind if kind == "fragment" else f"vxlan {int.from_bytes(body[12:15], 'big')}"
        elif kind == ESP:
            line = f"esp {body[:4].hex()}"
        else:
            continue
        print(line, flush=True)
        if text.encode() in packet:
            print("readable", flush=True)


def protocol_of(packet):
    """What an Ethernet frame carries by IP, and that without the header."""
    if packet[12:14] == b"\x08\x00":
        offset = int.from_bytes(packet[20:22], "big")
        return "fragment" if offset & 0x3FFF else packet[23], packet[14 + (packet[14] & 15) * 4 :]
    if packet[12:14] == b"\x86\xdd":
        return "fragment" if packet[20] == 44 else packet[20], packet[54:]
    return None, b""


def forge(device, vni, outer, inner, text):
    vxlan = struct.pack("!B3xI", 8, int(vni) << 8) + frame(inner, PORT, text.encode())
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    s.bind((device, 0))
    s.send(frame(outer, VXLAN, vxlan))


def frame(ends, port, payload):
    """A datagram in an IP packet in an Ethernet frame."""
    mac, address, to_mac, to_address = ends.split(",")
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    source, target = socket.inet_pton(family, address), socket.inet_pton(family, to_address)
    size = 8 + len(payload)
    pseudo = source + target + struct.pack("!II", size, UDP)
    head = struct.pack("!HHH", 50000, port, size)
    datagram = head + struct.pack("!H", checksum(pseudo + head + b"\0\0" + payload) or 0xFFFF) + payload
    if family == socket.AF_INET6:
        kind, header = 0x86DD, struct.pack("!IHBB", 6 << 28, size, UDP, 64) + source + target
    else:
        fields = (0x45, 0, 20 + size, 0, 0, 64, UDP)
        bare = struct.pack("!BBHHHBBH", *fields, 0) + source + target
        kind, header = 0x0800, bare[:10] + struct.pack("!H", checksum(bare)) + bare[12:]
    macs = bytes.fromhex((to_mac + mac).replace(":", ""))
    return macs + struct.pack("!H", kind) + header + datagram


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def hear():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("", PORT))
    print("ready", flush=True)
    while True:
        print(s.recv(2000).decode(), flush=True)


def say(address, text):
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(text.encode(), (address, PORT))


if __name__ == "__main__":
    {"watch": watch, "forge": forge, "hear": hear, "say": say}[sys.argv[1]](*sys.argv[2:])
