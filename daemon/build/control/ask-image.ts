import type { AnsweredImage, ImageQuestion } from '../../../api/types/build/sources.ts';
import type { BuildSession } from '../../../api/types/build/session.ts';
import {
  canonicalRepository,
  parseReference,
  withDefaultTag,
} from '../../../storage/references/reference.ts';
import { formatPlatform, hostPlatform, parsePlatform } from '../../../storage/image/platform.ts';
import { judged } from '../policy/asked-policy.ts';
import { convertImage } from '../policy/evaluate.ts';
import { findImage } from '../ops/image.ts';
import type { BuildLayers } from '../ports.ts';
import type { Sessions } from '../session/sessions.ts';
import type { RunningBuild } from './running/running-build.ts';

/** What images are asked for with. */
export interface Asking {
  layers: BuildLayers;
  sessions: Sessions;
  session: BuildSession;
  running: RunningBuild;
  signal: AbortSignal;
}

/** An image's configuration, for a client that makes a graph. The image stays until the build ends. */
export async function askImage(
  { layers, sessions, session, running, signal }: Asking,
  { reference: text, platform, mode, name, policies }: ImageQuestion,
  convert = running.converting(policies),
): Promise<AnsweredImage> {
  const parsed = withDefaultTag(parseReference(text));
  const { tag, digest } = parsed;
  const suffix = `${tag === undefined ? '' : `:${tag}`}${digest === undefined ? '' : `@${digest}`}`;
  const asked = `${canonicalRepository(parsed)}${suffix}`;
  const { os, architecture, variant } = platform ?? { os: '', architecture: '', variant: '' };
  const machine =
    os === ''
      ? hostPlatform()
      : parsePlatform([os, architecture, variant].filter(Boolean).join('/'), 'platform');
  const { vertices } = running;
  const reference = await judged(signal, () => convertImage(asked, formatPlatform(machine), convert));
  return await vertices.run(name || `[internal] load metadata for ${asked}`, async (vertex) => {
    const found = await findImage(
      { layers, sessions },
      { reference, platform: formatPlatform(machine), mode },
      {
        signal,
        sessions: () => [session.id],
        log: (stream, bytes) => vertex.output(stream, Buffer.from(bytes)),
        work: ({ name: work, current, total, isDone }) =>
          vertex.progress(work, { current, ...(total !== undefined && { total }), isLast: isDone }),
      },
    );
    running.hold(found.pin);
    return { reference: reference === asked ? text : reference, digest: found.digest, config: found.config };
  });
}
