import { invalidArgument, type EngineError } from '../../base/errors.ts';

/** Lines of a Dockerfile, from 1, both ends included. */
export interface Lines {
  from: number;
  to: number;
}

/** A text that stands in the lines after its instruction. */
export interface Heredoc {
  /** The word that ends it. */
  name: string;
  /** Descriptor before the `<<`; 0 where none is given. */
  fd: number;
  /** False where the word was quoted. */
  expands: boolean;
  /** With its last line's end; `<<-` has taken the tabs at the start of each line. */
  content: string;
  /** As it stands in the file, tabs and all. */
  written: string;
}

export interface Flag {
  name: string;
  /** Undefined for a flag without `=`. */
  value: string | undefined;
}

/** One instruction, its continued lines joined. */
export interface Instruction {
  lines: Lines;
  /** In capitals. */
  name: string;
  /** As it was written: `run`. */
  word: string;
  /** As progress shows it: name, flags and arguments, without here-documents' contents. */
  text: string;
  flags: readonly Flag[];
  /** What follows the flags. */
  rest: string;
  heredocs: readonly Heredoc[];
  /** Texts of the comments that stand before it; an empty comment cuts off those before it. */
  comments: readonly string[];
}

/** `dockerfile parse error on line 3: ...`, as BuildKit's clients show it. */
export function parseError(line: number, problem: string): EngineError {
  return invalidArgument(`dockerfile parse error on line ${line}: ${problem}`, { details: { line } });
}
