import type { AnsweredSource, SourceQuestion } from '../../../api/types/build/sources.ts';
import { formatPlatform, hostPlatform, parsePlatform } from '../../../storage/image/platform.ts';
import { findLayout } from '../context/image-layout.ts';
import { askImage, type Asking } from '../control/ask-image.ts';
import { VertexProgress } from '../control/vertex-progress.ts';
import type { UsedSource } from '../graph/used-source.ts';
import { release } from '../solver/ports.ts';
import type { Solver } from '../solver/solver.ts';
import type { BuildTree } from '../snapshots/tree.ts';
import { evaluated } from '../policy/evaluate.ts';
import { judged } from '../policy/asked-policy.ts';
import { asTheyAre } from '../policy/named-source.ts';
import { sourceOf } from './source.ts';

/**
 * What is known of a source beside its files, for a client that makes a graph: of an image, also in a layout, its
 * configuration, of a repository the commit, of a file by HTTP the digest; both are got for that. Throws as `sourceOf`,
 * and as what gets them.
 */
export async function askSource(
  asking: Asking & { solver: Solver<BuildTree> },
  { source: asked, platform, mode, name, policies }: SourceQuestion,
  convert = asking.running.converting(policies),
): Promise<AnsweredSource> {
  const { running, session, signal } = asking;
  const { os, architecture, variant } = platform ?? { os: '', architecture: '', variant: '' };
  const machine =
    os === ''
      ? hostPlatform()
      : parsePlatform([os, architecture, variant].filter(Boolean).join('/'), 'platform');
  const source = await judged(signal, () =>
    evaluated({ ...asked, platform: formatPlatform(machine) }, convert, true),
  );
  const op = sourceOf(source, {
    session: session.id,
    sharedKey: session.sharedKey,
    platform: formatPlatform(machine),
    entitlements: [],
    convert: asTheyAre,
  });
  const title = name || `[internal] load metadata for ${source.identifier}`;
  if (op.kind === 'image') {
    const question = { reference: op.reference, mode: mode === 'pull' ? mode : op.mode, name, policies };
    const found = await askImage(asking, { ...question, ...(platform && { platform }) }, convert);
    const { reference, digest, config } = found;
    return { source: { ...source, identifier: `docker-image://${reference}` }, image: { digest, config } };
  }
  if (op.kind === 'layout') {
    const config = await running.vertices.run(title, async () => {
      const owner = await asking.sessions.get(op.session, signal);
      return (await findLayout(owner, op, { platform: machine, signal })).bytes;
    });
    return { source, image: { digest: op.digest, config } };
  }
  if (op.kind !== 'git' && op.kind !== 'http') {
    return { source };
  }
  const used: UsedSource[] = [];
  const vertex = { op, inputs: [], name: title };
  const trees = await asking.solver.solve([vertex], {
    session: session.id,
    progress: new VertexProgress(running.vertices, [vertex]),
    signal,
    used: (one) => used.push(one),
  });
  release(trees);
  const [found] = used;
  if (found?.kind === 'git') {
    return { source, git: { ref: found.ref, commit: found.commit } };
  }
  const fileName = op.kind === 'http' ? op.fileName : '';
  return found?.kind === 'http' ? { source, http: { digest: found.digest, fileName } } : { source };
}
