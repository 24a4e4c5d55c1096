import { parsePlatform } from '../../../storage/image/platform.ts';
import { unreachable } from '../../base/errors.ts';
import { timeNano } from '../export/time-nano.ts';
import {
  SANDBOX_HOSTNAME,
  type CopyFiles,
  type ExecMount,
  type ExecOp,
  type FileAction,
  type FilesOp,
  type Made,
  type Op,
} from '../graph/op.ts';
import { withoutPassword } from '../history/shown-attributes.ts';

type Shown = Readonly<Record<string, unknown>>;

/** Inputs of an operation as they are counted where empty trees are none. */
export interface ShownInputs {
  /** -1: an empty tree. */
  at(position: number): number;
  count: number;
}

/** `MountType`, `NetMode`, `SecurityMode` and `CacheSharingOpt` of BuildKit's ops.proto. */
const MOUNT = { bind: 0, secret: 1, ssh: 2, cache: 3, tmpfs: 4 } as const;
const NETWORK = { default: 0, host: 1, none: 2 } as const;
const SHARING = { shared: 0, private: 1, locked: 2 } as const;
const INSECURE = 1;
const NONE = -1;

/**
 * An operation as others print `pb.Op`, without its inputs; undefined = it is a part of the one before. What commands
 * are given quietly (proxies) is not told. Pure.
 */
export function shownOp(op: Op, inputs: ShownInputs): Shown | undefined {
  switch (op.kind) {
    case 'image':
    case 'layout':
      return { ...source(identifierOf(op)), platform: shownPlatform(op.platform) };
    case 'local':
      return source(`local://${op.name}`, {
        'local.excludepatterns': listed(op.excludePatterns),
        'local.followpaths': listed(op.followPaths),
        'local.includepattern': listed(op.includePatterns),
      });
    case 'sent':
      return source('local://context');
    case 'http':
      return source(withoutPassword(op.url), {
        'http.checksum': op.checksum,
        'http.filename': op.fileName,
      });
    case 'git':
      return source(identifierOf(op), {
        'git.keepgitdir': op.keepsGitDirectory ? 'true' : '',
        'git.skipsubmodules': op.skipsSubmodules ? 'true' : '',
        'git.checksum': op.checksum,
      });
    case 'held':
      return source('berth-result://held');
    case 'files':
      return { Op: { file: { actions: actionsOf(op, inputs) } } };
    case 'exec':
      return { Op: { exec: execOf(op, inputs) } };
    case 'merge':
      return { Op: { merge: { inputs: [{ input: inputs.at(0) }, { input: inputs.at(1) }] } } };
    case 'diff':
      return { Op: { diff: { lower: { input: inputs.at(0) }, upper: { input: inputs.at(1) } } } };
    case 'result':
      return undefined;
    default:
      return unreachable(op);
  }
}

function identifierOf(op: Extract<Op, { kind: 'image' | 'layout' | 'git' }>): string {
  switch (op.kind) {
    case 'image':
      return `docker-image://${op.reference}`;
    case 'layout':
      return `oci-layout://${op.store}@${op.digest}`;
    case 'git': {
      const remote = withoutPassword(op.remote).replace(/^\w+:\/\//, '');
      const part = [op.ref, op.subdirectory].join(':').replace(/:$/, '');
      return `git://${remote}${part === '' ? '' : `#${part}`}`;
    }
    default:
      return unreachable(op);
  }
}

function source(identifier: string, attributes: Readonly<Record<string, string>> = {}): Shown {
  const said = Object.entries(attributes).filter(([, value]) => value !== '');
  return { Op: { source: { identifier, ...(said.length > 0 && { attrs: Object.fromEntries(said) }) } } };
}

function shownPlatform(text: string): Shown {
  const { os, architecture, variant } = parsePlatform(text, 'platform', { anySystem: true });
  return { Architecture: architecture, OS: os, ...(variant !== undefined && { Variant: variant }) };
}

function listed(texts: readonly string[]): string {
  return texts.length === 0 ? '' : JSON.stringify(texts);
}

/** Each stands on the one before, the first on the first input. What they make is counted on from the inputs. */
function actionsOf({ actions }: FilesOp, inputs: ShownInputs): Shown[] {
  return actions.map((action, position) => ({
    input: position === 0 ? inputs.at(0) : inputs.count + position - 1,
    secondaryInput: action.action === 'copy' ? inputs.at(action.from) : NONE,
    output: position === actions.length - 1 ? 0 : NONE,
    Action: actionOf(action, inputs),
  }));
}

function actionOf(action: FileAction, inputs: ShownInputs): Shown {
  switch (action.action) {
    case 'mkdir': {
      const { path, mode, parents } = action;
      return { mkdir: { path, mode, makeParents: parents !== 'none', ...madeOf(action, inputs) } };
    }
    case 'mkfile': {
      const { path, mode, isBase64, content } = action;
      const data = isBase64 ? content : Buffer.from(content).toString('base64');
      return { mkfile: { path, mode, data, ...madeOf(action, inputs) } };
    }
    case 'symlink':
      return { symlink: { oldpath: action.target, newpath: action.path, ...madeOf(action, inputs) } };
    case 'rm':
      return {
        rm: {
          path: action.path,
          ...(action.mayMiss && { allowNotFound: true }),
          ...(action.isPattern && { allowWildcard: true }),
        },
      };
    case 'copy':
      return { copy: copyOf(action, inputs) };
    default:
      return unreachable(action);
  }
}

function copyOf(action: CopyFiles, inputs: ShownInputs): Shown {
  const { exact } = action;
  return {
    src: action.sources.join(' '),
    dest: action.destination,
    mode: NONE,
    ...(action.chmod !== '' && { modeStr: action.chmod }),
    ...(action.unpacks && { attemptUnpackDockerCompatibility: true }),
    ...(action.exclude.length > 0 && { exclude_patterns: action.exclude }),
    ...((exact?.followsLinks ?? true) && { followSymlink: true }),
    ...((exact?.copiesContents ?? true) && { dirCopyContents: true }),
    ...((exact?.makesParents ?? true) && { createDestPath: true }),
    ...madeOf(action, inputs),
  };
}

/** Whose it is, and from when; -1 is its own time, or now. */
function madeOf({ owner, accounts, mtime }: Made, inputs: ShownInputs): Shown {
  const [user = '', group = ''] = owner.split(':');
  const account = (name: string): Shown => ({
    User: /^\d+$/.test(name) ? { byID: Number(name) } : { byName: { name, input: inputs.at(accounts ?? 0) } },
  });
  return {
    ...(owner !== '' && {
      owner: {
        ...(user !== '' && { user: account(user) }),
        ...(group !== '' && { group: account(group) }),
      },
    }),
    timestamp: mtime === undefined ? NONE : Number(timeNano(mtime)),
  };
}

function execOf(op: ExecOp, inputs: ShownInputs): Shown {
  const variables = op.mounts.flatMap((mount) =>
    mount.type === 'secret' && mount.env !== undefined
      ? [{ ID: mount.id, name: mount.env, ...(!mount.isRequired && { optional: true }) }]
      : [],
  );
  return {
    meta: {
      args: op.argv,
      env: op.env,
      cwd: op.directory,
      ...(op.user !== '' && { user: op.user }),
      ...(op.hostname !== '' && op.hostname !== SANDBOX_HOSTNAME && { hostname: op.hostname }),
      ...(op.extraHosts.length > 0 && {
        extraHosts: op.extraHosts.map(({ name, address }) => ({ Host: name, IP: address })),
      }),
      ...(op.ulimits.length > 0 && {
        ulimit: op.ulimits.map(({ name, soft, hard }) => ({ Name: name, Soft: soft, Hard: hard })),
      }),
      ...(!op.keepsStubParents && { removeMountStubsRecursive: true }),
      ...(op.validExitCodes && { validExitCodes: op.validExitCodes }),
    },
    mounts: [
      { input: inputs.at(0), dest: '/', output: 0, ...(op.isRootReadonly && { readonly: true }) },
      ...op.mounts.flatMap((mount) => mountOf(mount, inputs) ?? []),
    ],
    ...(op.network !== 'default' && { network: NETWORK[op.network] }),
    ...(op.isPrivileged && { security: INSECURE }),
    ...(variables.length > 0 && { secretenv: variables }),
    ...(op.devices &&
      op.devices.length > 0 && {
        cdiDevices: op.devices.map(({ name, isRequired }) => ({
          name,
          ...(!isRequired && { optional: true }),
        })),
      }),
  };
}

/** Undefined: no file. */
function mountOf(mount: ExecMount, inputs: ShownInputs): Shown | undefined {
  const mountType = MOUNT[mount.type];
  const place = { dest: mount.target, ...(mountType !== MOUNT.bind && { mountType }) };
  switch (mount.type) {
    case 'bind':
      return {
        input: inputs.at(mount.from),
        ...(mount.source !== '/' && { selector: mount.source }),
        ...place,
        output: mount.result ?? NONE,
        ...(!mount.isWritable && { readonly: true }),
      };
    case 'cache':
      return {
        input: mount.from === undefined ? NONE : inputs.at(mount.from),
        ...place,
        output: NONE,
        cacheOpt: { ID: mount.id, sharing: SHARING[mount.sharing] },
      };
    case 'tmpfs':
      return { input: NONE, ...place, output: NONE, TmpfsOpt: { size: mount.sizeBytes ?? 0 } };
    case 'secret':
      return mount.target === undefined
        ? undefined
        : { input: NONE, ...place, output: NONE, secretOpt: optionsOf(mount) };
    case 'ssh':
      return { input: NONE, ...place, output: NONE, SSHOpt: optionsOf(mount) };
    default:
      return unreachable(mount);
  }
}

function optionsOf({ id, owner, mode, isRequired }: Extract<ExecMount, { type: 'secret' | 'ssh' }>): Shown {
  return { ID: id, uid: owner.uid, gid: owner.gid, mode, ...(!isRequired && { optional: true }) };
}
