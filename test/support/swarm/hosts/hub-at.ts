import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { TestDaemon } from '../../engine/daemon.ts';
import { digestOf, imageManifest } from '../../hub/registry-client.ts';

export interface HubAnswer {
  status: number;
  /** Parsed; undefined where there is none. */
  body: unknown;
}

export interface HubAsk {
  /** JSON; a string is sent as it is. */
  body?: object | string;
  headers?: readonly string[];
  /** The address that it comes from, of the host's own: 127.0.0.2. */
  from?: string;
  /** In place of the user's; '' = none. */
  token?: string;
}

export interface PushedImage {
  /** Of its manifest. */
  digest: string;
  layer: string;
  /** Of the answer to the manifest. */
  status: number;
  body: unknown;
}

/** The hub at 127.0.0.1:5010 of a host, asked from there by one user. */
export class HubAt {
  readonly #daemon: TestDaemon;
  readonly #user: string;
  readonly #token: () => string;

  constructor(daemon: TestDaemon, { user, token }: { user: string; token: () => string }) {
    this.#daemon = daemon;
    this.#user = user;
    this.#token = token;
  }

  async ask(
    method: string,
    target: string,
    { body, from, token, headers = [] }: HubAsk = {},
  ): Promise<HubAnswer> {
    const data = typeof body === 'string' ? body : JSON.stringify(body);
    const secret = token ?? this.#token();
    const text = await this.#curl(method, target, [
      ...(secret === '' ? [] : ['--header', `Authorization: token ${secret}`]),
      ...headers.flatMap((header) => ['--header', header]),
      ...(body === undefined ? [] : ['--data', data]),
      ...(from === undefined ? [] : ['--interface', from]),
    ]);
    return answerOf(text);
  }

  /** An image of one layer, with a tag. */
  async push(name: string, tag: string, layer: Buffer): Promise<PushedImage> {
    const config = JSON.stringify({ config: { Labels: { tag } } });
    for (const bytes of [layer, Buffer.from(config)]) {
      const { status, body } = await this.#send(
        'POST',
        `/v2/${name}/blobs/uploads/?digest=${digestOf(bytes)}`,
        bytes,
      );
      if (status !== 201) {
        throw new Error(`push of a blob: ${status} ${JSON.stringify(body)}`);
      }
    }
    const manifest = Buffer.from(JSON.stringify(imageManifest(config, [layer])));
    const answer = await this.#send('PUT', `/v2/${name}/manifests/${tag}`, manifest);
    return { digest: digestOf(manifest), layer: digestOf(layer), ...answer };
  }

  /** Digest of what came; '' where it broke off or was refused. */
  async pull(name: string, digest: string): Promise<string> {
    const target = path.join(this.#daemon.paths.root, `pulled-${digest.slice(-12)}`);
    const said = await this.#curl('GET', `/v2/${name}/blobs/${digest}`, [
      ...this.#basic(),
      '--output',
      target,
    ]).catch(() => '\n0');
    return answerOf(said).status === 200 ? await this.#digestOf(target) : '';
  }

  async #send(method: string, target: string, bytes: Buffer): Promise<HubAnswer> {
    const file = path.join(this.#daemon.paths.root, 'sent');
    writeFileSync(file, bytes);
    const headers = ['--header', `Content-Type: ${method === 'PUT' ? MANIFEST : 'application/octet-stream'}`];
    return answerOf(
      await this.#curl(method, target, [...this.#basic(), ...headers, '--data-binary', `@${file}`]),
    );
  }

  #basic(): string[] {
    return ['--user', `${this.#user}:${this.#token()}`];
  }

  async #digestOf(file: string): Promise<string> {
    const said = await this.#daemon.netns.run('sha256sum', file);
    return `sha256:${said.split(' ', 1)[0]}`;
  }

  #curl(method: string, target: string, more: readonly string[]): Promise<string> {
    return this.#daemon.netns.run(
      'curl',
      ...more,
      '--silent',
      '--max-time',
      '60',
      '--request',
      method,
      '--write-out',
      '\n%{http_code}',
      `http://127.0.0.1:5010${target}`,
    );
  }
}

const MANIFEST = 'application/vnd.oci.image.manifest.v1+json';

function answerOf(text: string): HubAnswer {
  const cut = text.lastIndexOf('\n');
  const json = text.slice(0, cut);
  return { status: Number(text.slice(cut + 1)), body: json === '' ? undefined : JSON.parse(json) };
}
