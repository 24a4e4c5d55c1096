import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { BuildDefinition } from '../../../api/types/build/definition.ts';
import type { BuildSession } from '../../../api/types/build/session.ts';
import { showUrl } from '../../../storage/downloads/download.ts';
import { formatPlatform, hostPlatform } from '../../../storage/image/platform.ts';
import type { Vertex as ShownVertex, Vertices } from '../control/vertices.ts';
import { VertexProgress } from '../control/vertex-progress.ts';
import { invalidArgument, invariant, notImplemented, unreachable } from '../../base/errors.ts';
import { contextSource } from '../frontend/sources/remote.ts';
import type { Vertex } from '../graph/op.ts';
import type { UsedSource } from '../graph/used-source.ts';
import type { GraphOwner } from '../llb/owner.ts';
import { readGraph } from '../llb/read-graph.ts';
import { judged } from '../policy/asked-policy.ts';
import { convertOp } from '../policy/convert-graph.ts';
import { evaluated } from '../policy/evaluate.ts';
import type { SourceConversion } from '../policy/named-source.ts';
import type { HeldTrees, KeptTree } from '../snapshots/held-trees.ts';
import { BuildTree } from '../snapshots/tree.ts';
import type { Solver } from '../solver/solver.ts';
import { ONLY_FILE, receiveStream, type ArchiveSpools, type CameAsStream } from './archive.ts';
import { receiveUrl } from './by-url.ts';
import { KeptUploads } from './kept-uploads.ts';
import { withoutIgnored } from './without-ignored.ts';
import type { UploadedBody } from './uploads.ts';

/** What contexts come by. */
export interface ContextLoading {
  session: BuildSession;
  vertices: Vertices;
  solver: Solver<BuildTree>;
  spools: ArchiveSpools;
  held: HeldTrees;
  entitlements: readonly string[];
  signal: AbortSignal;
  /** Results of other builds and sources of the client, by name. */
  inputs: ReadonlyMap<string, BuildDefinition>;
  /** What a policy of the client makes of sources. */
  convert: SourceConversion;
  /** A context in the body of a request. */
  upload?: () => Promise<UploadedBody>;
}

/** A context that is no directory of the client's session. */
export interface MainContext extends Disposable {
  tree: BuildTree;
  /** It is nothing but a Dockerfile. */
  isFile: boolean;
  /** What it was made of. */
  used: readonly UsedSource[];
  /** What brought it; undefined = no operation. */
  source?: Vertex;
}

const uploads = new KeptUploads<CameAsStream>();

const STREAM = '[internal] load remote build context';

/**
 * The context of a build by the request's body, by its URL, else as a graph of the client; undefined: a directory of
 * the client's session. Throws not_implemented for other URLs, and what is thrown where it is got.
 */
export async function loadContext(
  build: ContextLoading,
  { url, keepsGitDirectory }: { url: string; keepsGitDirectory: boolean },
): Promise<MainContext | undefined> {
  const { upload, session, signal } = build;
  if (upload !== undefined) {
    return await stream(build, async (shown) => {
      // Its request lives on, to be answered.
      using uploaded = await upload();
      return await receiveBody(build, shown, uploaded.body);
    });
  }
  if (url === '') {
    return await contextInput(build);
  }
  const source = contextSource(url, keepsGitDirectory);
  switch (source.kind) {
    case 'upload':
      return await stream(build, async (shown) =>
        uploads.take(session, source.path, async () => {
          const body = Readable.from(session.upload(source.path, signal));
          try {
            return await receiveBody(build, shown, body);
          } finally {
            body.destroy();
          }
        }),
      );
    case 'http': {
      const address = await judged(signal, () => convertedUrl(source.url, build));
      const hash = createHash('sha256');
      const came = await stream(build, async (shown) => {
        return await receive(shown, showUrl(address), async (told) =>
          receiveUrl(build.spools, address, { signal, came: told, kindOf: () => 'either', hash }),
        );
      });
      const digest = `sha256:${hash.digest('hex')}`;
      return { ...came, used: [{ kind: 'http', url: address.href, digest }], source: urlVertex(address) };
    }
    case 'git':
      return await solved(build, {
        op: await judged(signal, () => convertOp(source.op, ownerOf(build))),
        inputs: [],
        name: `[internal] load git source ${url}`,
      });
    default:
      return unreachable(source);
  }
}

/** The context as a graph of the client; undefined = there is none. */
async function contextInput(build: ContextLoading): Promise<MainContext | undefined> {
  const input = await judged(build.signal, () => inputOf(build, 'context'));
  if (input !== undefined) {
    return await solved(build, input);
  }
  if (!build.inputs.has('context')) {
    return undefined;
  }
  const tree = new BuildTree({ kind: 'layers', layerIds: [] }, () => undefined);
  return { tree, isFile: false, used: [], [Symbol.dispose]: () => tree[Symbol.dispose]() };
}

/** An input of the frontend as a vertex. Throws for a graph that is none. */
export function inputOf(
  build: Pick<ContextLoading, 'inputs' | 'session' | 'entitlements' | 'convert'>,
  name: string,
): Vertex | undefined {
  const definition = build.inputs.get(name);
  return definition && readGraph(definition, ownerOf(build));
}

/** Whose graphs those of a build are. Pure. */
export function ownerOf({
  session,
  entitlements,
  convert,
}: Pick<ContextLoading, 'session' | 'entitlements' | 'convert'>): GraphOwner {
  const { id, sharedKey } = session;
  return { session: id, sharedKey, platform: formatPlatform(hostPlatform()), entitlements, convert };
}

/** It is a file in any case. Throws in BuildKit's words, and not_implemented for what is none. */
function convertedUrl(url: URL, { convert }: ContextLoading): URL {
  const asked = { identifier: url.href, attrs: new Map([['http.filename', 'context']]) };
  const converted = evaluated(asked, convert);
  if (converted === asked) {
    return url;
  }
  const { identifier, attrs } = converted;
  const other = [...attrs].find(([name, value]) => asked.attrs.get(name) !== value);
  if (other !== undefined || !/^https?:/.test(identifier) || !URL.canParse(identifier)) {
    const what = other === undefined ? '' : ` with ${other.join('=')}`;
    throw notImplemented(`context ${url.href}: it cannot become ${identifier}${what} by a source policy`);
  }
  return new URL(identifier);
}

/** As BuildKit gets a context by HTTP. */
function urlVertex({ href }: URL): Vertex {
  const owner = { uid: 0, gid: 0 };
  const op = { kind: 'http', url: href, checksum: '', fileName: ONLY_FILE, owner } as const;
  return { op, inputs: [], name: href };
}

/** What builds are told of the context: without what it leaves out. */
export function keepContext(held: HeldTrees, { tree }: MainContext, patterns: readonly string[]): KeptTree {
  const { content } = tree;
  if (content.kind === 'layers' || patterns.length === 0) {
    return held.keep(tree);
  }
  using less = withoutIgnored(tree.hold(), content.context, patterns);
  return held.keep(less);
}

async function stream(
  { vertices }: ContextLoading,
  work: (shown: ShownVertex) => Promise<CameAsStream>,
): Promise<MainContext> {
  const { tree, isFile } = await vertices.run(STREAM, work);
  return {
    tree,
    isFile,
    used: [{ kind: 'local', name: 'context' }],
    [Symbol.dispose]: () => tree[Symbol.dispose](),
  };
}

async function receiveBody(
  { spools, signal }: ContextLoading,
  shown: ShownVertex,
  body: Readable,
): Promise<CameAsStream> {
  const what = 'build context';
  return await receive(shown, what, async (came) =>
    receiveStream(spools, body, { what, kind: 'either', signal, came }),
  );
}

async function receive(
  shown: ShownVertex,
  what: string,
  work: (came: (bytes: number) => void) => Promise<CameAsStream>,
): Promise<CameAsStream> {
  const id = 'transferring context:';
  let current = 0;
  const came = (bytes: number): void => {
    current += bytes;
    shown.progress(id, { current });
  };
  try {
    const received = await work(came);
    if (received.isEmpty) {
      received.tree[Symbol.dispose]();
      throw invalidArgument(`${what}: it is empty`);
    }
    return received;
  } finally {
    shown.progress(id, { current, isLast: true });
  }
}

async function solved(
  { solver, vertices, session, signal }: ContextLoading,
  vertex: Vertex,
): Promise<MainContext> {
  const progress = new VertexProgress(vertices, [vertex]);
  const used: UsedSource[] = [];
  const [tree] = await solver.solve([vertex], {
    session: session.id,
    progress,
    signal,
    used: (source) => used.push(source),
  });
  invariant(tree !== undefined, 'a vertex has a tree');
  return { tree, isFile: false, used, source: vertex, [Symbol.dispose]: () => tree[Symbol.dispose]() };
}
