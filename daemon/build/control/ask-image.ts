import type { ImageQuestion } from '../../../api/types/build/ports.ts';
import type { BuildSession } from '../../../api/types/build/session.ts';
import {
  canonicalRepository,
  parseReference,
  withDefaultTag,
} from '../../../storage/references/reference.ts';
import { formatPlatform, hostPlatform, parsePlatform } from '../../../storage/image/platform.ts';
import { findImage } from '../ops/image.ts';
import type { BuildLayers } from '../ports.ts';
import type { Sessions } from '../session/sessions.ts';
import type { RunningBuild } from './running-build.ts';

interface Asked {
  layers: BuildLayers;
  sessions: Sessions;
  session: BuildSession;
  running: RunningBuild;
}

/** An image's configuration, for a client that makes a graph. The image stays until the build ends. */
export async function askImage(
  { layers, sessions, session, running }: Asked,
  { reference: text, platform, mode, name }: ImageQuestion,
): Promise<{ digest: string; config: Buffer }> {
  const parsed = withDefaultTag(parseReference(text));
  const { tag, digest } = parsed;
  const suffix = `${tag === undefined ? '' : `:${tag}`}${digest === undefined ? '' : `@${digest}`}`;
  const reference = `${canonicalRepository(parsed)}${suffix}`;
  const { os, architecture, variant } = platform ?? { os: '', architecture: '', variant: '' };
  const asked =
    os === ''
      ? hostPlatform()
      : parsePlatform([os, architecture, variant].filter(Boolean).join('/'), 'platform');
  const { vertices, signal } = running;
  return await vertices.run(name || `[internal] load metadata for ${reference}`, async (vertex) => {
    const found = await findImage(
      { layers, sessions },
      { reference, platform: formatPlatform(asked), mode },
      {
        signal,
        sessions: () => [session.id],
        log: (stream, bytes) => vertex.output(stream, Buffer.from(bytes)),
        work: ({ name: work, current, total, isDone }) =>
          vertex.progress(work, { current, ...(total !== undefined && { total }), isLast: isDone }),
      },
    );
    running.hold(found.pin);
    return { digest: found.digest, config: found.config };
  });
}
