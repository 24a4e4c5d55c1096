import { formatNano } from '../../base/clock.ts';
import { unreachable } from '../../base/errors.ts';
import type { UsedSource } from '../graph/used-source.ts';
import { packageUrl } from './package-url.ts';
import { withoutPassword } from './shown-attributes.ts';

export const PROVENANCE_TYPE = 'application/vnd.in-toto+json';
/** What all clients read, the older ones too (https://slsa.dev/spec/v0.2/provenance). */
export const PREDICATE = 'https://slsa.dev/provenance/v0.2';

/** The parameters are those of BuildKit's frontends, whoever builds. */
const BUILD_TYPE = 'https://mobyproject.org/buildkit@v1';
const METADATA = `${BUILD_TYPE}#metadata`;
/** What says where it was built, and not what of. */
const OF_HOST = new Set(['cgroup-parent', 'image-resolve-mode', 'platform', 'cache-imports', 'cache-from']);

export interface ProvenFacts {
  ref: string;
  frontend: string;
  /** As they are shown: without passwords. */
  attributes: Readonly<Record<string, string>>;
  sources: readonly UsedSource[];
  /** Of this host. */
  platform: string;
  createdNano: bigint;
  completedNano: bigint;
}

/** One of what a build is made of. */
interface Material {
  uri: string;
  digest?: Readonly<Record<string, string>>;
}

/**
 * What an image was made of, and what was asked for: a predicate of SLSA 0.2 as BuildKit's `mode=min` has it. Arguments
 * and labels are not told, and what was not seen as a whole is not called complete. Pure.
 */
export function provenanceOf(facts: ProvenFacts): Buffer {
  const { attributes, sources, frontend } = facts;
  const all = Object.entries(attributes).filter(
    ([name]) => !OF_HOST.has(name) && !/^(?:vcs|attest|sharedkey):|^contextkey$/.test(name),
  );
  const told = all.filter(
    ([name]) => !/^(?:build-arg|label):/.test(name) && name !== 'context' && name !== 'filename',
  );
  const hasArguments = all.some(([name]) => /^(?:build-arg|label):/.test(name));
  const vcs = Object.entries(attributes).flatMap(([name, value]) =>
    name.startsWith('vcs:') && value !== '' ? [[name.slice('vcs:'.length), value]] : [],
  );
  const materials = materialsOf(sources);
  const context = attributes['context'];
  const locals = sources.flatMap((source) => (source.kind === 'local' ? [{ name: source.name }] : []));
  const predicate = {
    builder: { id: '' },
    buildType: BUILD_TYPE,
    ...(materials.length > 0 && { materials }),
    invocation: {
      configSource: {
        ...(context !== undefined && { ...contextOf(materials, context), uri: context }),
        ...(attributes['filename'] !== undefined && { entryPoint: attributes['filename'] }),
      },
      parameters: {
        ...(frontend !== '' && { frontend }),
        ...(told.length > 0 && { args: Object.fromEntries(told) }),
        ...(locals.length > 0 && { locals }),
      },
      environment: { platform: facts.platform },
    },
    metadata: {
      buildInvocationID: facts.ref,
      buildStartedOn: formatNano(facts.createdNano),
      buildFinishedOn: formatNano(facts.completedNano),
      completeness: {
        parameters: frontend !== '' && !hasArguments,
        environment: true,
        materials: sources.every(({ kind }) => kind !== 'local' && kind !== 'held'),
      },
      reproducible: false,
      [METADATA]: vcs.length === 0 ? {} : { vcs: Object.fromEntries(vcs) },
    },
  };
  return Buffer.from(JSON.stringify(predicate, undefined, 2));
}

/** A directory of a repository is told by what it is in. */
function contextOf(materials: readonly Material[], context: string): Material | undefined {
  return materials.find(({ uri }) => [uri, `${uri}#`, `${uri}:`].some((begin) => context.startsWith(begin)));
}

/** Each once, in the order in which they were come by. */
function materialsOf(sources: readonly UsedSource[]): Material[] {
  const materials = new Map(
    sources.flatMap((source) => {
      const material = materialOf(source);
      return material === undefined ? [] : [[JSON.stringify(material), material] as const];
    }),
  );
  return [...materials.values()];
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
