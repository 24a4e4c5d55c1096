import { BUILDKIT } from '../../../../daemon/build/frontend/dialect.ts';
import { parseReadable } from '../../../../daemon/base/dockerfile/parse.ts';
import { parseLintConfig, type LintWarning } from '../../../../daemon/build/frontend/lint/linter.ts';
import { makeGraph, type BuildGraph } from '../../../../daemon/build/frontend/make-graph.ts';
import type { BuildOptions, FoundImage } from '../../../../daemon/build/frontend/options.ts';
import type { Vertex } from '../../../../daemon/build/graph/op.ts';
import { notFound } from '../../../../daemon/base/errors.ts';
import type { ContainerConfig } from '../../../../api/types/container.ts';

export const OPTIONS: BuildOptions = {
  target: '',
  args: new Map(),
  labels: new Map(),
  buildPlatform: { os: 'linux', architecture: 'amd64' },
  targetPlatform: undefined,
  isMultiPlatform: false,
  context: {
    kind: 'local',
    name: 'context',
    session: 's1',
    sharedKey: 'k',
    includePatterns: [],
    excludePatterns: [],
    followPaths: [],
  },
  ignorePatterns: [],
  contexts: new Map(),
  isScanned: false,
  noCache: [],
  pulls: false,
  entitlements: new Set(),
  network: 'default',
  hostname: '',
  extraHosts: [],
  shmBytes: undefined,
  ulimits: [],
  cgroupParent: '',
  cacheNamespace: '',
};

export interface Given {
  options?: Partial<BuildOptions>;
  /** Configurations of images, by normalized name; others are not there. */
  images?: Readonly<Record<string, ContainerConfig>>;
  readsAll?: boolean;
  warnings?: LintWarning[];
}

const DEBIAN: ContainerConfig = { Env: ['PATH=/bin'], Cmd: ['bash'] };

/** What the frontend makes of a Dockerfile. `asked` are the images that it asked for. */
export async function read(
  text: string | readonly string[],
  { options = {}, images = {}, readsAll = false, warnings = [] }: Given = {},
): Promise<BuildGraph & { asked: string[] }> {
  const known: Readonly<Record<string, ContainerConfig>> = {
    'docker.io/library/debian:12': DEBIAN,
    'docker.io/library/golang:1.24': { Env: ['PATH=/go/bin', 'GOPATH=/go'], WorkingDir: '/go' },
    ...images,
  };
  const asked: string[] = [];
  const dockerfile = parseReadable(BUILDKIT, typeof text === 'string' ? text : text.join('\n'));
  const graph = await makeGraph(
    {
      dockerfile,
      options: { ...OPTIONS, ...options },
      lint: parseLintConfig(dockerfile.directives.check),
      readsAll,
      warnings,
    },
    {
      findLayout: ({ digest }) => Promise.reject(new Error(`no layout ${digest}`)),
      ignoredOf: (directory) => Promise.resolve(directory === 'ignoring' ? ['gone'] : []),
      findImage: (reference): Promise<FoundImage> => {
        asked.push(reference);
        const config = known[reference];
        return config === undefined
          ? Promise.reject(notFound(`${reference}: not found`))
          : Promise.resolve({
              reference,
              os: 'linux',
              architecture: 'amd64',
              variant: '',
              author: '',
              config,
              history: [],
              hasLayers: true,
            });
      },
    },
  );
  return { ...graph, asked };
}

/** Every vertex of a graph, inputs first. */
export function vertices(tree: Vertex | undefined): Vertex[] {
  const found = new Set<Vertex>();
  const visit = (vertex: Vertex | undefined): void => {
    if (vertex !== undefined && !found.has(vertex)) {
      vertex.inputs.forEach(visit);
      found.add(vertex);
    }
  };
  visit(tree);
  return [...found];
}

export function names(tree: Vertex | undefined): string[] {
  return vertices(tree).map(({ name }) => name);
}
