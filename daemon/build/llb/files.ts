import { posix } from 'node:path';
import { invalidArgument, notImplemented } from '../../base/errors.ts';
import type { CopyFiles, FileAction, Vertex } from '../graph/op.ts';
import type { ActionMessage, CopyMessage, FileMessage, OwnerMessage } from './messages.ts';
import { UsedInputs, type Inputs } from './inputs.ts';

const MODE_MAX = 0o7777;

/**
 * Changes to a tree: actions one after the other, each on what the one before has left. Throws not_implemented where
 * they branch.
 */
export function filesVertex({ actions }: FileMessage, inputs: Inputs): Vertex {
  const [first] = actions;
  if (first === undefined) {
    throw invalidArgument('a file operation without actions');
  }
  const used = new UsedInputs(inputs, first.input);
  const translated = actions.map((action, position) => {
    const isLast = position === actions.length - 1;
    const before = inputs.length + position - 1;
    if ((position > 0 && action.input !== before) || action.output !== (isLast ? 0 : -1)) {
      throw notImplemented('file operations whose actions are no chain are not supported');
    }
    return actionOf(action, used);
  });
  return { op: { kind: 'files', actions: translated }, inputs: used.all, name: nameOf(translated) };
}

/** As progress shows an operation that has no name. */
function nameOf([first]: readonly FileAction[]): string {
  if (first === undefined) {
    return 'file';
  }
  return first.action === 'copy'
    ? `copy ${first.sources.join(' ')} ${first.destination}`
    : `${first.action} ${first.path}`;
}

function actionOf(action: ActionMessage, used: UsedInputs): FileAction {
  const { copy, makeFile, makeDirectory } = action;
  if (copy !== undefined) {
    refuseTime(copy.timestamp);
    return copyOf(copy, used.positionOf(action.secondaryInput), used);
  }
  if (makeFile !== undefined) {
    refuseTime(makeFile.timestamp);
    const content = makeFile.data.toString('utf8');
    if (!Buffer.from(content).equals(makeFile.data)) {
      throw notImplemented(`mkfile ${makeFile.path}: content that is no UTF-8 is not supported`);
    }
    return { action: 'mkfile', ...placeOf(makeFile), content };
  }
  if (makeDirectory !== undefined) {
    refuseTime(makeDirectory.timestamp);
    return { action: 'mkdir', ...placeOf(makeDirectory) };
  }
  const kind = action.remove === undefined ? (action.symlink === undefined ? 'unknown' : 'symlink') : 'rm';
  throw notImplemented(`file action ${kind} is not supported in graphs (LLB)`);
}

function placeOf(message: { path: string; mode: number; owner: OwnerMessage | undefined }): {
  path: string;
  mode: number;
  owner: string;
} {
  const path = posix.resolve('/', message.path);
  if (message.mode < 0 || message.mode > MODE_MAX) {
    throw invalidArgument(`mode ${message.mode} of ${path}: must be between 0 and 07777`);
  }
  return { path, mode: message.mode, owner: ownerOf(message.owner) };
}

/** -1 = none was set. */
function refuseTime(timestamp: number): void {
  if (timestamp !== -1 && timestamp !== 0) {
    throw notImplemented(`timestamp ${timestamp} of a file action is not supported`);
  }
}

function copyOf(copy: CopyMessage, from: number, used: UsedInputs): CopyFiles {
  refuseOthers(copy, used.all[from]);
  const path = posix.resolve('/', copy.src);
  const destination = posix.resolve('/', copy.dest);
  return {
    action: 'copy',
    from,
    sources: [copy.allowsWildcard ? path : path.replaceAll(/[*?[\\]/g, String.raw`\$&`)],
    destination: copy.dest.endsWith('/') && destination !== '/' ? `${destination}/` : destination,
    owner: ownerOf(copy.owner),
    chmod: copy.modeText || (copy.mode === -1 ? '' : modeText(copy.mode)),
    unpacks: copy.unpacks,
    keepsParents: false,
    exclude: copy.exclude,
  };
}

/** Copies are as COPY has them: other ways of reading a source are refused where they would make a difference. */
function refuseOthers(copy: CopyMessage, source: Vertex | undefined): void {
  if (copy.include.length > 0 || copy.replaces) {
    throw notImplemented(`copy of ${copy.src}: include patterns and replacing are not supported`);
  }
  if (!copy.makesParents) {
    throw notImplemented(`copy of ${copy.src} without createDestPath is not supported`);
  }
  // One file, or all of a tree, is the same either way.
  const isSame =
    posix.resolve('/', copy.src) === '/' ||
    source?.op.kind === 'http' ||
    (source?.op.kind === 'files' && source.op.actions.every(({ action }) => action === 'mkfile'));
  if (!isSame && !(copy.followsSymlink && copy.copiesContents)) {
    throw notImplemented(`copy of ${copy.src} without followSymlink and dirCopyContents is not supported`);
  }
  if (copy.allowsWildcard && !copy.allowsEmptyWildcard) {
    throw notImplemented(`copy of ${copy.src} with a wildcard that must find something is not supported`);
  }
}

function modeText(mode: number): string {
  if (mode < 0 || mode > MODE_MAX) {
    throw invalidArgument(`mode ${mode} of a copy: must be between 0 and 07777`);
  }
  return mode.toString(8);
}

/** `user`, `user:group`, or nothing. Names are looked up in the tree that is changed, as COPY does. */
function ownerOf(owner: OwnerMessage | undefined): string {
  const [user, group] = [nameOrId(owner?.user), nameOrId(owner?.group)];
  if (user === '' && group !== '') {
    throw notImplemented(`owner :${group} without a user is not supported`);
  }
  return group === '' ? user : `${user}:${group}`;
}

function nameOrId(one: OwnerMessage['user']): string {
  return one?.byName?.name ?? (one?.byId === undefined ? '' : String(one.byId));
}
