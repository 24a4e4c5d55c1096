/** What is said of one operation beside itself. */
export interface OperationNotes {
  /** It is to be done anew. */
  isFresh: boolean;
  /** `llb.customname` is how progress shows it. */
  description: ReadonlyMap<string, string>;
  /** What a daemon has to be able to do for it: `exec.mount.cache`. */
  capabilities: readonly string[];
}

/** Lines of a file of which an operation was made; `file` is a position in `files`, lines count from 1. */
export interface OperationPlace {
  file: number;
  from: number;
  to: number;
}

/** A graph as a client sends it (`pb.Definition`): each operation as its bytes, inputs first. None = an empty tree. */
export interface BuildDefinition {
  operations: readonly Buffer[];
  /** By digest of the operation's bytes. */
  notes: ReadonlyMap<string, OperationNotes>;
  files: readonly { name: string; data: string }[];
  /** By digest of the operation's bytes. */
  places: ReadonlyMap<string, readonly OperationPlace[]>;
}
