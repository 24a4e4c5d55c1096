import { unreachable } from '../../base/errors.ts';
import type { UsedSource } from '../graph/used-source.ts';
import { withoutPassword } from '../history/shown-attributes.ts';
import { packageUrl } from '../../../storage/image-archives/package-url.ts';

/** One of what a build is made of. */
export interface Material {
  uri: string;
  digest?: Readonly<Record<string, string>>;
}

/** Each once, in the order in which they were come by. Pure. */
export function materialsOf(sources: readonly UsedSource[]): Material[] {
  const materials = new Map(
    sources.flatMap((source) => {
      const material = materialOf(source);
      return material === undefined ? [] : [[JSON.stringify(material), material] as const];
    }),
  );
  return [...materials.values()];
}

/** A directory of a repository is told by what it is in. Pure. */
export function contextMaterial(materials: readonly Material[], context: string): Material | undefined {
  return materials.find(({ uri }) => [uri, `${uri}#`, `${uri}:`].some((begin) => context.startsWith(begin)));
}

function materialOf(source: UsedSource): Material | undefined {
  switch (source.kind) {
    case 'image':
      return { uri: packageUrl(source.reference, source.platform), ...digestOf(source.digest) };
    case 'layout':
      return {
        uri: `pkg:oci/${encodeURIComponent(source.store)}?platform=${encodeURIComponent(source.platform)}`,
        ...digestOf(source.digest),
      };
    case 'git': {
      const { ref, commit } = source;
      const uri = `${withoutPassword(source.remote)}${ref === '' ? '' : `#${ref}`}`;
      return { uri, ...(commit !== '' && { digest: { [commit.length > 40 ? 'sha256' : 'sha1']: commit } }) };
    }
    case 'http':
      return { uri: withoutPassword(source.url), ...digestOf(source.digest) };
    case 'local':
    case 'held':
      return undefined;
    default:
      return unreachable(source);
  }
}

/** `sha256:...`; `''` = nobody knows. */
function digestOf(digest: string): Pick<Material, 'digest'> {
  const [, algorithm = '', hex = ''] = /^([^:]+):(.+)$/.exec(digest) ?? [];
  return algorithm === '' ? {} : { digest: { [algorithm]: hex } };
}
