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
  /** All of it as it was written, without here-documents' contents. */
  written: string;
  /** As progress of BuildKit's clients shows it: name, flags and arguments, without here-documents' contents. */
  text: string;
  flags: readonly Flag[];
  /** What follows the flags. */
  rest: string;
  heredocs: readonly Heredoc[];
  /** Texts of the comments that stand before it; an empty comment cuts off those before it. */
  comments: readonly string[];
}

/** Undefined: it is not given; `''`: without a value. Pure. */
export function flagValue({ flags }: Pick<Instruction, 'flags'>, name: string): string | undefined {
  const flag = flags.find((item) => item.name === name);
  return flag && (flag.value ?? '');
}
