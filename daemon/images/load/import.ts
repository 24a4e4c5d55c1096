import type { Readable } from 'node:stream';
import type { ContainerConfig } from '../../../api/types/container.ts';
import type { ProgressMessage } from '../../../api/types/image.ts';
import type { ImportOptions } from '../../../api/types/ports.ts';
import { formatNano } from '../../base/clock.ts';
import { failpoint } from '../../base/failpoint.ts';
import { download, showUrl } from '../../../storage/downloads/download.ts';
import { progressBar } from '../progress.ts';
import { goJson } from '../../../storage/image/go-json.ts';
import { parseImageConfig } from '../../../storage/image/image-config.ts';
import { parsePlatform, type Platform } from '../../../storage/image/platform.ts';
import type { UnpackedLayer } from '../../../storage/layers/store.ts';
import { applyChanges } from '../commit/changes.ts';
import { commitImage } from './commit-image.ts';
import type { ImageContext } from '../context.ts';
import { parseTarget } from '../naming.ts';
import { waitingFor, watch } from '../watch.ts';
import { invalidArgument } from '../../base/errors.ts';

/**
 * Makes an image of one layer from the tar of a root file system (perhaps compressed), sent or to be got from a URL;
 * answers its id as a status.
 */
export async function* importImage(
  context: ImageContext,
  source: Readable | string,
  options: ImportOptions,
): AsyncGenerator<ProgressMessage> {
  // Everything the client can get wrong is checked before its body is read.
  const name = options.repo === '' ? undefined : parseTarget(options.repo, options.tag);
  const config = applyChanges({}, options.changes);
  const platform = parsePlatform(options.platform ?? '', 'import');
  const layer =
    typeof source === 'string'
      ? yield* unpackDownload(context, importUrl(source), options.signal)
      : await unpackBody(context, source, options);
  const bytes = makeConfig({
    config,
    platform,
    layer,
    message: options.message,
    nowNano: context.clock.nowNano(),
  });
  const id = await commitImage(context, {
    configBytes: bytes,
    config: parseImageConfig(bytes, 'image'),
    layers: [layer],
    names: name === undefined ? [] : [name],
    action: 'import',
  });
  yield { status: id };
}

/** With messages that clients draw a bar from; what the server refuses is thrown before the first of them. */
async function* unpackDownload(
  context: ImageContext,
  url: URL,
  signal: AbortSignal,
): AsyncGenerator<ProgressMessage, UnpackedLayer> {
  failpoint('images.import.download');
  const { body, size } = yield* waitingFor(url.host, download(url, signal), (late) => late.body.destroy());
  yield { status: `Downloading from ${showUrl(url)}` };
  let current = 0;
  let shown = -1;
  const seen = (chunk: Buffer): void => {
    current += chunk.length;
  };
  const work = unpackBody(context, body, { signal, seen });
  yield* watch(work, () => {
    if (current === shown) {
      return [];
    }
    shown = current;
    return [importing(current, size)];
  });
  return await work;
}

function importing(current: number, total: number | undefined): ProgressMessage {
  return {
    status: 'Importing',
    progressDetail: { current, ...(total !== undefined && { total }) },
    ...(total !== undefined && { progress: progressBar(current, total) }),
  };
}

async function unpackBody(
  context: ImageContext,
  tar: Readable,
  options: { signal: AbortSignal; seen?: (chunk: Buffer) => void },
): Promise<UnpackedLayer> {
  const { spools, layers } = context;
  const { signal, seen } = options;
  await using spool = await spools.fill(tar, {
    what: 'import',
    signal,
    decompress: false,
    ...(seen && { seen }),
  });
  const blob = { fd: spool.fd, offset: 0, size: spool.size };
  return await layers.unpack({ blob, what: 'import' }, { signal });
}

function makeConfig(image: {
  config: ContainerConfig;
  platform: Platform;
  layer: UnpackedLayer;
  message: string;
  nowNano: bigint;
}): Buffer {
  const created = formatNano(image.nowNano);
  const { os, architecture, variant } = image.platform;
  const json = {
    architecture,
    ...(image.message === '' ? {} : { comment: image.message }),
    config: image.config,
    created,
    history: [{ created, ...(image.message === '' ? {} : { comment: image.message }) }],
    os,
    rootfs: { type: 'layers', diff_ids: [image.layer.diffId] },
    ...(variant === undefined ? {} : { variant }),
  };
  return Buffer.from(goJson(json));
}

/**
 * Where an import comes from (parameter `fromSrc`). What has no scheme is the name of a host and a path, as dockerd
 * takes it (moby api/server/router/image, postImagesCreate). Throws invalid_argument. Pure.
 */
function importUrl(text: string): URL {
  const full = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`;
  const url = URL.canParse(full) ? new URL(full) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw invalidArgument(`parameter fromSrc: ${JSON.stringify(text)} is neither - nor an http or https URL`);
  }
  return url;
}
