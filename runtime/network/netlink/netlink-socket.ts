import { errnoOf } from '../../../daemon/base/errors.ts';
import { KernelError } from '../../../daemon/base/kernel/libc.ts';
import { allowLargeDatagrams, openNetlinkSocket } from '../../../daemon/base/kernel/sockets/netlink.ts';
import {
  closeSocket,
  closeSocketSlowly,
  receiveDatagram,
  sendDatagram,
  sendDatagramSlowly,
} from '../../../daemon/base/kernel/sockets/sockets.ts';
import { FLAG, MESSAGE, decodeAnswer, decodeMessages, encodeMessage } from './netlink.ts';
import type { NetlinkMessage, NetlinkRequest } from './netlink.ts';

/** linux/netfilter/nfnetlink.h */
const BATCH = { begin: 0x10, end: 0x11 } as const;
const NFNL_SUBSYS_NFTABLES = 10;

/** Requests of one datagram. Each may be answered by an error, and all of these find room in the socket. */
const BATCH_REQUESTS = 64;

const NOTHING: ReadonlySet<string> = new Set();

/** A datagram that every socket takes; what it may keep for sending is 208 KiB unless it is told otherwise. */
const SEND_BYTES = 64 * 1024;

/** Large enough for any datagram of a dump (the kernel packs at most 32 KiB). */
const RECEIVE_BYTES = 64 * 1024;

/**
 * A conversation with one network namespace's kernel: the one the socket was opened in.
 *
 * Synchronous, because the kernel does the work inside `send` and the answers lie ready when it returns;
 * there is nothing to wait for.
 */
export class NetlinkSocket {
  readonly #fd: number;
  readonly #buffer = Buffer.allocUnsafe(RECEIVE_BYTES);
  #sequence = 0;

  constructor(family: number) {
    this.#fd = openNetlinkSocket(family);
  }

  /**
   * Sends these requests as one datagram and returns what the kernel answered besides acknowledgements. They
   * are carried out in order, also past a failing one; the first failure is thrown (KernelError naming
   * `object`).
   */
  request(object: string, requests: readonly NetlinkRequest[]): NetlinkMessage[] {
    return this.#send(object, requests, NOTHING);
  }

  #send(
    object: string,
    requests: readonly NetlinkRequest[],
    expected: ReadonlySet<string>,
  ): NetlinkMessage[] {
    const first = this.#sequence + 1;
    const last = this.#sequence + requests.length;
    this.#sequence = last;
    const datagram = Buffer.concat(
      requests.map((request, index) =>
        // One acknowledgement, of the last: failures are answered anyway, and always before it.
        encodeMessage(
          index === requests.length - 1 ? { ...request, flags: request.flags | FLAG.acknowledge } : request,
          first + index,
        ),
      ),
    );
    sendDatagram(object, this.#fd, datagram);
    return this.#collect(object, first, last, expected);
  }

  /**
   * As `request`, for requests of any number that do not depend on each other. All are carried out, also past failing
   * ones; failures with these codes are none.
   */
  requestAll(
    object: string,
    requests: readonly NetlinkRequest[],
    expected: ReadonlySet<string> = NOTHING,
  ): void {
    const failures: unknown[] = [];
    for (let start = 0; start < requests.length; start += BATCH_REQUESTS) {
      try {
        this.#send(object, requests.slice(start, start + BATCH_REQUESTS), expected);
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) {
      throw failures[0];
    }
  }

  /**
   * A transaction of nftables: all of these requests, in order, or none. Throws the first failure (KernelError naming
   * `object`).
   */
  transact(object: string, requests: readonly NetlinkRequest[]): void {
    const [begin, end] = [BATCH.begin, BATCH.end].map((type) => ({
      type,
      flags: 0,
      // struct nfgenmsg, whose resource is the subsystem.
      header: Buffer.of(0, 0, 0, NFNL_SUBSYS_NFTABLES),
      attributes: [],
    }));
    const all = [begin, ...requests, end].filter((each) => each !== undefined);
    const first = this.#sequence + 1;
    this.#sequence += all.length;
    // The last but the end, which older kernels do not acknowledge. The kernel answers when it has committed.
    const last = this.#sequence - 1;
    const datagram = all.map((request, index) => {
      const flags = first + index === last ? request.flags | FLAG.acknowledge : request.flags;
      return encodeMessage({ ...request, flags }, first + index);
    });
    const bytes = Buffer.concat(datagram);
    if (bytes.length > SEND_BYTES) {
      allowLargeDatagrams(object, this.#fd, bytes.length + SEND_BYTES);
    }
    sendDatagram(object, this.#fd, bytes);
    this.#collect(object, first, last);
  }

  /**
   * As `request` with one request, but the kernel works on a pool thread: removing a link makes it sleep 25
   * ms and more. The caller must not use the socket for anything else meanwhile.
   */
  async requestSlowly(object: string, request: NetlinkRequest): Promise<NetlinkMessage[]> {
    const sequence = ++this.#sequence;
    const flags = request.flags | FLAG.acknowledge;
    await sendDatagramSlowly(object, this.#fd, encodeMessage({ ...request, flags }, sequence));
    return this.#collect(object, sequence, sequence);
  }

  /** Every object that `request` (a get) matches. */
  dump(object: string, request: NetlinkRequest): NetlinkMessage[] {
    const sequence = ++this.#sequence;
    const flags = request.flags | FLAG.dump;
    sendDatagram(object, this.#fd, encodeMessage({ ...request, flags }, sequence));
    return this.#collect(object, sequence, sequence);
  }

  /**
   * As `dump`, but the kernel looks through its table on a pool thread: 5 ms for connections. The caller must not use
   * the socket for anything else meanwhile.
   */
  async dumpSlowly(object: string, request: NetlinkRequest): Promise<NetlinkMessage[]> {
    const sequence = ++this.#sequence;
    const flags = request.flags | FLAG.dump;
    await sendDatagramSlowly(object, this.#fd, encodeMessage({ ...request, flags }, sequence));
    return this.#collect(object, sequence, sequence);
  }

  close(): void {
    closeSocket(this.#fd);
  }

  /**
   * As `close`, on a pool thread: a socket of netfilter waits until the kernel has freed what transactions in its
   * namespace deleted, 5 to 25 ms. Never rejects.
   */
  closeSlowly(): Promise<void> {
    return closeSocketSlowly(this.#fd);
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #collect(
    object: string,
    first: number,
    last: number,
    expected: ReadonlySet<string> = NOTHING,
  ): NetlinkMessage[] {
    const answers: NetlinkMessage[] = [];
    let failure: KernelError | undefined;
    for (;;) {
      for (const message of this.#receiveOr(failure, object)) {
        if (message.sequence < first || message.sequence > last) {
          // Left over from a conversation that was cut short by an error of recv.
          continue;
        }
        if (message.type === MESSAGE.error || message.type === MESSAGE.done) {
          const error = toError(object, message);
          failure ??= error !== undefined && expected.has(error.code) ? undefined : error;
          if (message.sequence === last) {
            if (failure) {
              throw failure;
            }
            return answers;
          }
        } else {
          answers.push(message);
        }
      }
    }
  }

  /** A transaction that fails as a whole answers once, and there is no more to come. */
  #receiveOr(failure: KernelError | undefined, object: string): NetlinkMessage[] {
    try {
      return this.#receive(object);
    } catch (error) {
      throw failure ?? error;
    }
  }

  #receive(object: string): NetlinkMessage[] {
    try {
      const length = receiveDatagram(object, this.#fd, this.#buffer);
      // A copy: the caller keeps payloads while the buffer is filled again.
      return decodeMessages(Buffer.from(this.#buffer.subarray(0, length)));
    } catch (error) {
      if (errnoOf(error) === 'EINTR') {
        return [];
      }
      throw error;
    }
  }
}

function toError(object: string, message: NetlinkMessage): KernelError | undefined {
  // The end of a dump carries a bare errno, or nothing on very old kernels.
  const { errno, text } =
    message.type === MESSAGE.done
      ? { errno: message.payload.length >= 4 ? Math.abs(message.payload.readInt32LE(0)) : 0, text: '' }
      : decodeAnswer(message);
  if (errno === 0) {
    return undefined;
  }
  return new KernelError('netlink', errno, text === '' ? object : `${object} (${text})`);
}
