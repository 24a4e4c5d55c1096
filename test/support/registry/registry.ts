import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { until } from '../engine/http.ts';
import { freePort } from '../free-port.ts';

/** The one account of a registry with passwords. */
export const ACCOUNT = { username: 'someone', password: 'secret' };
/** bcrypt of `secret`. */
const PASSWORD_HASH = '$2b$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a';

export interface RegistryOptions {
  /** 0 = one that is free on this machine. */
  port: number;
  /** Asks for `ACCOUNT` by basic authentication. */
  password?: boolean;
  /** Asks for tokens of this server (token-server.ts). */
  token?: { realm: string; certificate: string };
  /** Begins with a copy of this one's images. */
  store?: TestRegistry;
  /** PEM files. */
  tls?: { certificate: string; key: string };
  /** How a command line runs where the registry is to be; here by default. */
  enter?: (...argv: string[]) => string[];
}

/** Debian's docker-registry with a store of its own on 127.0.0.1. */
export class TestRegistry implements AsyncDisposable {
  readonly address: string;
  readonly #directory: string;
  readonly #process: ChildProcess;
  #output = '';

  static async start(options: RegistryOptions): Promise<TestRegistry> {
    const port = options.port === 0 ? await freePort() : options.port;
    const registry = new TestRegistry({ ...options, port });
    await until('the registry listens', () => {
      if (registry.#process.exitCode !== null) {
        throw new Error(`docker-registry ended: ${registry.#output}`);
      }
      return registry.#output.includes('listening on');
    });
    return registry;
  }

  private constructor({ port, password, token, store, tls, enter }: RegistryOptions) {
    this.address = `127.0.0.1:${port}`;
    this.#directory = mkdtempSync(path.join(tmpdir(), 'berth-registry-'));
    const data = path.join(this.#directory, 'data');
    const accounts = path.join(this.#directory, 'htpasswd');
    mkdirSync(data);
    if (store) {
      cpSync(path.join(store.#directory, 'data'), data, { recursive: true });
    }
    writeFileSync(accounts, `${ACCOUNT.username}:${PASSWORD_HASH}\n`);
    const config = path.join(this.#directory, 'config.json');
    const http = { addr: this.address, ...(tls && { tls: { certificate: tls.certificate, key: tls.key } }) };
    // YAML is a superset of JSON.
    writeFileSync(
      config,
      JSON.stringify({
        version: 0.1,
        storage: { filesystem: { rootdirectory: data }, delete: { enabled: true } },
        http,
        ...(token && {
          auth: {
            token: {
              realm: token.realm,
              service: 'berth',
              issuer: 'berth',
              rootcertbundle: token.certificate,
            },
          },
        }),
        ...(password && { auth: { htpasswd: { realm: 'berth', path: accounts } } }),
      }),
    );
    const [file = '', ...args] = (enter ?? ((...argv) => argv))('docker-registry', 'serve', config);
    this.#process = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.#process.stdout, this.#process.stderr]) {
      stream?.on('data', (chunk: Buffer) => (this.#output += chunk.toString()));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill('SIGKILL');
    await until(
      'the registry ends',
      () => this.#process.exitCode !== null || this.#process.signalCode !== null,
    );
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
