import { posix } from 'node:path';
import { patternTest } from '../../base/dockerfile/ignore.ts';
import { errorText, invalidArgument, notImplemented } from '../../base/errors.ts';
import type { CopyFiles, FileAction, Made, Vertex } from '../graph/op.ts';
import { literal } from '../graph/literal.ts';
import { actionGraph, placesOf } from './file-graph.ts';
import type { ActionMessage, CopyMessage, FileMessage, OwnerMessage } from './messages.ts';
import { UsedInputs, type Inputs } from './inputs.ts';

const MODE_MAX = 0o7777;
const PERMISSIONS = 0o777;
const NANOS_PER_SECOND = 1_000_000_000n;

/**
 * Changes to trees, result by result. Actions that stand on one another are one vertex, as long as nothing else needs
 * what one of them has left. Throws invalid_argument that names the field.
 */
export function filesVertices({ actions }: FileMessage, inputs: Inputs): Map<number, Vertex> {
  const { outputs, kept } = actionGraph(actions, inputs.length);
  const made = new Map<number, Vertex>();
  const treeAt = (place: number): Vertex | undefined =>
    place < inputs.length ? inputs[place] : made.get(place);
  /** Places of actions, from the one whose tree it begins with to `place`. */
  const chainTo = (place: number): number[] => {
    const chain = [place];
    for (;;) {
      const before = actions[(chain[0] ?? 0) - inputs.length]?.input ?? -1;
      if (before < inputs.length || kept.has(before)) {
        return chain;
      }
      chain.unshift(before);
    }
  };
  // By a list instead of calls within calls: an operation may have many actions.
  const open = [...outputs.values()];
  for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
    const chain = chainTo(top);
    const all = chain.flatMap((place) => Object.values(placesOf(actionAt(actions, place - inputs.length))));
    const missing = all.filter(
      (place) => place >= inputs.length && !made.has(place) && !chain.includes(place),
    );
    if (missing.length > 0) {
      open.push(...missing);
      continue;
    }
    open.pop();
    if (!made.has(top)) {
      made.set(
        top,
        chainVertex(
          chain.map((place) => actionAt(actions, place - inputs.length)),
          treeAt,
        ),
      );
    }
  }
  return new Map(
    [...outputs].flatMap(([output, place]) => {
      const vertex = made.get(place);
      return vertex === undefined ? [] : [[output, vertex] as const];
    }),
  );
}

function actionAt(actions: readonly ActionMessage[], position: number): ActionMessage {
  const action = actions[position];
  if (action === undefined) {
    throw invalidArgument(`file action ${position} of ${actions.length}`);
  }
  return action;
}

function chainVertex(chain: readonly ActionMessage[], treeAt: (place: number) => Vertex | undefined): Vertex {
  const used = new UsedInputs(treeAt, chain[0]?.input ?? -1);
  const actions = chain.map((action) => actionOf(action, used));
  return { op: { kind: 'files', actions }, inputs: used.all, name: nameOf(actions) };
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
  const { input, copy, makeFile, makeDirectory, remove, symlink } = action;
  if (copy !== undefined) {
    return copyOf(copy, action, used);
  }
  if (makeFile !== undefined) {
    const path = pathOf(makeFile.path, 'mkfile.path');
    const content = makeFile.data.toString('utf8');
    const isText = Buffer.from(content).equals(makeFile.data);
    return {
      action: 'mkfile',
      path,
      content: isText ? content : makeFile.data.toString('base64'),
      ...(!isText && { isBase64: true }),
      mode: permissionsOf(makeFile.mode, path),
      needsParent: true,
      ...madeOf(makeFile, input, used),
    };
  }
  if (makeDirectory !== undefined) {
    const path = pathOf(makeDirectory.path, 'mkdir.path');
    const parents = makeDirectory.makesParents ? 'same' : 'none';
    const mode = permissionsOf(makeDirectory.mode, path);
    return { action: 'mkdir', path, mode, parents, ...madeOf(makeDirectory, input, used) };
  }
  if (symlink !== undefined) {
    if (symlink.target === '') {
      throw invalidArgument('symlink.oldpath: a link needs a target');
    }
    refuseNul(symlink.target, 'symlink.oldpath');
    const path = pathOf(symlink.path, 'symlink.newpath');
    return { action: 'symlink', path, target: symlink.target, ...madeOf(symlink, input, used) };
  }
  if (remove !== undefined) {
    const { allowsWildcard: isPattern, mayMiss } = remove;
    return { action: 'rm', path: pathOf(remove.path, 'rm.path'), isPattern, mayMiss };
  }
  throw notImplemented('file actions of an unknown kind are not supported');
}

/** From the root on: `..` ends there. */
function pathOf(path: string, field: string): string {
  refuseNul(path, field);
  return posix.resolve('/', path);
}

function refuseNul(text: string, field: string): void {
  if (text.includes('\0')) {
    throw invalidArgument(`${field} ${JSON.stringify(text)}: must have no NUL`);
  }
}

/** Bits beyond those of permissions are left out, as BuildKit does. */
function permissionsOf(mode: number, path: string): number {
  if (mode < 0 || mode > MODE_MAX) {
    throw invalidArgument(`mode ${mode} of ${path}: must be between 0 and 07777`);
  }
  return mode & PERMISSIONS;
}

function madeOf(
  { owner, timestamp }: { owner: OwnerMessage | undefined; timestamp: bigint },
  base: number,
  used: UsedInputs,
): Made {
  return { ...ownerOf(owner, base, used), ...timeOf(timestamp) };
}

/** -1 = none was set. */
function timeOf(timestamp: bigint): Pick<Made, 'mtime'> {
  if (timestamp === -1n) {
    return {};
  }
  const nanoseconds = ((timestamp % NANOS_PER_SECOND) + NANOS_PER_SECOND) % NANOS_PER_SECOND;
  const seconds = (timestamp - nanoseconds) / NANOS_PER_SECOND;
  return { mtime: { seconds: Number(seconds), nanoseconds: Number(nanoseconds) } };
}

function copyOf(copy: CopyMessage, { input, secondaryInput }: ActionMessage, used: UsedInputs): CopyFiles {
  const source = pathOf(copy.src, 'copy.src');
  const destination = pathOf(copy.dest, 'copy.dest');
  checkPatterns('copy.include_patterns', copy.include);
  checkPatterns('copy.exclude_patterns', copy.exclude);
  return {
    action: 'copy',
    from: used.positionOf(secondaryInput),
    sources: [copy.allowsWildcard ? source : literal(source)],
    destination: /\/\.?$/.test(copy.dest) && destination !== '/' ? `${destination}/` : destination,
    chmod: copy.modeText || (copy.mode === -1 ? '' : modeText(copy.mode)),
    unpacks: copy.unpacks,
    keepsParents: false,
    exclude: copy.exclude,
    ...madeOf(copy, input, used),
    exact: {
      followsLinks: copy.followsSymlink,
      copiesContents: copy.copiesContents,
      makesParents: copy.makesParents,
      mustMatch: copy.allowsWildcard && !copy.allowsEmptyWildcard,
      include: copy.include,
      replaces: copy.replaces,
    },
  };
}

function checkPatterns(field: string, patterns: readonly string[]): void {
  try {
    patternTest(patterns);
  } catch (error) {
    throw invalidArgument(`${field}: ${errorText(error)}`, { cause: error });
  }
}

function modeText(mode: number): string {
  if (mode < 0 || mode > MODE_MAX) {
    throw invalidArgument(`mode ${mode} of a copy: must be between 0 and 07777`);
  }
  return mode.toString(8);
}

/** `user`, `user:group`, or nothing. `base` is the tree that is changed, in which names are looked up as a rule. */
function ownerOf(
  owner: OwnerMessage | undefined,
  base: number,
  used: UsedInputs,
): Pick<Made, 'owner' | 'accounts'> {
  if (owner === undefined) {
    return { owner: '' };
  }
  const named = [owner.user, owner.group].flatMap((one) => one?.byName ?? []);
  const [place = base, ...others] = [...new Set(named.map(({ input }) => input))];
  if (others.length > 0) {
    throw notImplemented('owner: a user and a group of different inputs are not supported');
  }
  if (place < 0 && named.length > 0) {
    throw invalidArgument(`owner: invalid user index ${place}`);
  }
  const user = nameOrId(owner.user) || '0';
  const group = nameOrId(owner.group);
  return {
    owner: group === '' ? user : `${user}:${group}`,
    ...(place !== base && { accounts: used.positionOf(place) }),
  };
}

function nameOrId(one: OwnerMessage['user']): string {
  return one?.byName?.name ?? (one?.byId === undefined ? '' : String(one.byId));
}
