import type {
  Assignments,
  AssignedTask,
  SessionMessage,
  SessionRequest,
  StatusReport,
} from '../../../swarm/protocol/session.ts';
import type { Dial, RpcClient } from '../../../swarm/rpc/port.ts';
import { TaskState, taskStateName } from '../../../swarm/objects/task-state.ts';

export type OwnStatus = StatusReport['statuses'][number];

/** A session as the leader has it. */
export class FakeSession {
  readonly id: string;
  readonly addr: string;
  readonly request: SessionRequest;
  isOpen = true;
  #queue: (SessionMessage | Error | undefined)[] = [];
  #wake: (() => void) | undefined;

  constructor(id: string, addr: string, request: SessionRequest) {
    this.id = id;
    this.addr = addr;
    this.request = request;
  }

  tell(message: SessionMessage): void {
    this.#queue.push(message);
    this.#wake?.();
  }

  /** Everything, or what is different. */
  assign(tasks: AssignedTask[], rest: Partial<Assignments> = {}): void {
    const nothing = { removedTasks: [], secrets: [], removedSecrets: [], configs: [], removedConfigs: [] };
    this.tell({ kind: 'assignments', assignments: { full: true, tasks, ...nothing, ...rest } });
  }

  end(error?: Error): void {
    this.#queue.push(error);
    this.#wake?.();
  }

  async *messages(signal: AbortSignal): AsyncIterable<SessionMessage> {
    signal.addEventListener('abort', () => this.#wake?.());
    try {
      for (;;) {
        while (this.#queue.length > 0) {
          const next = this.#queue.shift();
          if (next === undefined) {
            return;
          }
          if (next instanceof Error) {
            throw next;
          }
          yield next;
        }
        if (signal.aborted) {
          return;
        }
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    } finally {
      this.isOpen = false;
    }
  }
}

/** Managers as agents dial them. Those of `refusals` answer with an error, the others with a session. */
export class FakeLeader {
  readonly sessions: FakeSession[] = [];
  readonly dialled: string[] = [];
  readonly refusals = new Map<string, Error>();
  readonly calls: { method: string; body: unknown }[] = [];
  readonly uploads: unknown[][] = [];
  /** The newest status of each task, as reported. */
  readonly statuses = new Map<string, OwnStatus>();
  /** Sizes of reports. */
  readonly reports: number[] = [];
  /** What a call is refused with. */
  failing: ((method: string) => Error | undefined) | undefined;
  /** What other calls are answered, by method. */
  readonly answers = new Map<string, (body: unknown) => unknown>([
    ['networks.attached', () => ({ refused: [] })],
  ]);
  /** What a report is refused with. */
  refused: ((statuses: readonly OwnStatus[]) => Error | undefined) | undefined;
  heartbeatMs = 5000;
  heartbeatAnswer: unknown;

  readonly dial: Dial = (addr) => {
    this.dialled.push(addr);
    return this.#client(addr);
  };

  get session(): FakeSession {
    const open = this.sessions.findLast(({ isOpen }) => isOpen);
    if (open === undefined) {
      throw new Error('there is no session');
    }
    return open;
  }

  /** `running`, with the message and the error behind it where there is one. */
  seen(task: string): string {
    const status = this.statuses.get(task);
    return status === undefined
      ? 'nothing'
      : [taskStateName(status.state), status.message, status.error].filter(Boolean).join(' | ');
  }

  /** Of the calls of a method, in order. */
  bodies(method: string): unknown[] {
    return this.calls.filter((call) => call.method === method).map(({ body }) => body);
  }

  #client(addr: string): RpcClient {
    return {
      addr,
      call: (method, body) => this.#call(method, body),
      stream: (_method, body, signal) => this.#open(addr, body as SessionRequest, signal),
      upload: async (_method, values) => {
        const taken: unknown[] = [];
        this.uploads.push(taken);
        for await (const value of values) {
          taken.push(value);
        }
        return undefined;
      },
      [Symbol.dispose]: () => undefined,
    };
  }

  async #call(method: string, body: unknown): Promise<unknown> {
    await Promise.resolve();
    const error = this.failing?.(method);
    if (error !== undefined) {
      throw error;
    }
    this.calls.push({ method, body });
    if (method === 'session.report') {
      const { statuses } = body as StatusReport;
      const refusal = this.refused?.(statuses);
      if (refusal !== undefined) {
        throw refusal;
      }
      this.reports.push(statuses.length);
      statuses.forEach((status) => this.statuses.set(status.id, status));
    }
    if (method === 'session.heartbeat') {
      return this.heartbeatAnswer;
    }
    return await this.answers.get(method)?.(body);
  }

  async *#open(addr: string, request: SessionRequest, signal: AbortSignal): AsyncIterable<SessionMessage> {
    const refusal = this.refusals.get(addr);
    if (refusal !== undefined) {
      throw refusal;
    }
    const session = new FakeSession(`session${this.sessions.length + 1}`, addr, request);
    this.sessions.push(session);
    yield { kind: 'welcome', session: session.id, heartbeatMs: this.heartbeatMs };
    yield* session.messages(signal);
  }
}

/** A task of service `web`, desired to run. */
export function assignedTask(id: string, given: Partial<AssignedTask> = {}): AssignedTask {
  return {
    id,
    desired: TaskState.running,
    service: { id: 'service1', name: 'web', labels: {} },
    slot: 1,
    spec: { ContainerSpec: { Image: 'busybox' } },
    hostPorts: [],
    generic: [],
    networks: [],
    ...given,
  };
}

/** An id that looks like the swarm's. */
export function taskId(number: number): string {
  return `t${String(number).padStart(24, '0')}`;
}
