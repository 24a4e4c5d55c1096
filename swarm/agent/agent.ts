import { rm } from 'node:fs/promises';
import path from 'node:path';
import { errorText, unreachable } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { AssignmentParts } from '../protocol/assignment-parts.ts';
import { noNetworks, type NetworksChange } from '../protocol/networks.ts';
import { NetworksParts } from '../protocol/networks-parts.ts';
import type { SessionMessage, StatusReport } from '../protocol/session.ts';
import { Attachments } from './attachments.ts';
import { Describer } from './describer.ts';
import { LogPublisher } from './log-publisher.ts';
import type { AgentDeps, AgentPart, NodeNetworks } from './ports.ts';
import type { SaidOfNode } from './said-of-node.ts';
import { Reporter } from './reporter.ts';
import { SessionClient, type OpenSession } from './session-client.ts';
import { Tasks } from './tasks.ts';
import { ToldEndpoints } from './told-endpoints.ts';

/**
 * The node's side of a swarm: holds a session with the leader, runs the tasks that it is given, tells what becomes of
 * them. Tasks go on whether or not there is a session.
 */
export class Agent implements AgentPart {
  readonly #deps: AgentDeps;
  readonly #tasks: Tasks;
  readonly #reporter: Reporter;
  readonly #describer: Describer;
  readonly #logs: LogPublisher;
  readonly #session: SessionClient;
  readonly #endpoints: ToldEndpoints;
  readonly #attachments: Attachments;
  #assignments = new AssignmentParts();
  #networks = new NetworksParts();
  #dataPath: NetworksChange['dataPath'];

  private constructor(deps: AgentDeps, tasks: Tasks, reporter: Reporter) {
    this.#deps = deps;
    this.#dataPath = { addr: deps.addr, port: 0 };
    this.#tasks = tasks;
    this.#reporter = reporter;
    this.#describer = new Describer({ ...deps, describe: () => this.#describe() });
    this.#logs = new LogPublisher(deps.executor, deps.logger);
    this.#endpoints = new ToldEndpoints(deps.node.id);
    this.#attachments = new Attachments({ ...deps, endpoints: this.#endpoints });
    this.#session = new SessionClient({
      ...deps,
      describe: () => this.#describe(),
      opened: (session, description) => this.#opened(session, description),
      message: (session, message) => this.#message(session, message),
    });
  }

  /** Resolves when the tasks of an earlier daemon are looked after again. */
  static async start(deps: AgentDeps): Promise<Agent> {
    const { executor, stateDirectory, node } = deps;
    const { Platform } = await executor.describe();
    const reporter = new Reporter({ ...deps, all: () => tasks.statuses() });
    const tasks: Tasks = await Tasks.open({
      ...deps,
      directory: path.join(stateDirectory, 'tasks'),
      node: { ...node, ...(Platform && { platform: Platform }) },
      changed: (status) => reporter.changed(status),
      removed: (task) => reporter.forget(task),
    });
    return new Agent(deps, tasks, reporter);
  }

  /** Why there is no session with the leader now; undefined while there is one. */
  get trouble(): string | undefined {
    return this.#session.trouble;
  }

  get networks(): NodeNetworks {
    return this.#attachments;
  }

  reconnect(): void {
    this.#session.reconnect();
  }

  async leave(): Promise<void> {
    this.#attachments[Symbol.dispose]();
    await this.#session.leave();
    await this.#tasks.removeAll();
    await this.#leaveNetworks();
    await rm(this.#deps.stateDirectory, { recursive: true, force: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#attachments[Symbol.dispose]();
    await this.#session[Symbol.asyncDispose]();
    await this.#tasks[Symbol.asyncDispose]();
  }

  async #describe(): Promise<SaidOfNode> {
    const { executor } = this.#deps;
    const subnets = await executor.subnets();
    return {
      description: { ...(await executor.describe()), TLSInfo: this.#deps.tlsInfo() },
      ...(subnets.length > 0 && { subnets }),
    };
  }

  #opened(session: OpenSession, said: SaidOfNode): Disposable {
    this.#assignments = new AssignmentParts();
    this.#networks = new NetworksParts();
    const reports = this.#reporter.attach(async (statuses) => {
      const report: StatusReport = { session: session.id, statuses: [...statuses] };
      await session.client.call('session.report', report, { signal: session.signal });
    });
    const descriptions = this.#describer.attach(session, said);
    const attachments = this.#attachments.opened(session);
    return {
      [Symbol.dispose]: () => {
        reports[Symbol.dispose]();
        descriptions[Symbol.dispose]();
        attachments[Symbol.dispose]();
      },
    };
  }

  #message(
    session: OpenSession,
    message: Exclude<SessionMessage, { kind: 'welcome' }>,
  ): Promise<void> | undefined {
    switch (message.kind) {
      case 'managers':
        this.#deps.onManagers(message.managers);
        return undefined;
      case 'node':
        this.#deps.onNode({ spec: message.spec, role: message.role });
        return undefined;
      case 'root': {
        const { kind: _kind, ...root } = message;
        this.#deps.onRoot(root);
        return undefined;
      }
      case 'networks':
        return this.#applyNetworks(message.change);
      case 'assignments': {
        const whole = this.#assignments.take(message.assignments);
        return whole && this.#tasks.apply(whole);
      }
      case 'logs':
        this.#logs.begin(session, message.subscription);
        return undefined;
      case 'endLogs':
        this.#logs.end(message.id);
        return undefined;
      default:
        return unreachable(message);
    }
  }

  /** Nothing is left of the swarm's networks, after its tasks: those that an earlier session told of included. */
  async #leaveNetworks(): Promise<void> {
    this.#networks = new NetworksParts();
    await this.#applyNetworks(noNetworks(this.#dataPath));
  }

  /** What fails is told by the steps of the tasks that need it: the session goes on. */
  async #applyNetworks(part: NetworksChange): Promise<void> {
    this.#dataPath = part.dataPath;
    const whole = this.#networks.take(part);
    try {
      failpoint('swarm.agent.networks.apply');
      if (whole !== undefined) {
        await this.#deps.executor.networks(whole);
        this.#endpoints.take(whole);
      }
    } catch (error) {
      this.#deps.logger.error({ error: errorText(error) }, 'networks of the swarm could not be followed');
    }
  }
}
