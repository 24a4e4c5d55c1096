import type { Duplex } from 'node:stream';
import { EngineError, isEngineError } from '../../../daemon/base/errors.ts';
import { limits } from '../../../daemon/base/limits.ts';
import type { Logger } from '../../../daemon/base/logger.ts';
import { answerMessage, policyAnswerOf } from '../services/source-question.ts';
import type { RegistryAuth } from '../../types/image.ts';
import type {
  AgentConnection,
  AskedOutput,
  BuildSession,
  ClientContent,
  FileSending,
  FilesRequest,
  FileTransfer,
  MadeResult,
  SendTarget,
} from '../../types/build/session.ts';
import { bytesMessage } from '../proto/common.ts';
import { checkPolicyRequest, checkPolicyResponse } from '../proto/sources.ts';
import type { PolicyAnswer, PolicyQuestion } from '../../types/build/sources.ts';
import {
  agentRequest,
  credentialsRequest,
  credentialsResponse,
  finalizeExportRequest,
  findExportersRequest,
  findExportersResponse,
  healthRequest,
  healthResponse,
  secretRequest,
  secretResponse,
  SERVING,
} from '../proto/session.ts';
import { RpcClient, type RpcConversation } from '../rpc/client.ts';
import { CONTENT_METHODS, openContent } from './content.ts';
import { openSending, sendBytes } from './filesend.ts';
import { openFiles } from './filesync.ts';

/** What a client says of its session when it opens it. */
export interface SessionFacts {
  id: string;
  sharedKey: string;
  /** `/moby.filesync.v1.FileSync/DiffCopy` and others, in any case. */
  methods: readonly string[];
}

const METHODS = {
  files: '/moby.filesync.v1.FileSync/DiffCopy',
  send: '/moby.filesync.v1.FileSend/DiffCopy',
  credentials: '/moby.filesync.v1.Auth/Credentials',
  secret: '/moby.buildkit.secrets.v1.Secrets/GetSecret',
  upload: '/moby.upload.v1.Upload/Pull',
  hasAgent: '/moby.sshforward.v1.SSH/CheckAgent',
  policy: '/moby.buildkit.v1.sourcepolicy.policysession.PolicyVerifier/CheckPolicy',
  outputs: '/moby.exporter.v1.Exporter/FindExporters',
  exported: '/moby.exporter.v1.Exporter/FinalizeExport',
  agent: '/moby.sshforward.v1.SSH/ForwardAgent',
  check: '/grpc.health.v1.Health/Check',
} as const;

/** A client's session on its connection: we call, the client answers. */
export class ClientSession implements BuildSession {
  readonly id: string;
  readonly sharedKey: string;
  readonly closed: Promise<void>;
  readonly #methods: ReadonlySet<string>;
  readonly #client: RpcClient;

  constructor(connection: Duplex, facts: SessionFacts, log: Logger) {
    this.id = facts.id;
    this.sharedKey = facts.sharedKey;
    this.#methods = new Set(facts.methods.map((method) => method.toLowerCase()));
    this.#client = new RpcClient(connection, log);
    this.closed = this.#client.closed;
  }

  get isOpen(): boolean {
    return !this.#client.isClosed;
  }

  end(): void {
    this.#client.destroy();
  }

  files(request: FilesRequest, signal: AbortSignal): FileTransfer {
    this.#need('files', `its directory ${request.directory}`);
    return openFiles(this.#client, request, signal);
  }

  async credentials(host: string, signal: AbortSignal): Promise<RegistryAuth> {
    if (!this.#has('credentials')) {
      return {};
    }
    const request = credentialsRequest.encode({ host });
    const answer = await this.#ask(METHODS.credentials, request, signal);
    const { username, secret } = credentialsResponse.decode(answer);
    if (secret === '') {
      return {};
    }
    return username === '' ? { identityToken: secret } : { username, password: secret };
  }

  async secret(id: string, signal: AbortSignal): Promise<Buffer> {
    if (!this.#has('secret')) {
      throw new EngineError('not_found', `secret ${id}: the client offers none`);
    }
    return secretResponse.decode(await this.#ask(METHODS.secret, secretRequest.encode({ id }), signal)).data;
  }

  async hasAgent(id: string, signal: AbortSignal): Promise<boolean> {
    if (!this.#has('hasAgent')) {
      return false;
    }
    try {
      await this.#ask(METHODS.hasAgent, agentRequest.encode({ id }), signal);
      return true;
    } catch (error) {
      if (isEngineError(error, 'canceled') || isEngineError(error, 'unavailable')) {
        throw error;
      }
      // Clients say it in different words, and by no code.
      return false;
    }
  }

  agent(id: string, signal: AbortSignal): AgentConnection {
    this.#need('agent', `the key agent ${id}`);
    return openAgent(this.#client.call(METHODS.agent, { signal, metadata: new Map([[AGENT_ID, [id]]]) }));
  }

  async *upload(path: string, signal: AbortSignal): AsyncGenerator<Buffer> {
    this.#need('upload', `the context ${path}`);
    await using call = this.#client.call(METHODS.upload, { signal, metadata: uploadMetadata(path) });
    call.end();
    for await (const messages of call.batches) {
      yield* messages.map((message) => bytesMessage.decode(message).data);
    }
  }

  content(store: string): ClientContent {
    const missing = CONTENT_METHODS.find((method) => !this.#methods.has(method.toLowerCase()));
    if (missing !== undefined) {
      throw new EngineError('not_implemented', `the client does not offer its store ${store} (${missing})`);
    }
    return openContent(this.#client, store);
  }

  async sendBytes(target: SendTarget, bytes: AsyncIterable<Buffer>, signal: AbortSignal): Promise<void> {
    this.#need('send', `a place for output ${target.output}`);
    await sendBytes(this.#client, target, bytes, signal);
  }

  async checkSource({ platform, known }: PolicyQuestion, signal: AbortSignal): Promise<PolicyAnswer> {
    this.#need('policy', 'a policy of sources');
    const request = checkPolicyRequest.encode({
      ...(platform && { platform }),
      source: answerMessage(known),
    });
    // As long as it takes: its policy may ask others.
    const answer = checkPolicyResponse.decode(await this.#client.unary(METHODS.policy, request, { signal }));
    return policyAnswerOf(answer);
  }

  async outputs(made: MadeResult, signal: AbortSignal): Promise<readonly AskedOutput[]> {
    const request = findExportersRequest.encode({ metadata: new Map(made.metadata), refs: [...made.refs] });
    const answer = await this.#askIfThere('outputs', request, signal);
    const { exporters } = findExportersResponse.decode(answer ?? Buffer.alloc(0));
    return exporters.map(({ type, attrs }) => ({ type, attributes: attrs }));
  }

  async exported(told: ReadonlyMap<string, string>, signal: AbortSignal): Promise<void> {
    await this.#askIfThere(
      'exported',
      finalizeExportRequest.encode({ exporterResponse: new Map(told) }),
      signal,
    );
  }

  sendFiles(target: SendTarget, signal: AbortSignal): FileSending {
    this.#need('send', `a place for output ${target.output}`);
    return openSending(this.#client, target, signal);
  }

  async check(signal: AbortSignal): Promise<void> {
    const answer = await this.#ask(METHODS.check, healthRequest.encode({}), signal);
    if (healthResponse.decode(answer).status !== SERVING) {
      throw new EngineError('unavailable', 'the session of the client is not serving');
    }
  }

  async #ask(method: string, request: Buffer, signal: AbortSignal): Promise<Buffer> {
    const timeoutMs = limits.sessionAnswerMs;
    try {
      return await this.#client.unary(method, request, { signal, timeoutMs });
    } catch (error) {
      // An answer that is no protocol buffer.
      throw isEngineError(error) ? error : new EngineError('remote', `${method}: ${String(error)}`);
    }
  }

  /** As long as it takes: the client may have work to do for it. Undefined: it has nobody to answer. */
  async #askIfThere(
    name: keyof typeof METHODS,
    request: Buffer,
    signal: AbortSignal,
  ): Promise<Buffer | undefined> {
    if (!this.#has(name)) {
      return undefined;
    }
    try {
      return await this.#client.unary(METHODS[name], request, { signal });
    } catch (error) {
      // As BuildKit: the service may be there without what it needs. Who has gone is no such client.
      const isNobody = isEngineError(error, 'not_implemented') || isEngineError(error, 'unavailable');
      if (isNobody && this.isOpen) {
        return undefined;
      }
      throw error;
    }
  }

  #has(name: keyof typeof METHODS): boolean {
    return this.#methods.has(METHODS[name].toLowerCase());
  }

  #need(name: keyof typeof METHODS, what: string): void {
    if (!this.#has(name)) {
      throw new EngineError('not_implemented', `the client does not offer ${what} (${METHODS[name]})`);
    }
  }
}

/** Metadata that names a key agent. */
const AGENT_ID = 'buildkit.ssh.id';

function openAgent(call: RpcConversation): AgentConnection {
  async function* received(): AsyncGenerator<Buffer> {
    for await (const messages of call.batches) {
      yield* messages.map((message) => bytesMessage.decode(message).data);
    }
  }
  return {
    received: received(),
    send: (bytes) => call.send(bytesMessage.encode({ data: Buffer.from(bytes) })),
    end: () => call.end(),
    [Symbol.asyncDispose]: () => call[Symbol.asyncDispose](),
  };
}

function uploadMetadata(path: string): Map<string, readonly string[]> {
  return new Map([
    ['urlpath', [path]],
    ['urlhost', ['buildkit-session']],
  ]);
}
