import { createHash } from 'node:crypto';
import http from 'node:http';
import { MEDIA_TYPES } from '../../../daemon/hub/registry/manifests/manifest.ts';

export interface RegistryAnswer {
  status: number;
  headers: http.IncomingHttpHeaders;
  bytes: Buffer;
  /** Parsed; undefined where it is no JSON. */
  json: unknown;
  /** Of its first error. */
  code: string | undefined;
}

export interface RegistryAsk {
  headers?: Record<string, string>;
  body?: Buffer | string;
  /** Sent in pieces, without a length. */
  chunked?: boolean;
}

export function digestOf(bytes: Buffer | string): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

/** Speaks the distribution protocol as a client that shows one header `Authorization`. */
export class RegistryClient {
  readonly #port: number;
  readonly #authorization: string | undefined;

  constructor(port: number, authorization?: string) {
    this.#port = port;
    this.#authorization = authorization;
  }

  ask(
    method: string,
    path: string,
    { headers = {}, body, chunked }: RegistryAsk = {},
  ): Promise<RegistryAnswer> {
    const sent = {
      ...(this.#authorization !== undefined && { Authorization: this.#authorization }),
      ...(body !== undefined && chunked !== true && { 'Content-Length': String(Buffer.byteLength(body)) }),
      ...headers,
    };
    return new Promise((resolve, reject) => {
      const req = http.request(
        { port: this.#port, host: '127.0.0.1', method, path, headers: sent },
        (res) => {
          const pieces: Buffer[] = [];
          res.on('data', (piece: Buffer) => pieces.push(piece));
          res.once('error', reject);
          res.once('end', () => {
            const bytes = Buffer.concat(pieces);
            const json = parsed(bytes, res.headers['content-type']);
            resolve({ status: res.statusCode ?? 0, headers: res.headers, bytes, json, code: codeOf(json) });
          });
        },
      );
      req.once('error', reject);
      req.end(body);
    });
  }

  /** In one request. */
  async pushBlob(name: string, bytes: Buffer | string): Promise<string> {
    const digest = digestOf(bytes);
    const answer = await this.ask('POST', `/v2/${name}/blobs/uploads/?digest=${digest}`, { body: bytes });
    if (answer.status !== 201) {
      throw new Error(`push of a blob: ${answer.status} ${answer.bytes.toString()}`);
    }
    return digest;
  }

  putManifest(
    name: string,
    reference: string,
    manifest: object,
    mediaType?: string,
  ): Promise<RegistryAnswer> {
    const type =
      mediaType ?? ('mediaType' in manifest ? String(manifest.mediaType) : MEDIA_TYPES.ociManifest);
    const body = JSON.stringify(manifest);
    return this.ask('PUT', `/v2/${name}/manifests/${reference}`, { body, headers: { 'Content-Type': type } });
  }

  /** An image of one layer. Answers its digest. */
  async pushImage(name: string, tag: string, content = tag): Promise<{ digest: string; manifest: object }> {
    const [config, layer] = [JSON.stringify({ config: { Labels: { content } } }), Buffer.from(content)];
    await this.pushBlob(name, config);
    await this.pushBlob(name, layer);
    const manifest = imageManifest(config, [layer]);
    const answer = await this.putManifest(name, tag, manifest);
    if (answer.status !== 201) {
      throw new Error(`push of a manifest: ${answer.status} ${answer.bytes.toString()}`);
    }
    return { digest: String(answer.headers['docker-content-digest']), manifest };
  }
}

export function imageManifest(
  config: Buffer | string,
  layers: readonly (Buffer | string)[],
  more = {},
): object {
  return {
    schemaVersion: 2,
    mediaType: MEDIA_TYPES.ociManifest,
    config: descriptorOf('application/vnd.oci.image.config.v1+json', config),
    layers: layers.map((layer) => descriptorOf('application/vnd.oci.image.layer.v1.tar', layer)),
    ...more,
  };
}

export function descriptorOf(mediaType: string, bytes: Buffer | string) {
  return { mediaType, digest: digestOf(bytes), size: Buffer.byteLength(bytes) };
}

function parsed(bytes: Buffer, type: string | undefined): unknown {
  return bytes.length > 0 && type?.includes('json') === true ? JSON.parse(bytes.toString()) : undefined;
}

function codeOf(json: unknown): string | undefined {
  const errors = typeof json === 'object' && json !== null && 'errors' in json ? json.errors : undefined;
  const first: unknown = Array.isArray(errors) ? errors[0] : undefined;
  return typeof first === 'object' && first !== null && 'code' in first ? String(first.code) : undefined;
}
