import { validateHeaderName, validateHeaderValue } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';

export interface FunctionRequest {
  method: string;
  /** Path and query as they came. */
  target: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
  serviceArn: string;
  targetGroupArn: string;
  sourceAddress: string;
  nowMs: number;
}

/** The event that a function gets, in either structure of the original (user guide of VPC Lattice). Pure. */
export function functionEvent(version: 'V1' | 'V2', request: FunctionRequest): object {
  const { method, target, headers, body, nowMs } = request;
  const { pathname, searchParams } = new URL(target, 'http://target');
  const isText = Buffer.from(body.toString()).equals(body);
  const text = body.toString(isText ? 'utf8' : 'base64');
  if (version === 'V1') {
    return {
      raw_path: target,
      method,
      headers: Object.fromEntries(entriesOf(headers).map(([name, values]) => [name, values.join(',')])),
      query_string_parameters: Object.fromEntries(searchParams),
      body: text,
      is_base64_encoded: !isText,
    };
  }
  return {
    version: '2.0',
    path: pathname,
    method,
    headers: Object.fromEntries(entriesOf(headers)),
    queryStringParameters: Object.fromEntries(
      [...new Set(searchParams.keys())].map((name) => [name, searchParams.getAll(name)]),
    ),
    body: text,
    isBase64Encoded: !isText,
    requestContext: {
      serviceNetworkArn: '',
      serviceArn: request.serviceArn,
      targetGroupArn: request.targetGroupArn,
      identity: { sourceVpcArn: '', type: 'NONE', principal: request.sourceAddress },
      region: 'local',
      timeEpoch: String(nowMs * 1000),
    },
  };
}

export interface FunctionReply {
  statusCode: number;
  headers: Record<string, string>;
  body: Buffer;
}

/** What a function has answered; undefined = it is no answer. Pure. */
export function functionReply(text: string): FunctionReply | undefined {
  const answer = jsonOf(text);
  const { statusCode, headers = {}, body = '', isBase64Encoded = false } = answer ?? {};
  if (
    typeof statusCode !== 'number' ||
    !Number.isInteger(statusCode) ||
    statusCode < 200 ||
    statusCode > 599
  ) {
    return undefined;
  }
  if (typeof headers !== 'object' || headers === null || typeof body !== 'string') {
    return undefined;
  }
  const right = Object.entries(headers).map(([name, value]) => [name, String(value)] as const);
  return right.every(isHeader)
    ? {
        statusCode,
        headers: Object.fromEntries(right.filter(([name]) => !FRAMING.has(name.toLowerCase()))),
        body: Buffer.from(body, isBase64Encoded === true ? 'base64' : 'utf8'),
      }
    : undefined;
}

/** Said by whoever sends the body. */
const FRAMING = new Set(['content-length', 'transfer-encoding', 'connection']);

function isHeader([name, value]: readonly [string, string]): boolean {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    return true;
  } catch {
    // The function says what no header can say.
    return false;
  }
}

function entriesOf(headers: IncomingHttpHeaders): [string, string[]][] {
  const sent = Object.entries(headers).filter(([name]) => !name.startsWith(':') || name === ':authority');
  return sent.flatMap(([name, value]): [string, string[]][] =>
    value === undefined ? [] : [[name === ':authority' ? 'host' : name, [value].flat()]],
  );
}

function jsonOf(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    // Whatever the function has printed, it is no answer.
    return undefined;
  }
}
