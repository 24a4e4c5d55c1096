import type { HealthConfig } from '../../../../api/types/container.ts';
import type { Instruction, Lines } from '../../../base/dockerfile/instruction.ts';

/** What an instruction of a stage says, taken apart; nothing in it is expanded yet. */
export type Command =
  | { kind: 'env' | 'label'; pairs: readonly Pair[] }
  | { kind: 'arg'; args: readonly Argument[] }
  | RunCommand
  | FilesCommand
  | { kind: 'workdir'; path: string }
  | { kind: 'user'; user: string }
  | { kind: 'stopsignal'; signal: string }
  | { kind: 'maintainer'; author: string }
  | { kind: 'cmd' | 'entrypoint'; words: readonly string[]; isJson: boolean }
  | { kind: 'shell'; words: readonly string[] }
  | { kind: 'expose'; ports: readonly string[] }
  | { kind: 'volume'; paths: readonly string[] }
  | { kind: 'healthcheck'; check: HealthConfig }
  /** `trigger` with its here-documents, as an image keeps it. */
  | { kind: 'onbuild'; trigger: string };

export interface Pair {
  name: string;
  value: string;
  /** `ENV name value`, without an equals sign. */
  isOldForm: boolean;
}

export interface Argument {
  name: string;
  /** Undefined: no default. */
  value: string | undefined;
  /** Of the comment before it: `# NAME what it is for`. */
  description: string;
}

export interface RunCommand {
  kind: 'run';
  /** One text for the shell, or with `isJson` a command's arguments. */
  words: readonly string[];
  isJson: boolean;
  /** As they are written: their values may have variables. */
  mounts: readonly string[];
  /** As they are written. */
  devices: readonly string[];
  network: 'default' | 'none' | 'host';
  isPrivileged: boolean;
}

export interface FilesCommand {
  kind: 'copy' | 'add';
  sources: readonly string[];
  documents: readonly Document[];
  destination: string;
  /** `''` = the context. */
  from: string;
  chown: string;
  chmod: string;
  isLinked: boolean;
  keepsParents: boolean;
  exclude: readonly string[];
  checksum: string;
  /** Undefined: as it is without the flag. */
  keepsGitDirectory: boolean | undefined;
  unpacks: boolean | undefined;
}

/** A file whose content stands in the Dockerfile. */
export interface Document {
  name: string;
  content: string;
  expands: boolean;
}

/** A command at its place. */
export interface Step {
  command: Command;
  instruction: Instruction;
  /** Those of the FROM, for a trigger. */
  lines: Lines;
  /** ONBUILD of the base said it. */
  isTrigger: boolean;
}
