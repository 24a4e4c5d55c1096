import { EngineError, errorText, type ErrorCode } from '../../../daemon/base/errors.ts';
import { limits } from '../../../daemon/base/limits.ts';
import { bytes, field, message, nested, number, repeated, text } from '../../../daemon/base/wire/protobuf.ts';

/** How a call ended (https://grpc.github.io/grpc/core/md_doc_statuscodes.html): 0 is well. */
export interface RpcStatus {
  code: number;
  message: string;
  details: readonly StatusDetail[];
}

/** A typed fact about an error. */
export interface StatusDetail {
  typeUrl: string;
  value: Buffer;
}

export const OK = 0;
export const UNKNOWN = 2;

/** As BuildKit answers: what has no code of its own is unknown, and `internal` is left to gRPC itself. */
const CODES = {
  canceled: 1,
  remote: UNKNOWN,
  not_modified: UNKNOWN,
  internal: UNKNOWN,
  invalid_argument: 3,
  deadline_exceeded: 4,
  not_found: 5,
  conflict: 6,
  forbidden: 7,
  resource_exhausted: 8,
  failed_precondition: 9,
  not_implemented: 12,
  unavailable: 14,
  unauthorized: 16,
} as const satisfies Record<ErrorCode, number>;

const BY_CODE = new Map<number, ErrorCode>(
  Object.entries(CODES).flatMap(([name, code]) =>
    // The keys of CODES are error codes.
    code === UNKNOWN ? [] : [[code, name as ErrorCode]],
  ),
);

const anyMessage = message({ typeUrl: field(1, text), value: field(2, bytes) });
const statusMessage = message({
  code: field(1, number),
  message: field(2, text),
  details: repeated(3, nested(anyMessage)),
});

/** Of anything thrown, without details. */
export function statusOf(error: unknown): RpcStatus {
  const code = error instanceof EngineError ? CODES[error.code] : UNKNOWN;
  return { code, message: errorText(error), details: [] };
}

/** What a peer's status is in the engine's terms; `what` begins its message. */
export function errorOf({ code, message: said }: RpcStatus, what: string): EngineError {
  return new EngineError(BY_CODE.get(code) ?? 'remote', `${what}: ${said === '' ? `status ${code}` : said}`, {
    details: { status: code },
  });
}

/** Of a message: each may become nine bytes, in a block of headers of which it must not be more than a part. */
const MESSAGE_LENGTH_MAX = limits.rpcTrailerBytesMax / 16;

/**
 * Trailers of a call. They are one block of headers, which is sent whole or not at all: where an error is larger than
 * `limits.rpcTrailerBytesMax`, a long message loses its end, and then the largest details are left out.
 */
export function trailersOf(status: RpcStatus): Record<string, string> {
  const isLong = status.message.length > MESSAGE_LENGTH_MAX;
  const cut = isLong ? { message: `${status.message.slice(0, MESSAGE_LENGTH_MAX)}...` } : {};
  let { details } = status;
  let trailers = whole({ ...status, ...cut });
  while (bytesOf(trailers) > limits.rpcTrailerBytesMax && details.length > 0) {
    const largest = Math.max(...details.map(({ value }) => value.length));
    details = details.filter(({ value }) => value.length < largest);
    trailers = whole({ ...status, ...cut, details });
  }
  return trailers;
}

function whole(status: RpcStatus): Record<string, string> {
  return {
    'grpc-status': String(status.code),
    ...(status.message !== '' && { 'grpc-message': escapeMessage(status.message) }),
    ...(status.details.length > 0 && { 'grpc-status-details-bin': detailsOf(status) }),
  };
}

/** As HTTP/2 counts them at most (https://www.rfc-editor.org/rfc/rfc7541#section-4.1). */
function bytesOf(trailers: Record<string, string>): number {
  return Object.entries(trailers).reduce((sum, [name, value]) => sum + name.length + value.length + 32, 256);
}

/** Of the trailers that a peer sent; without any the call was cut off. */
export function readTrailers(trailers: Readonly<Record<string, unknown>>): RpcStatus | undefined {
  const code = trailers['grpc-status'];
  if (typeof code !== 'string' || !/^\d{1,3}$/.test(code)) {
    return undefined;
  }
  const said = trailers['grpc-message'];
  return { code: Number(code), message: typeof said === 'string' ? unescapeMessage(said) : '', details: [] };
}

function detailsOf({ code, message: said, details }: RpcStatus): string {
  const encoded = statusMessage.encode({ code, message: said, details: [...details] });
  return encoded.toString('base64').replace(/=+$/, '');
}

/** All but printable ASCII, and `%`, as the percent-encoded bytes of UTF-8. */
function escapeMessage(text_: string): string {
  return Buffer.from(text_)
    .toString('latin1')
    .replaceAll(
      /[^\x20-\x24\x26-\x7e]/g,
      (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
    );
}

function unescapeMessage(escaped: string): string {
  const raw = escaped.replaceAll(/%([0-9A-Fa-f]{2})/g, (_all, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  );
  return Buffer.from(raw, 'latin1').toString('utf8');
}
