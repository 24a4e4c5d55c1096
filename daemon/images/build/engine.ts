import { measured } from '../../base/measured.ts';
import type { BuiltImage, DockerfileEngine, EngineJob, UsageRecord } from '../../build/ports.ts';
import { canonicalRepository, type Reference } from '../../../storage/references/reference.ts';
import { failpoint } from '../../base/failpoint.ts';
import { createdOf } from '../list.ts';
import { nameImage } from '../naming.ts';
import { newBuild, parseName, planBuild, runPlan, type BuilderContext } from './build.ts';
import { ContextTree } from './context/tree.ts';
import { pruneSteps } from './prune.ts';

/** The steps of the classic builder behind the other door: no messages, names only when the client asks for them. */
export function dockerfileEngine(context: BuilderContext): DockerfileEngine {
  const { images } = context;
  return {
    build: (job) => measured('builder', 'build', () => build(context, job)),
    refuseNames: (names) => names.forEach((name) => parseName(name)),
    name: (imageId, names) => {
      const references = names.map((name) => parseName(name));
      failpoint('images.build.name');
      nameImage(images, imageId, references);
      return references.map((name) => fullName(name));
    },
    usage: () => usage(context),
    prune: async (filters) => {
      const pruned = await pruneSteps(images, filters);
      return pruned.map((record) => ({ ...record, description: '', inUse: false }));
    },
  };
}

async function build(context: BuilderContext, job: EngineJob): Promise<BuiltImage> {
  const { request, automatic, report, signal } = job;
  const plan = planBuild(job.dockerfile, request);
  const { build: made, release } = newBuild(context, {
    request,
    received: { tree: new ContextTree(job.files), fd: job.fd, isBare: false },
    plan,
    progress: report,
    signal,
    auth: (domain) => job.auth(domain),
    automatic,
  });
  try {
    const id = await runPlan(made, plan);
    const { row } = context.images.index.find(id);
    made.hold(id);
    return { id, config: row.config, [Symbol.dispose]: release };
  } catch (error) {
    release();
    throw error;
  }
}

function fullName({ domain, path, tag }: Reference): string {
  return `${canonicalRepository({ domain, path })}:${tag ?? 'latest'}`;
}

/** Images that steps made and no name leads to. */
function usage({ images }: BuilderContext): UsageRecord[] {
  const { index } = images;
  return [...index.images()]
    .filter(
      ({ row }) => index.isStep(row.id) && index.tagsOf(row.id).length + index.digestsOf(row.id).length === 0,
    )
    .map((image) => {
      const { id, layerIds } = image.row;
      const own = layerIds.filter((layer) => !(index.parentOf(id)?.row.layerIds ?? []).includes(layer));
      return {
        id,
        bytes: own.reduce((sum, layer) => sum + index.layer(layer).sizeBytes, 0),
        createdMs: createdOf(image),
        description: image.config.history.at(-1)?.createdBy ?? '',
        inUse: index.isParent(id) || images.users(id).length > 0,
      };
    });
}
