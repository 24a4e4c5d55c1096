import { randomUUID } from 'node:crypto';
import {
  solveRequest,
  solveResponse,
  statusRequest,
  statusResponse,
} from '../../../api/buildkit/proto/control.ts';
import {
  evaluateRequest,
  gatewaySolveRequest,
  gatewaySolveResponse,
  readDirRequest,
  readDirResponse,
  readFileRequest,
  readFileResponse,
  returnRequest,
  statFileRequest,
  statFileResponse,
} from '../../../api/buildkit/proto/gateway.ts';
import { newContainerRequest, releaseContainerRequest } from '../../../api/buildkit/proto/containers.ts';
import { RpcClient, type RpcConversation } from '../../../api/buildkit/rpc/client.ts';
import { silentLogger as log } from '../../../daemon/base/logger.ts';
import { mountMessage } from '../../../daemon/build/llb/messages.ts';
import type { TestDaemon } from '../engine/daemon.ts';
import { definitionOf, type Node } from './graphs.ts';
import { ProcessStream } from './process-stream.ts';
import { METHODS, SessionServer } from './session-server.ts';
import { upgrade } from './upgrade.ts';

const BRIDGE = '/moby.buildkit.v1.frontend.LLBBridge';
const { signal } = new AbortController();

type GatewayRequest = Parameters<typeof gatewaySolveRequest.encode>[0];
type ControlRequest = Parameters<typeof solveRequest.encode>[0];

/** A client that sends graphs: its session, and calls on a connection of their own. */
export class GraphClient implements AsyncDisposable {
  readonly server: SessionServer;
  readonly #socketPath: string;
  /** Its id. */
  readonly session = randomUUID();
  #calls: RpcClient | undefined;

  constructor(daemon: TestDaemon) {
    this.#socketPath = daemon.paths.socket;
    this.server = new SessionServer(daemon.paths.root);
  }

  async open(): Promise<this> {
    const session = await upgrade(this.#socketPath, '/session', {
      'X-Docker-Expose-Session-Uuid': this.session,
      'X-Docker-Expose-Session-Sharedkey': '',
      'X-Docker-Expose-Session-Grpc-Method': METHODS,
    });
    await this.server.serve(session);
    this.#calls = new RpcClient(await upgrade(this.#socketPath, '/grpc'), log);
    return this;
  }

  /** `Control.Solve`; answers what exporters told. */
  async control(request: ControlRequest): Promise<ReadonlyMap<string, string>> {
    const whole = { ref: randomUUID(), session: this.session, ...request };
    const answer = await this.call('/moby.buildkit.v1.Control/Solve', solveRequest.encode(whole));
    return solveResponse.decode(answer).exporterResponse;
  }

  /** A build in which this client is the frontend, until `work` is done. */
  async build<T>(work: (bridge: Bridge) => Promise<T>, request: ControlRequest = {}): Promise<T> {
    const ref = randomUUID();
    const solved = this.control({ ref, ...request });
    solved.catch(() => undefined /* the same is thrown below */);
    const metadata = new Map([['buildkit-controlapi-buildid', [ref]]]);
    const ask: Ask = (method, asked, given) => this.call(`${BRIDGE}/${method}`, asked, metadata, given);
    const processes = (): ProcessStream =>
      new ProcessStream(this.#open().call(`${BRIDGE}/ExecProcess`, { signal, metadata }));
    try {
      return await work(new Bridge(ref, ask, processes));
    } finally {
      await ask('Return', returnRequest.encode({ result: {} }));
      await solved;
    }
  }

  /** Has a graph solved and reads of it. */
  async solved<T>(target: Node, read: (found: SolvedTree) => Promise<T>): Promise<T> {
    return await this.build(async (bridge) => await read(await bridge.solve(target)));
  }

  async call(
    method: string,
    request: Buffer,
    metadata: ReadonlyMap<string, string[]> = new Map(),
    given: AbortSignal = signal,
  ): Promise<Buffer> {
    return await this.#open().unary(method, request, { signal: given, metadata });
  }

  /** What a build reports from its beginning on. */
  updates(ref: string): Updates {
    const call = this.#open().call('/moby.buildkit.v1.Control/Status', { signal });
    return new Updates(call, statusRequest.encode({ ref }));
  }

  #open(): RpcClient {
    if (this.#calls === undefined) {
      throw new Error('the client is not open');
    }
    return this.#calls;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#calls?.destroy();
    await this.server[Symbol.asyncDispose]();
  }
}

type Update = ReturnType<typeof statusResponse.decode>;

/** Reports of a build, as they come. */
export class Updates {
  readonly #updates: AsyncIterator<readonly Buffer[]>;
  readonly #begun: Promise<void>;

  constructor(call: RpcConversation, request: Buffer) {
    this.#begun = call.send(request).then(() => call.end());
    this.#updates = call.batches[Symbol.asyncIterator]();
  }

  /** The next one that is so. */
  async until(isSo: (update: Update) => boolean): Promise<Update> {
    await this.#begun;
    for (;;) {
      const { done, value } = await this.#updates.next();
      if (done === true) {
        throw new Error('the build is over, and it was not told');
      }
      const found = value.map((bytes) => statusResponse.decode(bytes)).find(isSo);
      if (found !== undefined) {
        return found;
      }
    }
  }
}

const NO_NETWORK = 2;
type Mount = Parameters<typeof mountMessage.encode>[0];
type NewContainer = Parameters<typeof newContainerRequest.encode>[0];
type Ask = (method: string, request: Buffer, given?: AbortSignal) => Promise<Buffer>;

/** What a frontend may ask. */
export class Bridge {
  /** Of its build. */
  readonly ref: string;
  readonly ask: Ask;
  /** A stream for processes in containers. */
  readonly processes: () => ProcessStream;

  constructor(
    ref: string,
    ask: Ask,
    processes = (): ProcessStream => {
      throw new Error('this bridge has no streams');
    },
  ) {
    this.ref = ref;
    this.ask = ask;
    this.processes = processes;
  }

  /** A container of this name; a mount is told by its result, its place, and what else is said. */
  async container(id: string, mounts: readonly Mount[], more: NewContainer = {}): Promise<void> {
    const encoded = mounts.map((mount) => mountMessage.encode(mount));
    const request = newContainerRequest.encode({
      containerId: id,
      mounts: encoded,
      network: NO_NETWORK,
      ...more,
    });
    await this.ask('NewContainer', request);
  }

  /** Of a container, by the position of a mount. */
  async textIn(ref: string, mountIndex: number, path: string): Promise<string> {
    const answer = await this.ask('ReadFileContainer', readFileRequest.encode({ ref, mountIndex, path }));
    return String(readFileResponse.decode(answer).data);
  }

  async namesIn(ref: string, mountIndex: number, path: string): Promise<string[]> {
    const answer = await this.ask('ReadDirContainer', readDirRequest.encode({ ref, mountIndex, path }));
    return readDirResponse.decode(answer).entries.map((entry) => String(entry.path));
  }

  async modeIn(ref: string, mountIndex: number, path: string): Promise<string> {
    const answer = await this.ask('StatFileContainer', statFileRequest.encode({ ref, mountIndex, path }));
    return ((statFileResponse.decode(answer).stat?.mode ?? 0) & 0o777).toString(8);
  }

  async release(containerId: string): Promise<void> {
    await this.ask('ReleaseContainer', releaseContainerRequest.encode({ containerId }));
  }

  async solve(target: Node): Promise<SolvedTree> {
    return await this.request({ definition: definitionOf(target) });
  }

  async request(request: GatewayRequest): Promise<SolvedTree> {
    const answer = await this.ask(
      'Solve',
      gatewaySolveRequest.encode({ allowResultReturn: true, evaluate: true, ...request }),
    );
    const { result } = gatewaySolveResponse.decode(answer);
    return new SolvedTree(this, result?.ref?.id ?? '', result?.ref?.def?.def ?? []);
  }
}

/** A result, to be read. */
export class SolvedTree {
  readonly ref: string;
  /** As a graph. */
  readonly definition: readonly Buffer[];
  readonly #bridge: Bridge;

  constructor(bridge: Bridge, ref: string, definition: readonly Buffer[]) {
    this.#bridge = bridge;
    this.ref = ref;
    this.definition = definition;
  }

  async text(path: string): Promise<string> {
    const request = readFileRequest.encode({ ref: this.ref, path });
    return String(readFileResponse.decode(await this.#bridge.ask('ReadFile', request)).data);
  }

  async names(path: string): Promise<string[]> {
    const request = readDirRequest.encode({ ref: this.ref, path });
    const { entries } = readDirResponse.decode(await this.#bridge.ask('ReadDir', request));
    return entries.map((entry) => String(entry.path));
  }

  /** `755 0:0 1970-01-01T00:00:00.000Z`, with the target of a link. */
  async stat(path: string): Promise<string> {
    const request = statFileRequest.encode({ ref: this.ref, path });
    const { stat } = statFileResponse.decode(await this.#bridge.ask('StatFile', request));
    const { mode = 0, uid = 0, gid = 0, modTime = 0n } = stat ?? {};
    const bits = (mode & 0o777).toString(8);
    return `${bits} ${uid}:${gid} ${new Date(Number(modTime / 1_000_000n)).toISOString()}`;
  }

  async evaluate(): Promise<void> {
    await this.#bridge.ask('Evaluate', evaluateRequest.encode({ ref: this.ref }));
  }
}
