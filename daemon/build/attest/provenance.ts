import { formatNano } from '../../base/clock.ts';
import { EngineError } from '../../base/errors.ts';
import type { UsedSource } from '../graph/used-source.ts';
import { withoutPassword } from '../history/shown-attributes.ts';
import { isAttestation, type AskedProvenance } from './asked.ts';
import type { BuildRecipe } from '../ports.ts';
import { buildSteps, type BuildSteps } from './build-steps.ts';
import { contextMaterial, materialsOf, type Material } from './materials.ts';

/** What all clients read, the older ones too (https://slsa.dev/spec/v0.2/provenance). */
export const USUAL_PREDICATE = predicateType('v0.2');

/** The parameters are those of BuildKit's frontends, whoever builds. */
const BUILD_TYPE_02 = 'https://mobyproject.org/buildkit@v1';
const BUILD_TYPE_1 = 'https://github.com/moby/buildkit/blob/master/docs/attestations/slsa-definitions.md';
/** What says where it was built, and not what of. */
const OF_HOST = new Set(['cgroup-parent', 'image-resolve-mode', 'platform', 'cache-imports', 'cache-from']);
const OF_CLIENT = /^(?:vcs|sharedkey):|^contextkey$/;
const ARGUMENT = /^(?:build-arg|label):/;

/** A build, as it is known when it has made what is to be proven. */
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
  /** What was done, of which file; undefined = it is not told. */
  made?: { steps: BuildSteps; file: BuildRecipe['file'] };
}

type Asked = Pick<AskedProvenance, 'mode' | 'version' | 'builderId' | 'isReproducible'>;

/** What is told of builds that nobody asked to prove: as much as BuildKit tells of them. */
export const USUAL_PROVENANCE: Asked = {
  mode: 'max',
  version: 'v0.2',
  builderId: '',
  isReproducible: false,
};

export function predicateType(version: AskedProvenance['version']): string {
  return `https://slsa.dev/provenance/${version}`;
}

/**
 * What an image was made of, and what was asked for: a predicate of SLSA 0.2 or 1 with the content that BuildKit gives
 * it (docs/attestations/slsa-definitions.md there). `min` tells no arguments, labels, secrets, steps and files. What
 * was not seen as a whole is not called complete. Pure.
 */
export function provenanceOf(facts: ProvenFacts, asked: Asked): Buffer {
  const told = toldOf(facts, asked);
  return Buffer.from(JSON.stringify(asked.version === 'v1' ? slsa1(told) : slsa02(told), undefined, 2));
}

/** Throws failed_precondition for files of a client, of which nobody can tell what they were. Pure. */
export function refuseIncomplete(sources: readonly UsedSource[]): void {
  if (!isComplete(sources)) {
    const names = sources.flatMap((source) => (source.kind === 'local' ? [source.name] : []));
    throw new EngineError(
      'failed_precondition',
      `provenance materials are incomplete (complete-materials): files of the client: ${names.join(', ')}`,
    );
  }
}

/** The content, in the form of neither version. */
interface Told {
  builderId: string;
  materials: readonly Material[];
  configSource: { uri?: string; digest?: Material['digest'] };
  entryPoint: string | undefined;
  request: object;
  platform: string;
  buildConfig: object | undefined;
  facts: ProvenFacts;
  isRequestComplete: boolean;
  isReproducible: boolean;
  metadata: object;
}

function toldOf(facts: ProvenFacts, { mode, builderId, isReproducible }: Asked): Told {
  const { attributes, sources, frontend, made } = facts;
  const isMax = mode === 'max';
  const all = Object.entries(attributes).filter(
    ([name]) => !OF_HOST.has(name) && !OF_CLIENT.test(name) && !isAttestation(name),
  );
  const args = all.filter(
    ([name]) => (isMax || !ARGUMENT.test(name)) && name !== 'context' && name !== 'filename',
  );
  const hasHidden = !isMax && all.some(([name]) => ARGUMENT.test(name));
  const vcs = Object.entries(attributes).flatMap(([name, value]) =>
    name.startsWith('vcs:') && value !== '' ? [[name.slice('vcs:'.length), withoutPassword(value)]] : [],
  );
  const materials = materialsOf(sources);
  const context = attributes['context'];
  const locals = sources
    .flatMap((source) => (source.kind === 'local' ? [{ name: source.name }] : []))
    .toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const steps = isMax ? made?.steps : undefined;
  return {
    builderId,
    materials,
    configSource: context === undefined ? {} : { ...contextMaterial(materials, context), uri: context },
    entryPoint: attributes['filename'],
    request: {
      ...(frontend !== '' && { frontend }),
      ...(args.length > 0 && { args: Object.fromEntries(args) }),
      ...(steps && steps.secrets.length > 0 && { secrets: steps.secrets.map(askedOf) }),
      ...(steps && steps.agents.length > 0 && { ssh: steps.agents.map(askedOf) }),
      ...(locals.length > 0 && { locals }),
    },
    platform: facts.platform,
    buildConfig: steps && { llbDefinition: steps.steps, digestMapping: steps.digests },
    facts,
    isRequestComplete: frontend !== '' && !hasHidden,
    isReproducible,
    metadata: {
      ...(vcs.length > 0 && { vcs: Object.fromEntries(vcs) }),
      ...(isMax && made && made.file.name !== '' && { source: sourceOf(made) }),
    },
  };
}

function askedOf({ id, isOptional }: BuildSteps['secrets'][number]): object {
  return { id, ...(isOptional && { optional: true }) };
}

/** The file that the build is of, what that was got by, and the lines that each step was made of. */
function sourceOf({ steps, file }: NonNullable<ProvenFacts['made']>): object {
  const locations = [...steps.lines].map(([id, { from, to }]) => [
    id,
    { locations: [{ ranges: [{ start: { line: from }, end: { line: to } }] }] },
  ]);
  const data = Buffer.from(file.text).toString('base64');
  const got = file.source && buildSteps(file.source);
  return {
    ...(locations.length > 0 && { locations: Object.fromEntries(locations) }),
    infos: [
      {
        filename: file.name,
        language: 'Dockerfile',
        data,
        ...(got && { llbDefinition: got.steps, digestMapping: got.digests }),
      },
    ],
  };
}

function slsa02(told: Told): object {
  const { materials, facts, buildConfig } = told;
  return {
    builder: { id: told.builderId },
    buildType: BUILD_TYPE_02,
    ...(materials.length > 0 && { materials }),
    invocation: {
      configSource: {
        ...told.configSource,
        ...(told.entryPoint !== undefined && { entryPoint: told.entryPoint }),
      },
      parameters: told.request,
      environment: { platform: told.platform },
    },
    ...(buildConfig && { buildConfig }),
    metadata: {
      buildInvocationID: facts.ref,
      buildStartedOn: formatNano(facts.createdNano),
      buildFinishedOn: formatNano(facts.completedNano),
      completeness: {
        parameters: told.isRequestComplete,
        environment: true,
        materials: isComplete(facts.sources),
      },
      reproducible: told.isReproducible,
      [`${BUILD_TYPE_02}#metadata`]: told.metadata,
    },
  };
}

function slsa1(told: Told): object {
  const { materials, facts, buildConfig } = told;
  return {
    buildDefinition: {
      buildType: BUILD_TYPE_1,
      externalParameters: {
        configSource: {
          ...told.configSource,
          ...(told.entryPoint !== undefined && { path: told.entryPoint }),
        },
        request: told.request,
      },
      internalParameters: { ...(buildConfig && { buildConfig }), builderPlatform: told.platform },
      ...(materials.length > 0 && { resolvedDependencies: materials }),
    },
    runDetails: {
      builder: { id: told.builderId },
      metadata: {
        invocationId: facts.ref,
        startedOn: formatNano(facts.createdNano),
        finishedOn: formatNano(facts.completedNano),
        buildkit_metadata: told.metadata,
        buildkit_completeness: {
          request: told.isRequestComplete,
          resolvedDependencies: isComplete(facts.sources),
        },
        ...(told.isReproducible && { buildkit_reproducible: true }),
      },
    },
  };
}

function isComplete(sources: readonly UsedSource[]): boolean {
  return sources.every(({ kind }) => kind !== 'local' && kind !== 'held');
}
