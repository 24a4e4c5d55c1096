import { EngineError } from '../../daemon/base/errors.ts';
import { Attachments } from '../../swarm/agent/attachments.ts';
import type { OpenSession } from '../../swarm/agent/session-client.ts';
import { ToldEndpoints } from '../../swarm/agent/told-endpoints.ts';
import type { AttachedContainer } from '../../swarm/protocol/attachments.ts';
import { NetworksParts } from '../../swarm/protocol/networks-parts.ts';
import type { NetworksChange } from '../../swarm/protocol/networks.ts';
import { KnownNetworks } from '../../test/support/swarm/told-networks.ts';
import { failureLogger } from './logger.ts';
import { VirtualClock } from './virtual-clock.ts';
import type { World } from './world.ts';

/**
 * A node's part in networks of the swarm: what it was told, and its containers that are no tasks. The agent's own code
 * asks for them.
 */
export class NodeNetworks {
  readonly known = new KnownNetworks();
  /** What its engine has, by container. */
  readonly containers = new Map<string, AttachedContainer>();
  readonly #world: World;
  readonly #node: string;
  #parts = new NetworksParts();
  #endpoints: ToldEndpoints;
  #attachments: Attachments;
  #session: Disposable | undefined;

  constructor(world: World, node: string) {
    this.#world = world;
    this.#node = node;
    this.#endpoints = new ToldEndpoints(node);
    this.#attachments = this.#newAttachments();
  }

  opened(session: OpenSession): void {
    this.#parts = new NetworksParts();
    this.#session?.[Symbol.dispose]();
    const opened = this.#attachments.opened(session);
    this.#session = opened;
    session.signal.addEventListener('abort', () => opened[Symbol.dispose](), { once: true });
  }

  take(part: NetworksChange): void {
    const change = this.#parts.take(part);
    if (change !== undefined) {
      if (change.full) {
        this.known.clear();
      }
      this.known.add(change);
      this.#endpoints.take(change);
    }
  }

  /** A container asks to be let in; the engine knows of it a little later than the agent. */
  attach(wish: AttachedContainer): void {
    const attachments = this.#attachments;
    const { queue } = this.#world;
    void attachments.attach(wish, new AbortController().signal).then(
      ({ addresses }) =>
        queue.after(this.#world.between(0, 50), () => {
          if (this.#attachments === attachments) {
            this.containers.set(wish.container, { ...wish, addresses });
          }
        }),
      (error: unknown) => {
        // Refused, or nobody answered in time: its user gives up.
        if (!(error instanceof EngineError)) {
          this.#world.failures.push(`${this.#node} attaches: ${String(error)}`);
        }
      },
    );
  }

  detach({ network, container }: AttachedContainer): void {
    this.containers.delete(container);
    void this.#attachments
      .detach({ network, container })
      .catch((error: unknown) => this.#world.failures.push(`${this.#node} detaches: ${String(error)}`));
  }

  /** Containers end with their host. */
  crash(): void {
    this.#session?.[Symbol.dispose]();
    this.#attachments[Symbol.dispose]();
    this.containers.clear();
    this.known.clear();
    this.#endpoints = new ToldEndpoints(this.#node);
    this.#attachments = this.#newAttachments();
  }

  #newAttachments(): Attachments {
    return new Attachments({
      clock: new VirtualClock(this.#world.queue, 0),
      logger: failureLogger(this.#world, `node ${this.#node}`),
      executor: { attachments: async () => [...this.containers.values()] },
      endpoints: this.#endpoints,
    });
  }
}
