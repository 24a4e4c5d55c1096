import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { ifThere, errorText } from '../../../daemon/base/errors.ts';
import { limits } from '../../../daemon/base/limits.ts';
import { callHttp } from '../../http/call.ts';
import type { HttpResponse, HttpCall } from '../../http/call.ts';
import type { AwsCredentials } from './signature.ts';

/** Where containers of Amazon's services ask for credentials, and where machines do. */
const CONTAINER_HOST = 'http://169.254.170.2';
const MACHINE_HOST = 'http://169.254.169.254';
/** Fetched anew this long before they end. */
const RENEW_BEFORE_MS = 5 * 60_000;

type Environment = Readonly<Record<string, string | undefined>>;

/** Credentials of the daemon for Amazon's services, from wherever their own programs would take them. */
export class AwsCredentialSource {
  readonly #environment: Environment;
  /** A path on the container host that a container's options name. */
  readonly #endpoint: string | undefined;
  #current: AwsCredentials | undefined;

  constructor(environment: Environment, endpoint: string | undefined) {
    this.#environment = environment;
    this.#endpoint = endpoint;
  }

  /** Throws when there are none. */
  async get(): Promise<AwsCredentials> {
    const { expiresAtMs } = this.#current ?? {};
    if (this.#current === undefined || (expiresAtMs ?? Infinity) - RENEW_BEFORE_MS < Date.now()) {
      this.#current = await this.#find();
    }
    return this.#current;
  }

  async #find(): Promise<AwsCredentials> {
    const environment = this.#environment;
    if (this.#endpoint) {
      return fetchCredentials(new URL(this.#endpoint, CONTAINER_HOST), {});
    }
    const relative = environment['AWS_CONTAINER_CREDENTIALS_RELATIVE_URI'];
    const full = environment['AWS_CONTAINER_CREDENTIALS_FULL_URI'];
    const given = fromEnvironment(environment) ?? fromFile(environment);
    if (given !== undefined) {
      return given;
    }
    if (relative || full) {
      const token = environment['AWS_CONTAINER_AUTHORIZATION_TOKEN'];
      const url = relative ? new URL(relative, CONTAINER_HOST) : new URL(full ?? '');
      return fetchCredentials(url, token ? { Authorization: token } : {});
    }
    try {
      return await fromMachine();
    } catch (error) {
      throw new Error(
        'no AWS credentials: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not in the environment of the daemon, ' +
          `there is no file of them, and this machine has no role (${errorText(error)})`,
        { cause: error },
      );
    }
  }
}

function fromEnvironment(environment: Environment): AwsCredentials | undefined {
  const accessKeyId = environment['AWS_ACCESS_KEY_ID'];
  const secretAccessKey = environment['AWS_SECRET_ACCESS_KEY'];
  const sessionToken = environment['AWS_SESSION_TOKEN'];
  return accessKeyId && secretAccessKey
    ? { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) }
    : undefined;
}

/** The shared credentials file, an INI file with a section for each profile. */
function fromFile(environment: Environment): AwsCredentials | undefined {
  const path = environment['AWS_SHARED_CREDENTIALS_FILE'] ?? join(homedir(), '.aws/credentials');
  const values = profile(readIfThere(path), environment['AWS_PROFILE'] ?? 'default');
  return fromEnvironment({
    AWS_ACCESS_KEY_ID: values['aws_access_key_id'],
    AWS_SECRET_ACCESS_KEY: values['aws_secret_access_key'],
    AWS_SESSION_TOKEN: values['aws_session_token'],
  });
}

function profile(text: string, name: string): Record<string, string | undefined> {
  const values: Record<string, string> = {};
  let section = '';
  for (const line of text.split('\n')) {
    section = /^\s*\[\s*(.*?)\s*\]/.exec(line)?.[1] ?? section;
    const pair = /^\s*([a-z_]+)\s*=\s*(.*?)\s*$/.exec(line);
    if (pair !== null && section === name) {
      values[pair[1] ?? ''] = pair[2] ?? '';
    }
  }
  return values;
}

function readIfThere(path: string): string {
  return ifThere(() => readFileSync(path, 'utf8'), ['ENOENT', 'ENOTDIR']) ?? '';
}

/** The role of the machine (instance metadata service, version 2). */
async function fromMachine(): Promise<AwsCredentials> {
  const roles = new URL('/latest/meta-data/iam/security-credentials/', MACHINE_HOST);
  const headers = await machineToken();
  const { text } = await askMachine(roles, { method: 'GET', headers });
  return fetchCredentials(new URL(text.trim().split('\n')[0] ?? '', roles), headers);
}

/** The region that the machine is in. */
export async function machineRegion(): Promise<string> {
  const url = new URL('/latest/meta-data/placement/region', MACHINE_HOST);
  const headers = await machineToken();
  const { status, text } = await askMachine(url, { method: 'GET', headers });
  if (status !== 200) {
    throw new Error(`instance metadata: ${status}`);
  }
  return text.trim();
}

async function machineToken(): Promise<Record<string, string>> {
  const { text } = await askMachine(new URL('/latest/api/token', MACHINE_HOST), {
    method: 'PUT',
    headers: { 'X-aws-ec2-metadata-token-ttl-seconds': '60' },
  });
  return { 'X-aws-ec2-metadata-token': text };
}

/** Through a proxy it would be the proxy's machine that answers. */
function askMachine(url: URL, call: Pick<HttpCall, 'method' | 'headers'>): Promise<HttpResponse> {
  return callHttp(url, { ...call, isDirect: true, timeoutMs: limits.awsMachineMs });
}

async function fetchCredentials(url: URL, headers: Record<string, string>): Promise<AwsCredentials> {
  const { status, text } = await callHttp(url, { method: 'GET', headers, isDirect: true });
  const answer: unknown = status === 200 ? JSON.parse(text) : undefined;
  const value = (key: string): string => {
    const found: unknown =
      typeof answer === 'object' && answer !== null ? Reflect.get(answer, key) : undefined;
    return typeof found === 'string' ? found : '';
  };
  if (value('AccessKeyId') === '') {
    throw new Error(`no AWS credentials from ${url.href}: ${status}`);
  }
  const expiresAtMs = Date.parse(value('Expiration'));
  return {
    accessKeyId: value('AccessKeyId'),
    secretAccessKey: value('SecretAccessKey'),
    ...(value('Token') !== '' && { sessionToken: value('Token') }),
    ...(Number.isFinite(expiresAtMs) && { expiresAtMs }),
  };
}
