/**
 * Images made from this machine's static busybox, in every tarball format the engine reads. No dependencies and no
 * daemon: system tests and the quick start load the result.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { compressed, type Compressor } from './compressors.ts';
import { tar, type TarEntry } from './tar.ts';

export interface ImageTarOptions {
  /** `docker` = docker save of today (manifest.json), `oci` = image layout, `legacy` = repositories, json, VERSION. */
  format?: 'docker' | 'oci' | 'legacy';
  /** Familiar names given to the image; `['busybox:latest']` by default. */
  tags?: string[];
  /** Merged over the default configuration (Cmd sh, PATH). */
  config?: Record<string, unknown>;
  /** Layers above the first one, as tar entries or as ready tar bytes. */
  extraLayers?: (TarEntry[] | Buffer)[];
  /** Compresses the layers. */
  compressor?: Compressor;
  /** Creation time in the configuration. */
  created?: string;
  /** Entries of the history for the last layers, in place of those it has by itself. */
  history?: { created: string; created_by: string; empty_layer?: boolean }[];
}

const CREATED = '2024-01-01T00:00:00Z';
const PATH = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** The bytes of an image tarball holding busybox with all its applets. Deterministic for one busybox. */
export function busyboxImageTar(options: ImageTarOptions = {}): Buffer {
  return imageTar([tar(busyboxEntries()), ...(options.extraLayers ?? [])], {
    ...options,
    tags: options.tags ?? ['busybox:latest'],
    config: { Cmd: ['sh'], Env: [PATH], ...options.config },
  });
}

/** The bytes of an image tarball holding these layers (bottom first). */
export function imageTar(
  layers: readonly (readonly TarEntry[] | Buffer)[],
  options: ImageTarOptions = {},
): Buffer {
  const image = buildImage(
    layers.map((layer) => (Buffer.isBuffer(layer) ? layer : tar(layer))),
    options,
  );
  return tar(WRITERS[options.format ?? 'docker'](image, options));
}

const WRITERS = { docker: dockerEntries, oci: ociEntries, legacy: legacyEntries };

/** The image id (digest of the configuration) and diff IDs that loading this image must give. */
export function imageIdentity(
  layers: readonly (readonly TarEntry[] | Buffer)[],
  options: ImageTarOptions = {},
): { id: string; diffIds: string[] } {
  const image = buildImage(
    layers.map((layer) => (Buffer.isBuffer(layer) ? layer : tar(layer))),
    options,
  );
  return { id: `sha256:${image.id}`, diffIds: image.diffIds };
}

/** Entries of a root file system: busybox, a hard link per applet, accounts, and the usual directories. */
export function busyboxEntries(): TarEntry[] {
  const busybox = ['/bin/busybox', '/usr/bin/busybox'].find((path) => existsSync(path));
  if (busybox === undefined) {
    throw new Error('no busybox on this machine: install busybox-static');
  }
  const applets = execFileSync(busybox, ['--list'], { encoding: 'utf8' })
    .split('\n')
    .filter((applet) => applet !== '' && applet !== 'busybox');
  return [
    directory('bin/'),
    { name: 'bin/busybox', mode: 0o755, content: readFileSync(busybox) },
    ...applets.map((applet) => ({
      name: `bin/${applet}`,
      type: '1',
      linkName: 'bin/busybox',
      mode: 0o755,
    })),
    directory('dev/'),
    directory('etc/'),
    {
      name: 'etc/group',
      content: 'root:x:0:\ndaemon:x:1:\nmail:x:8:\nwww-data:x:33:\nusers:x:100:berth\nnobody:x:65534:\n',
    },
    {
      name: 'etc/passwd',
      content:
        'root:x:0:0:root:/root:/bin/sh\ndaemon:x:1:1:daemon:/usr/sbin:/bin/false\n' +
        'www-data:x:33:33:www-data:/var/www:/bin/false\nberth:x:1000:1000:Berth:/home:/bin/sh\n' +
        'nobody:x:65534:65534:nobody:/home:/bin/false\n',
    },
    { name: 'etc/shadow', mode: 0o640, content: 'root:*:10933:0:99999:7:::\n' },
    directory('home/'),
    directory('lib/'),
    directory('proc/'),
    directory('root/', 0o700),
    directory('sys/'),
    directory('tmp/', 0o1777),
    directory('usr/'),
    directory('usr/bin/'),
    { name: 'usr/bin/env', type: '2', linkName: '../../bin/env', mode: 0o777 },
    directory('usr/sbin/'),
    directory('var/'),
    directory('var/www/'),
  ];
}

function directory(name: string, mode = 0o755): TarEntry {
  return { name, type: '5', mode };
}

interface BuiltImage {
  id: string;
  config: Buffer;
  diffIds: string[];
  /** As stored in the tarball: perhaps compressed. */
  blobs: Buffer[];
  compressor: Compressor | undefined;
  tags: string[];
  created: string;
}

function buildImage(layers: readonly Buffer[], options: ImageTarOptions): BuiltImage {
  const diffIds = layers.map((layer) => `sha256:${sha256(layer)}`);
  const { created = CREATED, history = [] } = options;
  const config = json({
    architecture: process.arch === 'x64' ? 'amd64' : process.arch,
    os: 'linux',
    created,
    config: options.config ?? {},
    rootfs: { type: 'layers', diff_ids: diffIds },
    history: [
      ...diffIds
        .slice(0, diffIds.length - history.filter((entry) => entry.empty_layer !== true).length)
        .map((_, index) => ({ created, created_by: `/bin/sh -c #(nop) ADD layer ${index}` })),
      ...history,
    ],
  });
  const { compressor, tags = [] } = options;
  const blobs = layers.map((layer) =>
    compressor === undefined ? layer : compressed(compressor, layer, ['-1']),
  );
  return { id: sha256(config), config, diffIds, blobs, compressor, tags, created };
}

function dockerEntries(image: BuiltImage): TarEntry[] {
  const layerPaths = image.blobs.map((bytes, index) => `${sha256(`${index}:${sha256(bytes)}`)}/layer.tar`);
  const manifest = [{ Config: `${image.id}.json`, RepoTags: image.tags, Layers: layerPaths }];
  return [
    ...image.blobs.flatMap((content, index) => [
      { name: layerPaths[index]!.replace('layer.tar', '') },
      { name: layerPaths[index]!, content },
    ]),
    { name: `${image.id}.json`, content: image.config },
    { name: 'manifest.json', content: json(manifest) },
  ];
}

function ociEntries(image: BuiltImage): TarEntry[] {
  const suffix = image.compressor === undefined ? '' : `+${image.compressor}`;
  const layerType = `application/vnd.oci.image.layer.v1.tar${suffix}`;
  const manifestType = 'application/vnd.oci.image.manifest.v1+json';
  const manifest = json({
    schemaVersion: 2,
    mediaType: manifestType,
    config: descriptor('application/vnd.oci.image.config.v1+json', image.config),
    layers: image.blobs.map((content) => descriptor(layerType, content)),
  });
  const names = image.tags.length > 0 ? image.tags : [undefined];
  const index = {
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.index.v1+json',
    manifests: names.map((name) => ({
      ...descriptor(manifestType, manifest),
      ...(name === undefined ? {} : { annotations: { 'io.containerd.image.name': canonical(name) } }),
    })),
  };
  return [
    { name: 'blobs/' },
    { name: 'blobs/sha256/' },
    ...[...image.blobs, image.config, manifest].map((content) => blob(content)),
    { name: 'index.json', content: json(index) },
    { name: 'oci-layout', content: json({ imageLayoutVersion: '1.0.0' }) },
  ];
}

function blob(content: Buffer): TarEntry {
  return { name: `blobs/sha256/${sha256(content)}`, content };
}

function descriptor(mediaType: string, content: Buffer): Record<string, unknown> {
  return { mediaType, digest: `sha256:${sha256(content)}`, size: content.length };
}

function legacyEntries(image: BuiltImage, options: ImageTarOptions): TarEntry[] {
  const ids = image.blobs.map((_, index) => sha256(`legacy ${image.diffIds.slice(0, index + 1).join(' ')}`));
  const top = ids.at(-1);
  const repositories: Record<string, Record<string, string>> = {};
  for (const name of image.tags) {
    const colon = name.lastIndexOf(':');
    (repositories[name.slice(0, colon)] ??= {})[name.slice(colon + 1)] = top!;
  }
  return [
    ...image.blobs.flatMap((content, index) => {
      const id = ids[index]!;
      const layer = {
        id,
        ...(index > 0 ? { parent: ids[index - 1] } : {}),
        created: image.created,
        container_config: { Cmd: ['/bin/sh', '-c', `#(nop) ADD layer ${index}`] },
        architecture: 'amd64',
        os: 'linux',
        ...(id === top ? { config: options.config ?? {} } : {}),
      };
      return [
        { name: `${id}/` },
        { name: `${id}/VERSION`, content: '1.0' },
        { name: `${id}/json`, content: json(layer) },
        { name: `${id}/layer.tar`, content },
      ];
    }),
    ...(image.tags.length > 0 ? [{ name: 'repositories', content: json(repositories) }] : []),
  ];
}

function canonical(name: string): string {
  return name.includes('/') ? name : `docker.io/library/${name}`;
}

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

function sha256(data: Buffer | string): string {
  return createHash('sha256').update(data).digest('hex');
}
