import { formatIp, parseIp } from '../../../base/addresses/ip.ts';
import type { Clock } from '../../../base/clock.ts';
import { errorText } from '../../../base/errors.ts';
import { failpoint } from '../../../base/failpoint.ts';
import { limits } from '../../../base/limits.ts';
import type { Logger } from '../../../base/logger.ts';
import type { OverlayKernel } from '../ports.ts';
import type { Reach } from './reach.ts';

interface Deps {
  reach: Reach;
  kernel: Pick<OverlayKernel, 'probe'>;
  clock: Clock;
  log: Logger;
  /** Addresses of other hosts with tasks. */
  wanted: () => ReadonlySet<string>;
  /** These are reached now and were not before, or the other way round. */
  changed: (hosts: ReadonlySet<string>) => void;
}

/** Asks the hosts that have tasks of the swarm's networks again and again whether they are there. */
export class HostWatch implements Disposable {
  readonly #deps: Deps;
  #timer: Disposable | undefined;
  #ask: readonly string[] = [];
  #trouble: string | undefined;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  start(): void {
    this.#timer = this.#deps.clock.setTimeout(() => {
      this.start();
      this.#turn();
    }, limits.overlayAskMs);
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
  }

  #turn(): void {
    const { reach, log, wanted, changed } = this.#deps;
    const answered = this.#probed();
    const { ask, changed: hosts } =
      answered === undefined ? { ask: [], changed: reach.clear() } : reach.turn(wanted(), answered);
    this.#ask = ask;
    const silent = hosts.filter((host) => reach.isSilent(host));
    if (silent.length > 0) {
      log.warn({ hosts: silent }, 'hosts of the swarm do not answer and get no new connections from here');
    }
    if (hosts.length > silent.length) {
      const back = hosts.filter((host) => !reach.isSilent(host));
      log.info({ hosts: back }, 'hosts of the swarm answer again');
    }
    if (hosts.length > 0) {
      changed(new Set(hosts));
    }
  }

  /** Who has answered. Undefined where this host cannot ask: then all others are taken for being there. */
  #probed(): string[] | undefined {
    try {
      failpoint('network.reach.probe');
      const hosts = this.#ask.flatMap((host) => parseIp(host) ?? []);
      const answered = this.#deps.kernel.probe(hosts).map(formatIp);
      this.#trouble = undefined;
      return answered;
    } catch (error) {
      const trouble = errorText(error);
      if (trouble !== this.#trouble) {
        this.#deps.log.warn({ err: trouble }, 'hosts of the swarm cannot be asked whether they are there');
        this.#trouble = trouble;
      }
      return undefined;
    }
  }
}
