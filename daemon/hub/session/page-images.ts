import type { PageImages, PageTag } from '../../../api/types/hub/pages.ts';
import { isEngineError } from '../../base/errors.ts';
import type { Caller } from '../identity/caller.ts';
import type { Manifest } from '../registry/manifests/manifest.ts';
import type { Repository } from '../repositories/repository.ts';
import { timeText } from '../views/times.ts';
import { NEEDS } from './needs.ts';
import type { SessionDeps } from './session-deps.ts';

type Deps = Pick<SessionDeps, 'grants' | 'registry'>;

/** Tags that one page shows. */
const TAGS = 100;

/** The images of repositories that a caller may pull, for the pages. */
export function pageImages(deps: Deps, caller: Caller): PageImages {
  const { manifests } = deps.registry;
  return {
    tags: (owner, name) => {
      const repository = deps.grants.granted(caller, { owner, name }, NEEDS.pull);
      return manifests
        .tags(repository)
        .slice(0, TAGS)
        .map((tag) => tagOf(deps, repository, tag, manifests.find(repository, { kind: 'tag', tag })));
    },
  };
}

function tagOf(deps: Deps, repository: Repository, name: string, manifest: Manifest): PageTag {
  const { digest, mediaType, children, layers, pushedMs } = manifest;
  const inside = children.flatMap((child) => childOf(deps, repository, child.digest)?.layers ?? []);
  return {
    name,
    digest,
    mediaType,
    pushedAt: timeText(pushedMs),
    platforms: children.flatMap(({ platform }) => (platform === null ? [] : [platform])),
    layers: [...layers, ...inside],
  };
}

/** Undefined = an index may name what was not pushed. */
function childOf({ registry }: Deps, repository: Repository, digest: string): Manifest | undefined {
  try {
    return registry.manifests.find(repository, { kind: 'digest', digest });
  } catch (error) {
    if (isEngineError(error, 'not_found')) {
      return undefined;
    }
    throw error;
  }
}
