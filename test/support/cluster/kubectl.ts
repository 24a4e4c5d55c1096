import { execFile, execFileSync, spawn, type ChildProcessByStdio } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { serveCluster, type ServedCluster } from './serve-cluster.ts';

const run = promisify(execFile);

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
