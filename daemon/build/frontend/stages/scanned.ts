import { parseBool } from '../../../base/go/values.ts';
import type { Vertex } from '../../graph/op.ts';
import { contextTree } from '../sources/source-tree.ts';
import type { Build, Stage } from './stage.ts';

/** Arguments by which a Dockerfile says what of it is looked through besides its result (docs/attestations/sbom.md). */
const OF_STAGE = 'BUILDKIT_SBOM_SCAN_STAGE';
const OF_CONTEXT = 'BUILDKIT_SBOM_SCAN_CONTEXT';
export const SCAN_ARGUMENTS: readonly string[] = [OF_STAGE, OF_CONTEXT];

/** Trees beside that of the target, by name: stages that it needs, and `context`. All of the context is wanted then. */
export function scannedTrees(
  build: Build,
  target: Stage,
  needed: ReadonlySet<Stage>,
): Map<string, Vertex | undefined> {
  const found = new Map<string, Vertex | undefined>();
  if (!build.options.isScanned) {
    return found;
  }
  if (isAsked(build, target, OF_CONTEXT)) {
    found.set('context', contextTree(build, ['/']));
  }
  for (const stage of needed) {
    if (stage !== target && stage.plan !== undefined && isAsked(build, stage, OF_STAGE)) {
      found.set(nameOf(stage), stage.state?.tree);
    }
  }
  return found;
}

/** `true`, or the names of stages. */
function isAsked({ globals }: Build, stage: Stage, name: string): boolean {
  const own = stage.state?.args.findLast((argument) => argument.name === name)?.value;
  const value = own ?? globals.values.get(name) ?? '';
  try {
    return parseBool(value);
  } catch {
    // It is a list.
    return value.split(',').includes(nameOf(stage));
  }
}

function nameOf({ plan, title }: Stage): string {
  return plan?.name === undefined || plan.name === '' ? title : plan.name;
}
