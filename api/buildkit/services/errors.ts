import {
  BuildError,
  DeniedSourceError,
  UnsupportedError,
  type FailedStep,
  type SourcePlace,
} from '../../../daemon/base/build-error.ts';
import { EngineError, type ErrorCode } from '../../../daemon/base/errors.ts';
import { statusOf, UNKNOWN, type RpcStatus, type StatusDetail } from '../rpc/status.ts';

const PREFIX = 'github.com/moby/buildkit/errdefs';

/** An error that a client has returned as the result of its build: it gets it back as it was. */
export class ReturnedError extends EngineError {
  readonly status: RpcStatus;

  constructor(status: RpcStatus) {
    super('remote', status.message);
    this.status = status;
  }
}

/** Codes that clients act on; before the text of a build's error they print every code but unknown. */
const CODES_OF_BUILDS: ReadonlySet<ErrorCode> = new Set([
  'canceled',
  'deadline_exceeded',
  'not_implemented',
  'unavailable',
]);

/** `work` of a build: what it throws has no code of its own, as with BuildKit. */
export async function asBuild<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw error instanceof EngineError ? new ReturnedError(statusOfBuild(error)) : error;
  }
}

/** Of what a build failed with. */
export function statusOfBuild(error: unknown): RpcStatus {
  const status = buildkitStatus(error);
  return error instanceof EngineError && !CODES_OF_BUILDS.has(error.code)
    ? { ...status, code: UNKNOWN }
    : status;
}

/** Of anything thrown, with what BuildKit's clients know of errors: JSON of Go's structures. */
export function buildkitStatus(error: unknown): RpcStatus {
  if (error instanceof ReturnedError) {
    return error.status;
  }
  const status = statusOf(error);
  if (error instanceof UnsupportedError) {
    return { ...status, details: [detail(DETAILS[error.what], { name: error.asked })] };
  }
  const denied = deniedDetails(error);
  if (!(error instanceof BuildError)) {
    return { ...status, details: denied };
  }
  const { source, vertex, step } = error;
  return {
    ...status,
    details: [
      ...denied,
      ...(vertex === undefined ? [] : [detail('Vertex', { digest: vertex })]),
      ...(source === undefined ? [] : [detail('Source', sourceOf(source))]),
      ...(step === undefined ? [] : [detail('Solve', solveOf(step))]),
    ],
  };
}

/** What a client's policy says of a source that it denies, wherever in the build that was. */
function deniedDetails(error: unknown): StatusDetail[] {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof DeniedSourceError) {
      const denyMessages = cause.messages.map((message) => ({ message }));
      const value = Buffer.from(JSON.stringify({ action: DENY, denyMessages }));
      return [{ typeUrl: 'github.com/moby/buildkit/policysession.DecisionResponse+json', value }];
    }
  }
  return [];
}

const DENY = 1;
const DETAILS = { request: 'Subrequest', capability: 'FrontendCap' } as const;

function solveOf({ op, inputs, mounts }: FailedStep): object {
  return { inputIDs: inputs, mountIDs: mounts, op };
}

function sourceOf({ filename, data, line, endLine }: SourcePlace): object {
  return {
    info: {
      filename,
      data: Buffer.from(data).toString('base64'),
      language: 'Dockerfile',
      // Clients only look whether there is one.
      definition: {},
    },
    // One for each line, as clients have them.
    ranges: Array.from({ length: endLine - line + 1 }, (_, index) => {
      const at = { line: line + index };
      return { start: at, end: at };
    }),
  };
}

/** Of a process that has ended with another code than 0. */
export function exitDetail(code: number): StatusDetail {
  const value = Buffer.from(JSON.stringify({ Code: code }));
  return { typeUrl: 'github.com/moby/buildkit/gatewayapi.ExitMessage+json', value };
}

function detail(name: string, value: object): StatusDetail {
  return { typeUrl: `${PREFIX}.${name}+json`, value: Buffer.from(JSON.stringify(value)) };
}
