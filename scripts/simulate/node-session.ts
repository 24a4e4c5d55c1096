import type { ReportedStatus } from '../../swarm/leader/ports.ts';
import type { SessionMessage } from '../../swarm/protocol/session.ts';
import type { Manager, World } from './world.ts';

interface Listener {
  hear(message: SessionMessage): void;
  /** It has ended, by whatever side. */
  over(): void;
}

/** A node's session with a manager, over a network that loses and delays. */
export class NodeSession {
  readonly #world: World;
  readonly #node: string;
  readonly #manager: Manager;
  readonly #listener: Listener;
  readonly #gone = new AbortController();
  #id = '';
  #deliveredAt = 0;

  constructor(world: World, node: string, manager: Manager, listener: Listener) {
    this.#world = world;
    this.#node = node;
    this.#manager = manager;
    this.#listener = listener;
  }

  begin(): void {
    void this.#read();
  }

  end(): void {
    this.#gone.abort();
  }

  /** Messages of one stream do not overtake each other. */
  inOrder(delayMs: number, act: () => void): void {
    const { queue } = this.#world;
    this.#deliveredAt = Math.max(this.#deliveredAt, queue.now + delayMs);
    queue.after(this.#deliveredAt - queue.now, act);
  }

  /** True when the manager has taken them. */
  async report(statuses: readonly ReportedStatus[]): Promise<boolean> {
    try {
      await this.#call('session.report', { session: this.#id, statuses });
      return true;
    } catch {
      // The node tries again, in this session or the next.
      return false;
    }
  }

  async #read(): Promise<void> {
    const { signal } = this.#gone;
    try {
      const open = this.#manager.method('session.open', 'stream');
      const body = { description: { Hostname: this.#node }, addr: '' };
      for await (const value of open.handle(body, this.#manager.callerOf(this.#node), signal)) {
        if (signal.aborted || this.#manager.isDead) {
          break;
        }
        // What the stream of sessions has.
        const message = value as SessionMessage;
        if (message.kind === 'welcome') {
          this.#id = message.session;
          this.#beatAfter(message.heartbeatMs);
        }
        this.#listener.hear(message);
      }
    } catch {
      // Why a session ended changes nothing for the node: it looks for another one.
    }
    this.end();
    this.#listener.over();
  }

  #beatAfter(ms: number): void {
    this.#world.queue.after(ms, () => {
      if (!this.#gone.signal.aborted) {
        void this.#beat(ms);
      }
    });
  }

  async #beat(ms: number): Promise<void> {
    if (this.#world.happens(0.02)) {
      this.#beatAfter(ms);
      return;
    }
    try {
      const answer = await this.#call('session.heartbeat', { session: this.#id });
      // What the dispatcher answers.
      this.#beatAfter((answer as { heartbeatMs: number }).heartbeatMs);
    } catch {
      this.end();
      this.#listener.over();
    }
  }

  async #call(name: string, body: unknown): Promise<unknown> {
    const method = this.#manager.method(name, 'call');
    return await method.handle(body, this.#manager.callerOf(this.#node), this.#gone.signal);
  }
}
