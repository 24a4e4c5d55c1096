import {
  bytes,
  field,
  flag,
  message,
  nested,
  number,
  numbers,
  optional,
  repeated,
  text,
  type ValueOf,
} from '../../../daemon/base/wire/protobuf.ts';
import { platform, status } from './common.ts';

/** Messages about containers of `moby.buildkit.v1.frontend.LLBBridge`; mounts and metadata are read by the builds. */
export const newContainerRequest = message({
  containerId: field(1, text),
  mounts: repeated(2, bytes),
  network: field(3, number),
  platform: optional(4, nested(platform)),
  constraints: optional(5, nested(message({ filter: repeated(1, text) }))),
  extraHosts: repeated(6, nested(message({ host: field(1, text), ip: field(2, text) }))),
  hostname: field(7, text),
});
export const releaseContainerRequest = message({ containerId: field(1, text) });

const secretVariable = message({ id: field(1, text), name: field(2, text), isOptional: field(3, flag) });
const init = message({
  containerId: field(1, text),
  meta: field(2, bytes),
  fds: numbers(3),
  tty: field(4, flag),
  security: field(5, number),
  secrets: repeated(6, nested(secretVariable)),
});
export type InitMessage = ValueOf<typeof init>;

const file = message({ fd: field(1, number), eof: field(2, flag), data: field(3, bytes) });
export type FileMessage = ValueOf<typeof file>;

const resize = message({ rows: field(1, number), cols: field(2, number) });
const exit = message({ code: field(1, number), error: optional(2, nested(status)) });
const nothing = message({});

/** Both directions of `ExecProcess`; one of what follows the id. */
export const execMessage = message({
  processId: field(1, text),
  init: optional(2, nested(init)),
  file: optional(3, nested(file)),
  resize: optional(4, nested(resize)),
  started: optional(5, nested(nothing)),
  exit: optional(6, nested(exit)),
  done: optional(7, nested(nothing)),
  signal: optional(8, nested(message({ name: field(1, text) }))),
});
export type ExecMessage = ValueOf<typeof execMessage>;
