import { EngineError, errorText } from '../../daemon/base/errors.ts';
import type { OpenSession } from '../../swarm/agent/session-client.ts';
import type { ReportedStatus } from '../../swarm/leader/ports.ts';
import type { SessionMessage } from '../../swarm/protocol/session.ts';
import type { RpcClient } from '../../swarm/rpc/port.ts';
import type { Manager, World } from './world.ts';

/** A call that nobody answers ends then. */
const LOST_MS = 10_000;

interface Listener {
  hear(message: SessionMessage): void;
  /** It has ended, by whatever side. */
  over(): void;
}

/** A node's session with a manager, over a network that loses and delays. */
export class NodeSession {
  readonly #world: World;
  readonly #node: { id: string; addr: string };
  readonly #manager: Manager;
  readonly #listener: Listener;
  readonly #gone = new AbortController();
  #id = '';
  #deliveredAt = 0;

  constructor(world: World, node: { id: string; addr: string }, manager: Manager, listener: Listener) {
    this.#world = world;
    this.#node = node;
    this.#manager = manager;
    this.#listener = listener;
  }

  /** As the agent's parts see it; after the welcome. */
  get open(): OpenSession {
    const client: Pick<RpcClient, 'call'> = { call: (name, body) => this.#callLossy(name, body) };
    // What they use of it.
    return { id: this.#id, client: client as RpcClient, signal: this.#gone.signal };
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
      const body = { description: { Hostname: this.#node.id }, addr: this.#node.addr };
      for await (const value of open.handle(body, this.#manager.callerOf(this.#node.id), signal)) {
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

  /** A question or its answer may be lost, and the session may end before that comes. */
  async #callLossy(name: string, body: unknown): Promise<unknown> {
    const { signal } = this.#gone;
    await this.#wait(this.#world.between(1, 40));
    const isHeard = !this.#world.happens(0.02);
    const asked = isHeard ? this.#answer(name, body) : this.#wait(LOST_MS);
    const ended = new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    const answer = await Promise.race([asked, ended]);
    await this.#wait(this.#world.between(1, 40));
    if (signal.aborted || !isHeard || this.#manager.isDead || this.#world.happens(0.02)) {
      throw new EngineError('unavailable', 'no answer');
    }
    return answer;
  }

  async #answer(name: string, body: unknown): Promise<unknown> {
    try {
      return await this.#call(name, body);
    } catch (error) {
      throw error instanceof EngineError ? error : new EngineError('unavailable', errorText(error));
    }
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#world.queue.after(ms, resolve);
    });
  }

  async #call(name: string, body: unknown): Promise<unknown> {
    const method = this.#manager.method(name, 'call');
    return await method.handle(body, this.#manager.callerOf(this.#node.id), this.#gone.signal);
  }
}
