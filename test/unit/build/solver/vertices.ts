import type { ExecMount, Vertex } from '../../../../daemon/build/graph/op.ts';

type Input = Vertex | undefined;

export function image(reference: string): Vertex {
  return {
    op: { kind: 'image', reference, platform: 'linux/amd64', mode: 'local' },
    inputs: [],
    name: `FROM ${reference}`,
  };
}

export function context(session: string): Vertex {
  const none = { includePatterns: [], excludePatterns: [], followPaths: [] };
  return {
    op: { kind: 'local', name: 'context', session, sharedKey: '', ...none },
    inputs: [],
    name: 'load build context',
  };
}

/** `mounted` are bind mounts that are only read. */
export function run(word: string, base: Input, mounted: readonly Vertex[] = []): Vertex {
  const mounts = mounted.map((_, index): ExecMount => ({
    type: 'bind',
    from: index + 1,
    source: '/',
    target: '/m',
    isWritable: false,
  }));
  return {
    op: {
      kind: 'exec',
      argv: [word],
      env: [],
      quietEnv: [],
      directory: '/',
      user: '',
      network: 'default',
      isPrivileged: false,
      hostname: '',
      extraHosts: [],
      ulimits: [],
      cgroupParent: '',
      mounts,
    },
    inputs: [base, ...mounted],
    name: `RUN ${word}`,
  };
}

export function copy(sources: readonly string[], base: Input, from: Vertex): Vertex {
  const plain = { owner: '', chmod: '', unpacks: false, keepsParents: false, exclude: [] };
  return {
    op: { kind: 'files', actions: [{ action: 'copy', from: 1, sources, destination: '/', ...plain }] },
    inputs: [base, from],
    name: `COPY ${sources.join(' ')}`,
  };
}
