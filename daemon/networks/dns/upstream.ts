import { randomInt } from 'node:crypto';
import type { NameExchange, NameProtocol, Upstream } from '../../../runtime/network/dns/dns-sockets.ts';
import type { Clock } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import type { UpstreamSockets } from '../ports.ts';
import { RCODE, isAnswerTo, rcodeOf, withId } from './message.ts';
import type { Query } from './message.ts';

export interface Race {
  servers: readonly Upstream[];
  protocol: NameProtocol;
  sockets: UpstreamSockets;
  clock: Clock;
}

/**
 * Asks servers in their order: the next one as soon as one fails, or has not answered for a moment. The first good
 * answer wins; a bad one (server failure, refused) is kept for the case that there is no better. undefined = none in
 * time. Each question goes out from a socket and with an id of its own.
 */
export function askUpstreams(query: Query, message: Buffer, race: Race): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    new Asking(query, message, race, resolve).begin();
  });
}

class Asking {
  readonly #query: Query;
  readonly #message: Buffer;
  readonly #race: Race;
  readonly #resolve: (answer: Buffer | undefined) => void;
  readonly #exchanges: NameExchange[] = [];
  readonly #timers: Disposable[] = [];
  #next = 0;
  #pending = 0;
  #worse: Buffer | undefined;
  #isOver = false;

  constructor(query: Query, message: Buffer, race: Race, resolve: (answer: Buffer | undefined) => void) {
    this.#query = query;
    this.#message = message;
    this.#race = race;
    this.#resolve = resolve;
  }

  begin(): void {
    this.#after(limits.dnsAnswerMs, () => this.#finish(this.#worse));
    this.#goOn();
  }

  /** The next server; without one, the end when no other server is waited for. */
  #goOn(): void {
    const server = this.#race.servers[this.#next];
    if (this.#isOver) {
      return;
    }
    if (server !== undefined) {
      this.#next += 1;
      this.#pending += 1;
      this.#ask(server);
    } else if (this.#pending === 0) {
      this.#finish(this.#worse);
    }
  }

  #ask(server: Upstream): void {
    const { sockets, protocol } = this.#race;
    const id = randomInt(65_536);
    let isPending = true;
    const failed = (): void => {
      if (isPending) {
        isPending = false;
        this.#pending -= 1;
        this.#goOn();
      }
    };
    const answered = (answer: Buffer): void => {
      if (!isPending || this.#isOver || !isAnswerTo(answer, id, this.#query.question)) {
        return;
      }
      if (isBad(rcodeOf(answer))) {
        this.#worse = answer;
        failed();
      } else {
        this.#finish(answer);
      }
    };
    try {
      const exchange = sockets.exchange(server, protocol, { answered, failed });
      this.#exchanges.push(exchange);
      exchange.send(withId(this.#message, id));
      this.#after(limits.dnsNextServerMs, () => this.#goOn());
    } catch {
      // No socket, or no way to this server: as one that does not answer.
      setImmediate(failed);
    }
  }

  #after(delayMs: number, work: () => void): void {
    this.#timers.push(this.#race.clock.setTimeout(work, delayMs));
  }

  #finish(answer: Buffer | undefined): void {
    if (this.#isOver) {
      return;
    }
    this.#isOver = true;
    this.#exchanges.forEach((exchange) => exchange.close());
    this.#timers.forEach((timer) => timer[Symbol.dispose]());
    this.#resolve(answer === undefined ? undefined : withId(answer, this.#query.id));
  }
}

function isBad(rcode: number): boolean {
  return rcode === RCODE.serverFailure || rcode === RCODE.refused;
}
