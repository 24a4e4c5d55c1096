import {
  bytes,
  field,
  flag,
  long,
  mapped,
  message,
  nested,
  number,
  numbers,
  optional,
  repeated,
  text,
  type ValueOf,
} from '../../base/wire/protobuf.ts';

/** Operations as BuildKit's clients send them (solver/pb/ops.proto). */
const platform = message({ architecture: field(1, text), os: field(2, text), variant: field(3, text) });
const input = message({ digest: field(1, text), index: field(2, number) });

const proxyEnv = message({
  httpProxy: field(1, text),
  httpsProxy: field(2, text),
  ftpProxy: field(3, text),
  noProxy: field(4, text),
  allProxy: field(5, text),
});
const hostIp = message({ host: field(1, text), ip: field(2, text) });
const ulimit = message({ name: field(1, text), soft: field(2, number), hard: field(3, number) });
export const commandMeta = message({
  args: repeated(1, text),
  env: repeated(2, text),
  cwd: field(3, text),
  user: field(4, text),
  proxyEnv: optional(5, nested(proxyEnv)),
  extraHosts: repeated(6, nested(hostIp)),
  hostname: field(7, text),
  ulimit: repeated(9, nested(ulimit)),
  cgroupParent: field(10, text),
  removesStubParents: field(11, flag),
  validExitCodes: numbers(12),
});

const secretOption = message({
  id: field(1, text),
  uid: field(2, number),
  gid: field(3, number),
  mode: field(4, number),
  isOptional: field(5, flag),
});
export const mountMessage = message({
  input: field(1, number),
  selector: field(2, text),
  dest: field(3, text),
  output: field(4, number),
  isReadonly: field(5, flag),
  type: field(6, number),
  tmpfs: optional(19, nested(message({ size: field(1, number) }))),
  cache: optional(20, nested(message({ id: field(1, text), sharing: field(2, number) }))),
  secret: optional(21, nested(secretOption)),
  ssh: optional(22, nested(secretOption)),
  /** Of a container that a client asks for: the result that it is of. */
  resultId: field(23, text),
  contentCache: field(24, number),
});
export type MountMessage = ValueOf<typeof mountMessage>;

const secretEnv = message({ id: field(1, text), name: field(2, text), isOptional: field(3, flag) });
const execOp = message({
  meta: field(1, nested(commandMeta)),
  mounts: repeated(2, nested(mountMessage)),
  network: field(3, number),
  security: field(4, number),
  secretEnv: repeated(5, nested(secretEnv)),
  devices: repeated(6, nested(message({ name: field(1, text), isOptional: field(2, flag) }))),
});
export type ExecMessage = ValueOf<typeof execOp>;

const sourceOp = message({ identifier: field(1, text), attrs: mapped(2, text) });
export type SourceMessage = ValueOf<typeof sourceOp>;

const user = message({
  byName: optional(1, nested(message({ name: field(1, text), input: field(2, number) }))),
  byId: optional(2, number),
});
const owner = message({ user: optional(1, nested(user)), group: optional(2, nested(user)) });
export type OwnerMessage = ValueOf<typeof owner>;

const copyAction = message({
  src: field(1, text),
  dest: field(2, text),
  owner: optional(3, nested(owner)),
  mode: field(4, number),
  followsSymlink: field(5, flag),
  copiesContents: field(6, flag),
  unpacks: field(7, flag),
  makesParents: field(8, flag),
  allowsWildcard: field(9, flag),
  allowsEmptyWildcard: field(10, flag),
  timestamp: field(11, long),
  include: repeated(12, text),
  exclude: repeated(13, text),
  replaces: field(14, flag),
  modeText: field(15, text),
});
export type CopyMessage = ValueOf<typeof copyAction>;

const makeFile = message({
  path: field(1, text),
  mode: field(2, number),
  data: field(3, bytes),
  owner: optional(4, nested(owner)),
  timestamp: field(5, long),
});
const makeDirectory = message({
  path: field(1, text),
  mode: field(2, number),
  makesParents: field(3, flag),
  owner: optional(4, nested(owner)),
  timestamp: field(5, long),
});
const makeLink = message({
  target: field(1, text),
  path: field(2, text),
  owner: optional(3, nested(owner)),
  timestamp: field(4, long),
});
const remove = message({ path: field(1, text), mayMiss: field(2, flag), allowsWildcard: field(3, flag) });

const fileAction = message({
  input: field(1, number),
  secondaryInput: field(2, number),
  output: field(3, number),
  copy: optional(4, nested(copyAction)),
  makeFile: optional(5, nested(makeFile)),
  makeDirectory: optional(6, nested(makeDirectory)),
  remove: optional(7, nested(remove)),
  symlink: optional(8, nested(makeLink)),
});
export type ActionMessage = ValueOf<typeof fileAction>;

const fileOp = message({ actions: repeated(2, nested(fileAction)) });
export type FileMessage = ValueOf<typeof fileOp>;

const mergeOp = message({ inputs: repeated(1, nested(message({ input: field(1, number) }))) });

const diffSide = message({ input: field(1, number) });
const diffOp = message({ lower: optional(1, nested(diffSide)), upper: optional(2, nested(diffSide)) });

export const operation = message({
  inputs: repeated(1, nested(input)),
  exec: optional(2, nested(execOp)),
  source: optional(3, nested(sourceOp)),
  file: optional(4, nested(fileOp)),
  build: optional(5, bytes),
  merge: optional(6, nested(mergeOp)),
  diff: optional(7, nested(diffOp)),
  platform: optional(10, nested(platform)),
});
export type OperationMessage = ValueOf<typeof operation>;
