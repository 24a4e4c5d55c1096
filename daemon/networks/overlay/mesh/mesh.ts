import type { HostPort } from '../../../../runtime/network/port-reservations.ts';
import type { Clock } from '../../../base/clock.ts';
import { errorText } from '../../../base/errors.ts';
import type { EngineError } from '../../../base/errors.ts';
import { failpoint } from '../../../base/failpoint.ts';
import { limits } from '../../../base/limits.ts';
import type { Logger } from '../../../base/logger.ts';
import type { OverlayKernel } from '../ports.ts';
import type { Serving } from '../reach/reach.ts';
import { IngressPorts } from './ingress-ports.ts';
import type { IngressChange, ServicePort } from './ingress-ports.ts';

/** Who else takes ports of this host: containers, and by the kernel all programs. */
export interface HostPorts {
  /** All of them, or none: then why. */
  hold(ports: readonly HostPort[]): EngineError | undefined;
  /** Idempotent. */
  release(ports: readonly HostPort[]): void;
}

/**
 * The ports that this host answers at because every node of the swarm does. Each is held first, so that no program and
 * no container of the host gets it; one that somebody has already stays theirs. Such a port is left out on this host,
 * said, and tried again until it is free.
 */
export class Mesh implements Disposable {
  readonly #kernel: Pick<OverlayKernel, 'mesh'>;
  readonly #hostPorts: HostPorts;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #serving: Serving;
  #ports: IngressPorts;
  readonly #held = new Map<string, readonly HostPort[]>();
  /** Why not, by port. */
  readonly #missing = new Map<string, string>();
  #isOpen = false;
  #again: Disposable | undefined;

  constructor(deps: {
    kernel: Pick<OverlayKernel, 'mesh'>;
    hostPorts: HostPorts;
    serving: Serving;
    clock: Clock;
    log: Logger;
  }) {
    this.#serving = deps.serving;
    this.#ports = new IngressPorts(deps.serving);
    this.#kernel = deps.kernel;
    this.#hostPorts = deps.hostPorts;
    this.#clock = deps.clock;
    this.#log = deps.log;
  }

  /** The ingress network is there, and this is different in it. */
  apply(change: IngressChange): void {
    this.#isOpen = true;
    this.#ports.apply(change);
    this.#settle();
  }

  /** Other hosts are reached now than before. */
  reconsider(): void {
    this.#ports.reconsider();
    this.#settle();
  }

  /** The ingress network is gone from this host. Idempotent. */
  close(): void {
    this.#isOpen = false;
    this.#again?.[Symbol.dispose]();
    this.#ports = new IngressPorts(this.#serving);
    this.#missing.clear();
    this.#release(new Map());
  }

  /** The daemon ends. What is in the kernel stays. */
  [Symbol.dispose](): void {
    this.#isOpen = false;
    this.#again?.[Symbol.dispose]();
  }

  /** A sentence for each port that this host does not answer at. */
  missing(): string[] {
    return [...this.#missing.values()];
  }

  /** What fails is tried again later: the other ports, and the tasks, are none the worse for it. */
  #settle(): void {
    if (!this.#isOpen) {
      return;
    }
    this.#again?.[Symbol.dispose]();
    const wanted = this.#ports.all();
    [...this.#missing.keys()].filter((key) => !wanted.has(key)).forEach((key) => this.#missing.delete(key));
    const ports = [...wanted].filter(([key, port]) => this.#held.has(key) || this.#take(key, port));
    const isSet = this.#set(ports.map(([, port]) => port));
    if (isSet) {
      this.#release(wanted);
    }
    if (!isSet || this.#missing.size > 0) {
      this.#again = this.#clock.setTimeout(() => this.#settle(), limits.meshPortAgainMs);
    }
  }

  #take(key: string, { protocol, published: hostPort, service }: ServicePort): boolean {
    const everywhere = [0, 0n].map((hostAddress) => ({ protocol, hostPort, hostAddress }));
    const failure = this.#hold(everywhere);
    const text = `${hostPort}/${protocol}`;
    if (failure === undefined) {
      this.#held.set(key, everywhere);
      if (this.#missing.delete(key)) {
        this.#log.info({ port: text, service }, 'a published port of the swarm is free and answered again');
      }
      return true;
    }
    const sentence = `port ${text} of service ${service} is not answered on this node: ${errorText(failure)}`;
    if (this.#missing.get(key) !== sentence) {
      this.#log.warn(
        { port: text, service, err: failure },
        'a published port of the swarm is taken on this host',
      );
      this.#missing.set(key, sentence);
    }
    return false;
  }

  #hold(ports: readonly HostPort[]): unknown {
    try {
      failpoint('network.mesh.hold');
      return this.#hostPorts.hold(ports);
    } catch (error) {
      return error;
    }
  }

  #set(ports: readonly ServicePort[]): boolean {
    try {
      failpoint('network.mesh.set');
      this.#kernel.mesh(ports);
      return true;
    } catch (error) {
      this.#log.error({ err: error }, 'published ports of the swarm could not be set; they will be again');
      return false;
    }
  }

  /** After the kernel leads nobody there any more. */
  #release(wanted: ReadonlyMap<string, ServicePort>): void {
    for (const [key, ports] of this.#held) {
      if (!wanted.has(key)) {
        this.#held.delete(key);
        this.#hostPorts.release(ports);
      }
    }
  }
}
