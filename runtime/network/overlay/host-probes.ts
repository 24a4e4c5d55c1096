import { randomBytes } from 'node:crypto';
import { isIpv4 } from '../../../daemon/base/addresses/ip.ts';
import type { IpAddress } from '../../../daemon/base/addresses/ip.ts';
import { errnoOf } from '../../../daemon/base/errors.ts';
import {
  AF,
  closeSocket,
  ipv4SocketAddress,
  openSocket,
  receiveDatagram,
  sendDatagramTo,
  setSocketOption,
  SOCK,
} from '../../../daemon/base/kernel/sockets/sockets.ts';

const OBJECT = 'ICMP to other hosts of the swarm';
const IPPROTO_ICMP = 1;
/** linux/icmp.h: a raw socket gets what is not filtered; a bit set keeps that type out. */
const SOL_RAW = 255;
const ICMP_FILTER = 1;
const ECHO_REPLY = 0;
const ECHO_REQUEST = 8;
const HEADER_BYTES = 8;
const SECRET_BYTES = 16;
const PACKET_BYTES = HEADER_BYTES + SECRET_BYTES + 4;
/** What is taken in one call: more comes from a program that floods this host. */
const ANSWERS_MAX = 2_000;

/**
 * Asks hosts by ICMP whether they are there: the kernel answers, whatever the daemon there does. IPv4 only; hosts with
 * other addresses are never asked. An answer counts when it has this process's secret and comes from the host that
 * was asked.
 */
export class HostProbes implements Disposable {
  readonly #secret = randomBytes(SECRET_BYTES);
  readonly #into = Buffer.alloc(256);
  #socket: number | undefined;

  /** Answers the hosts that have answered since the call before, then asks these. Never waits. */
  probe(hosts: readonly IpAddress[]): IpAddress[] {
    this.#socket ??= open();
    const answered = this.#answers(this.#socket);
    for (const host of hosts) {
      if (isIpv4(host)) {
        this.#ask(this.#socket, host);
      }
    }
    return answered;
  }

  [Symbol.dispose](): void {
    if (this.#socket !== undefined) {
      closeSocket(this.#socket);
      this.#socket = undefined;
    }
  }

  #ask(socket: number, host: number): void {
    const packet = Buffer.alloc(PACKET_BYTES);
    packet.writeUInt8(ECHO_REQUEST, 0);
    this.#secret.copy(packet, HEADER_BYTES);
    packet.writeUInt32BE(host, HEADER_BYTES + SECRET_BYTES);
    packet.writeUInt16BE(checksum(packet), 2);
    try {
      sendDatagramTo(OBJECT, socket, packet, ipv4SocketAddress(host, 0));
    } catch {
      // No way there, or a firewall of this host: it will not answer, which is what is asked.
    }
  }

  #answers(socket: number): number[] {
    const answered: number[] = [];
    for (let count = 0; count < ANSWERS_MAX; count += 1) {
      try {
        const length = receiveDatagram(OBJECT, socket, this.#into);
        answered.push(...this.#read(this.#into.subarray(0, length)));
      } catch (error) {
        if (errnoOf(error) === 'EAGAIN') {
          break;
        }
        throw error;
      }
    }
    return answered;
  }

  /** The IP packet of an answer. */
  #read(packet: Buffer): number[] {
    const headerLength = ((packet[0] ?? 0) & 0xf) * 4;
    const echo = packet.subarray(headerLength);
    if (echo.length < PACKET_BYTES || echo[0] !== ECHO_REPLY) {
      return [];
    }
    const source = packet.readUInt32BE(12);
    const asked = echo.readUInt32BE(HEADER_BYTES + SECRET_BYTES);
    const isOurs = echo.subarray(HEADER_BYTES, HEADER_BYTES + SECRET_BYTES).equals(this.#secret);
    return isOurs && asked === source ? [source] : [];
  }
}

function open(): number {
  const socket = openSocket(OBJECT, AF.inet, SOCK.raw, IPPROTO_ICMP);
  try {
    setSocketOption(OBJECT, socket, SOL_RAW, ICMP_FILTER, ~(1 << ECHO_REPLY));
  } catch (error) {
    closeSocket(socket);
    throw error;
  }
  return socket;
}

/** RFC 1071. */
function checksum(packet: Buffer): number {
  let sum = 0;
  for (let at = 0; at < packet.length; at += 2) {
    sum += packet.readUInt16BE(at);
  }
  sum = (sum & 0xffff) + (sum >>> 16);
  return ~((sum & 0xffff) + (sum >>> 16)) & 0xffff;
}
