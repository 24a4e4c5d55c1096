import type { NameProtocol, Upstream } from '../../../runtime/network/dns/dns-sockets.ts';
import type { Clock } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import type { UpstreamSockets } from '../ports.ts';
import { localAnswer } from './local-names.ts';
import type { VisibleNetwork } from './local-names.ts';
import { RCODE, encodeAnswer, formatError, parseQuery } from './message.ts';
import { askUpstreams } from './upstream.ts';

/** What one container asks, and where its answers come from. Made anew for each question: both change. */
export interface NameScope {
  networks: readonly VisibleNetwork[];
  /** None = only local names are answered. */
  upstreams: () => readonly Upstream[];
}

/** Bytes of an answer over UDP that every resolver takes (RFC 1035). */
const UDP_ANSWER_BYTES = 512;
const TCP_ANSWER_BYTES = 65_535;

/**
 * Answers the questions of containers in user-defined networks: names of the network itself; all others are forwarded.
 */
export class NameServer {
  readonly #sockets: UpstreamSockets;
  readonly #clock: Clock;
  /** Forwarded questions without an answer yet, by container. */
  readonly #waiting = new Map<string, number>();

  constructor(deps: { sockets: UpstreamSockets; clock: Clock }) {
    this.#sockets = deps.sockets;
    this.#clock = deps.clock;
  }

  /** Calls back with the answer, at once where it is local; never for what is no query. */
  answer(
    question: { containerId: string; message: Buffer; protocol: NameProtocol },
    scope: NameScope,
    reply: (answer: Buffer) => void,
  ): void {
    const { containerId, message, protocol } = question;
    const query = parseQuery(message);
    if (query === undefined) {
      const refusal = formatError(message);
      if (refusal !== undefined) {
        reply(refusal);
      }
      return;
    }
    const bytesMax = protocol === 'udp' ? UDP_ANSWER_BYTES : TCP_ANSWER_BYTES;
    const local = localAnswer(scope.networks, query, Math.random);
    const refuse = (rcode: number): void =>
      reply(encodeAnswer(query, rcode, { records: [], ttlS: 0, bytesMax }));
    if (local !== undefined) {
      reply(encodeAnswer(query, RCODE.noError, { ...local, bytesMax }));
      return;
    }
    const servers = scope.upstreams();
    if (servers.length === 0) {
      refuse(RCODE.noName);
      return;
    }
    const waiting = this.#waiting.get(containerId) ?? 0;
    if (waiting >= limits.dnsForwardedMax) {
      refuse(RCODE.serverFailure);
      return;
    }
    this.#waiting.set(containerId, waiting + 1);
    const race = { servers, protocol, sockets: this.#sockets, clock: this.#clock };
    const pass = async (): Promise<void> => {
      const answer = await askUpstreams(query, message, race).finally(() => this.#answered(containerId));
      if (answer === undefined) {
        refuse(RCODE.serverFailure);
      } else {
        reply(answer);
      }
    };
    // A question that cannot be sent on is answered as a failure of the server.
    void pass().catch(() => refuse(RCODE.serverFailure));
  }

  #answered(containerId: string): void {
    const left = (this.#waiting.get(containerId) ?? 1) - 1;
    if (left === 0) {
      this.#waiting.delete(containerId);
    } else {
      this.#waiting.set(containerId, left);
    }
  }
}
