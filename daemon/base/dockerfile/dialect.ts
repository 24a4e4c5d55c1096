import type { EngineError } from '../errors.ts';

/** Flags of an instruction: they take a value, none, or several values one after another. */
export type FlagKinds = Readonly<Record<string, 'value' | 'boolean' | 'list'>>;

/** How the clients of one door write Dockerfiles, and in which words they are told what is wrong. */
export interface Dialect {
  /** Names of parser directives, in small letters; any other comment ends them. */
  directives: readonly string[];
  /** Of instructions that have flags. */
  flags: Readonly<Record<string, FlagKinds>>;
  /** A value may be left out: it is empty then. */
  hasEmptyFlags: boolean;
  /** Instructions that may say nothing. */
  mayBeEmpty: readonly string[];
  /** Here-documents are read; otherwise they are refused. */
  hasHeredocs: boolean;
  /** Two escape characters at the end of a line continue it, as one does. */
  continuesAtTwo: boolean;
  /** Line 0: of the file as a whole. */
  error(line: number, problem: string): EngineError;
  words: {
    /** `word` as it was written. */
    unknownInstruction(word: string, names: readonly string[]): string;
    unknownFlag(flag: string, instruction: string): string;
    duplicateFlag(flag: string): string;
  };
}
