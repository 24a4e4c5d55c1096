import { parseImageConfig } from '../../../storage/image/image-config.ts';
import { formatPlatform, hostPlatform } from '../../../storage/image/platform.ts';
import { invalidArgument, isEngineError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { AskedScan } from './asked.ts';
import { readBundle, type BundleFiles } from './read-bundle.ts';
import { scanVertex } from './scan-vertex.ts';
import type { Attestation } from '../../../storage/image-archives/statement.ts';
import { platformOf } from '../export/exported-image.ts';
import type { Vertex } from '../graph/op.ts';
import type { TreeReader } from '../ops/tree-reader.ts';
import type { BuiltImage } from '../ports.ts';
import type { HeldTrees, KeptTree } from '../snapshots/held-trees.ts';
import type { BuildTree } from '../snapshots/tree.ts';
import { release } from '../solver/ports.ts';
import type { Solver } from '../solver/solver.ts';
import { askImage, type Asking } from '../control/ask-image.ts';
import { commandText, failure } from '../control/dockerfile.ts';
import { VertexProgress } from '../control/vertex-progress.ts';

interface Scanning extends Omit<Asking, 'signal'> {
  held: HeldTrees;
  solver: Solver<BuildTree>;
  trees: TreeReader;
}

/** Has an image looked through by the image that a client names; answers what that says. */
export async function scanImage(
  build: Scanning,
  { tree, recipe, config: image }: BuiltImage,
  { scanner, parameters, isFresh }: AskedScan,
): Promise<Attestation[]> {
  const { session, held, solver, running } = build;
  const { vertices, signal } = running;
  const question = { reference: scanner, mode: 'local', name: '', policies: [] } as const;
  const { reference, digest, config } = await askImage({ ...build, signal }, question);
  const kept: KeptTree[] = [];
  const heldVertex = (name: string, of: BuildTree | undefined): Vertex => {
    const one = held.keep(of);
    kept.push(one);
    return { op: { kind: 'held', id: one.id }, inputs: [], name: `[sbom] ${name}` };
  };
  try {
    const target = scanVertex(
      {
        reference: digest === '' ? reference : `${reference.replace(/@.*$/, '')}@${digest}`,
        platform: formatPlatform(hostPlatform()),
        config: parseImageConfig(config, reference).config,
      },
      {
        title: formatPlatform(platformOf(image)),
        core: heldVertex('result', tree),
        extras: new Map([...recipe.scanned].map(([name, of]) => [name, heldVertex(name, of)])),
        parameters,
        isFresh,
      },
    );
    const progress = new VertexProgress(vertices, [target]);
    const [bundle] = await solver
      .solve([target], { session: session.id, progress, signal, describe: commandText })
      .catch((error: unknown) => {
        throw isEngineError(error) ? failure(error, recipe.file, { progress }) : error;
      });
    using _bundle = bundle ?? { [Symbol.dispose]: () => undefined };
    return await readBundle(filesOf(build.trees, bundle));
  } finally {
    release(kept);
  }
}

function filesOf(trees: TreeReader, tree: BuildTree | undefined): BundleFiles {
  return {
    names: async () => (await trees.list(tree, { path: '/', pattern: '' })).map(({ path }) => path),
    read: async (name, bytesMax) => {
      const { size } = await trees.stat(tree, name);
      if (size > bytesMax) {
        throw invalidArgument(`in-toto statement ${name}: more than ${bytesMax} bytes`);
      }
      const pieces: Buffer[] = [];
      for (let offset = 0; offset < size; offset += limits.llbReadBytesMax) {
        pieces.push(await trees.file(tree, { path: name, offset, length: limits.llbReadBytesMax }));
      }
      return Buffer.concat(pieces);
    },
  };
}
