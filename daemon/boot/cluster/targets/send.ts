import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { homedir } from 'node:os';
import path from 'node:path';
import { EngineError, errorText, ifThere, invalidArgument } from '../../../base/errors.ts';
import type { HubArguments } from '../../hub/arguments.ts';
import { signRequest } from '../../../cluster/targets/signing/sign.ts';

export interface CommandRequest {
  method: string;
  /** Path and query. */
  target: string;
  body: object | undefined;
}

export interface Sent {
  status: number;
  text: string;
}

/** Where requests go, and how they are made (seed 002, 4B). */
export interface SendOptions {
  /** Undefined: the daemon of this host, by its socket. */
  endpoint: URL | undefined;
  socket: () => string;
  isSigned: boolean;
  profile: string;
  region: string;
  isVerified: boolean;
  /** Requests and answers are told on standard error; signatures are not. */
  isDebug: boolean;
  /** Certificates of authorities, PEM; undefined = those that Node.js knows. */
  authorities: string | undefined;
  /** Milliseconds; 0 = as long as it takes. */
  readMs: number;
  connectMs: number;
}

/** Reads the flags that say where a request goes. Throws invalid_argument that names the flag. */
export function sendOptions({ values, switches }: HubArguments, socket: () => string): SendOptions {
  const url = values.get('endpoint-url');
  if (url !== undefined && !(URL.canParse(url) && /^https?:$/.test(new URL(url).protocol))) {
    throw invalidArgument(`--endpoint-url: must be http://... or https://..., not ${JSON.stringify(url)}`);
  }
  return {
    endpoint: url === undefined ? undefined : new URL(url),
    socket,
    isSigned: !switches.has('no-sign-request'),
    profile: values.get('profile') ?? process.env['AWS_PROFILE'] ?? 'default',
    region: values.get('region') ?? process.env['AWS_REGION'] ?? 'local',
    isVerified: !switches.has('no-verify-ssl'),
    isDebug: switches.has('debug'),
    authorities: authoritiesOf(values.get('ca-bundle')),
    readMs: seconds(values, 'cli-read-timeout'),
    connectMs: seconds(values, 'cli-connect-timeout'),
  };
}

function authoritiesOf(file: string | undefined): string | undefined {
  try {
    return file === undefined ? undefined : readFileSync(file, 'utf8');
  } catch (error) {
    throw invalidArgument(`--ca-bundle: ${errorText(error)}`, { cause: error });
  }
}

function seconds(values: HubArguments['values'], flag: string): number {
  const text = values.get(flag) ?? '60';
  if (!/^\d{1,6}$/.test(text)) {
    throw invalidArgument(`--${flag}: must be seconds, 0 for no limit, not ${JSON.stringify(text)}`);
  }
  return Number(text) * 1000;
}

/** Makes one request. Throws unavailable where nobody answers. */
export async function send(request: CommandRequest, options: SendOptions): Promise<Sent> {
  const { endpoint, connectMs, readMs } = options;
  const body = Buffer.from(request.body === undefined ? '' : JSON.stringify(request.body));
  const prefix = endpoint === undefined ? '/cluster' : endpoint.pathname.replace(/\/$/, '');
  const target = prefix + request.target;
  const headers = {
    host: endpoint?.host ?? 'cluster',
    ...(request.body !== undefined && { 'content-type': 'application/json' }),
    'content-length': String(body.length),
  };
  const signed =
    endpoint === undefined || !options.isSigned
      ? headers
      : signRequest({ method: request.method, target, headers, body }, credentials(options.profile), {
          region: options.region,
          nowMs: Date.now(),
        });
  return await new Promise((resolve, reject) => {
    const sending = begin(options, { method: request.method, path: target, headers: signed });
    const give = (error: Error): void => {
      const where = endpoint?.href ?? `the daemon at ${options.socket()}`;
      reject(new EngineError('unavailable', `cannot reach ${where}: ${errorText(error)}`, { cause: error }));
    };
    const timer = limit(connectMs, () => sending.destroy(new Error('no connection in time')));
    sending.once('socket', (socket) => {
      socket.once(endpoint?.protocol === 'https:' ? 'secureConnect' : 'connect', () => clearTimeout(timer));
    });
    sending.setTimeout(readMs, () => sending.destroy(new Error('no answer in time')));
    sending.once('error', give);
    sending.once('close', () => clearTimeout(timer));
    sending.once('response', (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      answer.once('error', give);
      answer.once('end', () => resolve({ status: answer.statusCode ?? 0, text }));
    });
    sending.end(body);
  });
}

function begin(options: SendOptions, request: http.RequestOptions): http.ClientRequest {
  const { endpoint, isVerified, authorities } = options;
  if (endpoint === undefined) {
    return http.request({ ...request, socketPath: options.socket() });
  }
  const to = { ...request, host: endpoint.hostname.replaceAll(/[[\]]/g, ''), port: endpoint.port };
  return endpoint.protocol === 'http:'
    ? http.request(to)
    : https.request({
        ...to,
        rejectUnauthorized: isVerified,
        ...(authorities !== undefined && { ca: authorities }),
      });
}

function limit(ms: number, then: () => void): NodeJS.Timeout | undefined {
  return ms === 0 ? undefined : setTimeout(then, ms);
}

interface Credentials {
  accessKeyId: string;
  secretAccessKey: string;
}

/** Of the environment, or of a profile of the file that the original's tool has. Throws invalid_argument. */
function credentials(profile: string): Credentials {
  const accessKeyId = process.env['AWS_ACCESS_KEY_ID'];
  const secretAccessKey = process.env['AWS_SECRET_ACCESS_KEY'];
  if (accessKeyId !== undefined && secretAccessKey !== undefined) {
    return { accessKeyId, secretAccessKey };
  }
  const file = process.env['AWS_SHARED_CREDENTIALS_FILE'] ?? path.join(homedir(), '.aws', 'credentials');
  const lines = (ifThere(() => readFileSync(file, 'utf8')) ?? '').split(/\r?\n/);
  const section = new Map<string, string>();
  let isMeant = false;
  for (const line of lines) {
    const [, name] = /^\s*\[\s*(.+?)\s*\]/.exec(line) ?? [];
    const [, key = '', value = ''] = /^\s*([a-z_]+)\s*=\s*(\S+)/.exec(line) ?? [];
    isMeant = name === undefined ? isMeant : name === profile;
    if (isMeant && key !== '') {
      section.set(key, value);
    }
  }
  const id = section.get('aws_access_key_id');
  const secret = section.get('aws_secret_access_key');
  if (id === undefined || secret === undefined) {
    throw invalidArgument(
      `--profile: ${file} has no keys of ${JSON.stringify(profile)}; berthd cluster create-access-key makes some, ` +
        'and --no-sign-request goes without',
    );
  }
  return { accessKeyId: id, secretAccessKey: secret };
}
