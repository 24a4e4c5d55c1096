import { connect as connectHttp2 } from 'node:http2';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { HealthCheck } from '../groups/target-group.ts';
import { statusMatcher } from '../groups/matcher.ts';
import { targetLimits } from '../limits.ts';

export interface ProbeRequest {
  check: HealthCheck;
  /** Address of the target. */
  host: string;
  port: number;
}

/** Why a target is unhealthy; undefined = the check has passed. */
export type ProbeResult =
  | 'HealthCheckTimeout'
  | 'HealthCheckConnectionFailed'
  | 'HealthCheckStatusMismatch'
  | 'HealthCheckInvalidResponse'
  | undefined;

/** Ends a check that takes too long: it is then HealthCheckTimeout. */
export interface Probe {
  expire(): void;
}

/**
 * Checks a target once. `done` is called once and never before this has returned. A target may do what it likes:
 * nothing of its answer is kept past the status, and no more than `checkAnswerBytesMax` are read to find that.
 */
export function probe(request: ProbeRequest, done: (result: ProbeResult) => void): Probe {
  const { check } = request;
  if (check.protocol === 'TCP') {
    return probeTcp(request, done);
  }
  return check.protocolVersion === 'HTTP2' ? probeHttp2(request, done) : probeHttp1(request, done);
}

/** Calls `done` once, and ends what the check has opened. */
function once(end: () => void, done: (result: ProbeResult) => void): (result: ProbeResult) => void {
  let isOver = false;
  return (result) => {
    if (!isOver) {
      isOver = true;
      end();
      done(result);
    }
  };
}

function probeTcp({ host, port }: ProbeRequest, done: (result: ProbeResult) => void): Probe {
  const socket = connectTcp({ host, port });
  const finish = once(() => socket.destroy(), done);
  socket.once('connect', () => finish(undefined));
  socket.on('error', () => finish('HealthCheckConnectionFailed'));
  return { expire: () => finish('HealthCheckTimeout') };
}

function probeHttp1({ check, host, port }: ProbeRequest, done: (result: ProbeResult) => void): Probe {
  const isTls = check.protocol === 'HTTPS';
  const socket: Socket = isTls
    ? connectTls({ host, port, rejectUnauthorized: false })
    : connectTcp({ host, port });
  const finish = once(() => socket.destroy(), done);
  const isRight = statusMatcher(check.matcher?.httpCode ?? '200');
  let head = '';
  socket.once(isTls ? 'secureConnect' : 'connect', () => socket.write(requestText(check, host, port)));
  socket.on('data', (piece: Buffer) => {
    head += piece.subarray(0, targetLimits.checkAnswerBytesMax).toString('latin1');
    const status = finalStatus(head);
    if (status === 'none' || (status === undefined && head.length > targetLimits.checkAnswerBytesMax)) {
      finish('HealthCheckInvalidResponse');
    } else if (status !== undefined) {
      finish(isRight(status) ? undefined : 'HealthCheckStatusMismatch');
    }
  });
  socket.once('end', () => finish('HealthCheckInvalidResponse'));
  socket.on('error', () => finish('HealthCheckConnectionFailed'));
  socket.once('close', () => finish('HealthCheckConnectionFailed'));
  return { expire: () => finish('HealthCheckTimeout') };
}

function requestText(check: HealthCheck, host: string, port: number): string {
  const name = host.includes(':') ? `[${host}]` : host;
  return (
    `GET ${check.path ?? '/'} HTTP/1.1\r\nHost: ${name}:${port}\r\n` +
    'User-Agent: Berth-HealthChecker/1.0\r\nAccept: */*\r\nConnection: close\r\n\r\n'
  );
}

/** The status of an answer's beginning, past those that announce another one; undefined = more is needed. */
function finalStatus(text: string): number | 'none' | undefined {
  let rest = text;
  for (;;) {
    const [line, number = ''] = /^HTTP\/1\.[01] (\d{3})[ \r\n]/.exec(rest) ?? [];
    if (line === undefined) {
      return mayBegin(rest) ? undefined : 'none';
    }
    if (!number.startsWith('1')) {
      return Number(number);
    }
    const end = rest.indexOf('\r\n\r\n');
    if (end < 0) {
      return undefined;
    }
    rest = rest.slice(end + 4);
  }
}

/** Whether what has come can still become a status line. */
function mayBegin(text: string): boolean {
  return text.length < 13 && /^(H|HT|HTT|HTTP|HTTP\/|HTTP\/1(\.([01]( \d{0,3})?)?)?)?$/.test(text);
}

function probeHttp2({ check, host, port }: ProbeRequest, done: (result: ProbeResult) => void): Probe {
  const name = host.includes(':') ? `[${host}]` : host;
  const scheme = check.protocol === 'HTTPS' ? 'https' : 'http';
  const session = connectHttp2(`${scheme}://${name}:${port}`, { rejectUnauthorized: false, servername: '' });
  const finish = once(() => session.destroy(), done);
  const isRight = statusMatcher(check.matcher?.httpCode ?? '200');
  session.on('error', (error) => finish(failureOf(error)));
  session.once('close', () => finish('HealthCheckConnectionFailed'));
  const stream = session.request({
    ':path': check.path ?? '/',
    'user-agent': 'Berth-HealthChecker/1.0',
  });
  stream.on('error', (error) => finish(failureOf(error)));
  stream.once('response', (headers) => {
    finish(isRight(Number(headers[':status'])) ? undefined : 'HealthCheckStatusMismatch');
  });
  stream.once('close', () => finish('HealthCheckInvalidResponse'));
  stream.end();
  return { expire: () => finish('HealthCheckTimeout') };
}

function failureOf(error: unknown): ProbeResult {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return code.startsWith('ERR_HTTP2') ? 'HealthCheckInvalidResponse' : 'HealthCheckConnectionFailed';
}
