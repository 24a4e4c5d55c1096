import { execFile, execFileSync, spawn, type ChildProcessByStdio } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { run as runOrThrow } from '../../../scripts/lib/debootstrap.ts';
import { serveCluster, type ServedCluster } from './serve-cluster.ts';

const run = promisify(execFile);

const FETCH = `cd "$1"
apt-get -qq -o APT::Sandbox::User=root download kubernetes-client=1.20.*
dpkg -x *.deb .
rm *.deb`;

const CACHE = '/var/cache/berth-kubectl';

/** kubectl 1.20 of Debian 12, out of its package and without installing it; undefined where it cannot be had. */
export function debianKubectl(): string | undefined {
  const program = join(CACHE, 'usr/bin/kubectl');
  if (existsSync(program)) {
    return program;
  }
  const draft = `${CACHE}-${process.pid}`;
  mkdirSync(draft, { recursive: true });
  try {
    runOrThrow('sh', '-ec', FETCH, 'sh', draft);
    // A run beside this one may have been faster.
    if (!existsSync(CACHE)) {
      renameSync(draft, CACHE);
    }
    return program;
  } catch (error) {
    // No Debian 12, or no mirror: its tests are skipped, and this is why.
    console.error(String(error));
    return undefined;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** A kubectl and the events that it is used with, over TLS. */
export class Kubectl implements AsyncDisposable {
  readonly #program: string;
  readonly #cluster: ServedCluster;
  readonly #directory: string;

  static async serve(program: string): Promise<Kubectl> {
    const directory = mkdtempSync(join(tmpdir(), 'berth-test-kubectl-'));
    const [key, certificate] = [join(directory, 'key.pem'), join(directory, 'cert.pem')];
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
    const names = ['-subj', '/CN=berth', '-addext', 'subjectAltName=IP:127.0.0.1'];
    await run('openssl', ['req', '-x509', ...curve, ...names, '-keyout', key, '-out', certificate]);
    const tls = { certificate: readFileSync(certificate, 'utf8'), key: readFileSync(key, 'utf8') };
    return new Kubectl(program, await serveCluster({ tls }), directory);
  }

  private constructor(program: string, cluster: ServedCluster, directory: string) {
    this.#program = program;
    this.#cluster = cluster;
    this.#directory = directory;
  }

  /** `20` of 1.20. */
  get minor(): number {
    const text = execFileSync(this.#program, ['version', '--client', '-o', 'json'], this.#options);
    return Number(JSON.parse(text.toString()).clientVersion.minor.replace(/\D/g, ''));
  }

  /** What it prints. Throws with what it complains of. */
  async run(...words: string[]): Promise<string> {
    return await this.as('writer', ...words);
  }

  async as(token: string, ...words: string[]): Promise<string> {
    const { stdout } = await run(this.#program, this.#arguments(words, token), this.#options);
    return stdout;
  }

  spawn(...words: string[]): ChildProcessByStdio<null, Readable, null> {
    return spawn(this.#program, this.#arguments(words, 'writer'), {
      ...this.#options,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  }

  /** A file with an object. */
  written(name: string, object: object): string {
    const file = join(this.#directory, name);
    writeFileSync(file, JSON.stringify(object));
    return file;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#cluster[Symbol.asyncDispose]();
    rmSync(this.#directory, { recursive: true });
  }

  get #options() {
    return { env: { PATH: process.env['PATH'], HOME: this.#directory, KUBECONFIG: '/dev/null' } };
  }

  #arguments(words: readonly string[], token: string): string[] {
    const authority = join(this.#directory, 'cert.pem');
    return ['--server', this.#cluster.url, '--token', token, '--certificate-authority', authority, ...words];
  }
}
