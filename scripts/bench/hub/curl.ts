import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** A registry as a client sees it: the hub, or docker-registry. */
export interface Side {
  /** `http://127.0.0.1:5010`. */
  base: string;
  /** Header with credentials; empty = none. */
  authorization: string;
  /** A command line as it runs where the registry is. */
  enter: (...argv: string[]) => string[];
}

/** A file that is a blob. */
export interface BlobFile {
  path: string;
  digest: string;
  size: number;
}

const MANIFEST = 'application/vnd.oci.image.manifest.v1+json';

/** Pushes as docker does: all layers at a time, each by POST, PATCH and PUT; then the manifest. */
export async function push(side: Side, name: string, blobs: readonly BlobFile[]): Promise<void> {
  await Promise.all(blobs.map((blob) => pushBlob(side, name, blob)));
  const manifest = manifestOf(blobs);
  const headers = ['-H', `Content-Type: ${MANIFEST}`, '-X', 'PUT', '--data-binary', '@-'];
  await curl(side, [...headers, `${side.base}/v2/${name}/manifests/1`], manifest);
}

/** Pulls an image `times` times, so many at once, and forgets it. The client is one process: it costs little. */
export async function pull(
  side: Side,
  name: string,
  blobs: readonly BlobFile[],
  { times, atOnce }: { times: number; atOnce: number },
): Promise<void> {
  const { base } = side;
  const one = [
    `${base}/v2/${name}/manifests/1`,
    ...blobs.map(({ digest }) => `${base}/v2/${name}/blobs/${digest}`),
  ];
  const urls = Array.from({ length: times }, () => one).flat();
  const config = urls.map((url) => `url = "${url}"\noutput = "/dev/null"`).join('\n');
  const accept = ['-H', `Accept: ${MANIFEST}`];
  await curl(side, [...accept, '--parallel', '--parallel-max', String(atOnce), '--config', '-'], config);
}

/** The first of the blobs is the configuration. */
export function manifestOf([config, ...layers]: readonly BlobFile[]): string {
  const described = (mediaType: string, { digest, size }: BlobFile) => ({ mediaType, digest, size });
  return JSON.stringify({
    schemaVersion: 2,
    mediaType: MANIFEST,
    config: config && described('application/vnd.oci.image.config.v1+json', config),
    layers: layers.map((layer) => described('application/vnd.oci.image.layer.v1.tar', layer)),
  });
}

async function pushBlob(side: Side, name: string, { path, digest }: BlobFile): Promise<void> {
  const upload = await location(side, ['-X', 'POST', `${side.base}/v2/${name}/blobs/uploads/`]);
  const bytes = ['-X', 'PATCH', '-H', 'Content-Type: application/octet-stream', '-H', 'Expect:', '-T', path];
  const next = new URL(await location(side, [...bytes, upload]));
  next.searchParams.set('digest', digest);
  await curl(side, ['-X', 'PUT', next.href]);
}

/** Where the next request of an upload goes. */
async function location(side: Side, args: readonly string[]): Promise<string> {
  const headers = await curl(side, ['--dump-header', '-', '--output', '/dev/null', ...args]);
  const found = /^location: (.*?)\r?$/im.exec(headers)?.[1];
  if (found === undefined) {
    throw new Error(`no place for an upload: ${headers}`);
  }
  return new URL(found, side.base).href;
}

async function curl({ authorization, enter }: Side, args: readonly string[], input = ''): Promise<string> {
  const known = authorization === '' ? [] : ['-H', `Authorization: ${authorization}`];
  const [file = '', ...rest] = enter('curl', '--silent', '--show-error', '--fail', ...known, ...args);
  const child = spawn(file, rest, { stdio: ['pipe', 'pipe', 'pipe'] });
  let output = '';
  let problem = '';
  // With --parallel, curl shows its progress in spite of --silent.
  child.stderr.on('data', (chunk: Buffer) => (problem = chunk.toString()));
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stdin.end(input);
  const [code] = await once(child, 'close');
  if (code !== 0) {
    throw new Error(`curl ${args.join(' ')} ended with ${code}: ${problem} ${output.slice(0, 500)}`);
  }
  return output;
}
