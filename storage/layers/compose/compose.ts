import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { InvariantError, isEngineError } from '../../../daemon/base/errors.ts';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import type { PlaceRequest } from '../../files/place.ts';
import type { TarMember } from '../../tar/parser.ts';
import { DIFF, RECIPE } from '../apply.ts';
import type { AppliedLayer, ApplyControl } from '../apply-request.ts';
import { RecipeWriter } from '../recipe.ts';
import { LayerTree } from '../tree.ts';
import { ComposedTar } from './composed-tar.ts';
import { FileRuns } from './file-runs.ts';
import { gatherFiles } from './gather.ts';
import type { Helper } from './helper.ts';
import { LowerFiles } from './lower-files.ts';
import { makeFiles, refuseCanceled } from './make-files.ts';
import { planLayer, type ComposedFiles } from './plan.ts';
import { SourceWindow } from './source-window.ts';

export interface ComposeRequest {
  /** An existing empty directory of ours; gets `diff` and `recipe`. */
  directory: string;
  /** Its view is of what the files come over. */
  files: PlaceRequest;
}

/** `unchanged`: all of it is there already. `beyond`: it takes an overlay, or an error that has to be met there. */
export type Composed = { kind: 'layer'; layer: AppliedLayer } | { kind: 'unchanged' } | { kind: 'beyond' };

/**
 * Makes a layer of files of a client, or of a few of a tree. The layer's tar is stored nowhere and only goes through
 * its digest, meanwhile a helper makes files; then both make what is left. Runs in a worker: it blocks. Leaves a
 * half-filled directory unless it answers a layer; the caller removes it, when the helper has ended. Throws `canceled`.
 */
export async function composeLayer(
  { directory, files }: ComposeRequest,
  control: ApplyControl,
  helper?: Helper,
): Promise<Composed> {
  try {
    using gathered = gatherFiles({ directory, files }, control);
    const members = planned(gathered.files);
    if (members === undefined || members.length === 0) {
      return { kind: members === undefined ? 'beyond' : 'unchanged' };
    }
    return { kind: 'layer', layer: await make(directory, gathered.files, { members, control, helper }) };
  } catch (error) {
    if (isEngineError(error, 'canceled') || error instanceof InvariantError) {
      throw error;
    }
    // Where nobody waits any more that is why, in the helper, too.
    refuseCanceled(control, files.what);
    // Whatever it is, placing the files by an overlay meets it too and says what it is, or does without.
    return { kind: 'beyond' };
  }
}

function planned(files: ComposedFiles): TarMember[] | undefined {
  using lower = new LowerFiles(files.view);
  return planLayer(files, lower);
}

async function make(
  directory: string,
  { what, source }: ComposedFiles,
  {
    members,
    control,
    helper,
  }: { members: readonly TarMember[]; control: ApplyControl; helper: Helper | undefined },
): Promise<AppliedLayer> {
  const diff = join(directory, DIFF);
  mkdirSync(diff, { mode: 0o755 });
  failpoint('images.build.compose');
  using tree = new LayerTree(diff);
  // So that each thread finds them.
  for (const member of members.filter(({ type }) => type === 'directory')) {
    refuseCanceled(control, what);
    tree.directory(member.name, member);
  }
  const files = members.filter(({ type }) => type !== 'directory');
  const runs = new FileRuns(files);
  const content = new SourceWindow(source.fd, what);
  try {
    const work = { diff, fd: source.fd, runs, what };
    helper?.begin(files, work);
    const facts = writeRecipe(join(directory, RECIPE), members, (member) => {
      refuseCanceled(control, what);
      return content.read(member.offset, member.size);
    });
    const warnings = makeFiles(work, control);
    warnings.push(...((await helper?.ended()) ?? []));
    tree.finish();
    return { ...facts, implied: [...tree.implied], warnings: [...warnings, ...tree.warnings] };
  } finally {
    runs.end();
  }
}

function writeRecipe(
  path: string,
  members: readonly TarMember[],
  contentOf: (member: TarMember) => Iterable<Buffer>,
): ReturnType<ComposedTar['end']> {
  const fd = openSync(path, 'wx', 0o600);
  try {
    const tar = new ComposedTar(new RecipeWriter(fd));
    for (const member of members) {
      tar.member(member, contentOf(member));
    }
    return tar.end();
  } finally {
    closeSync(fd);
  }
}
