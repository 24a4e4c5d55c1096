import { invalidArgument } from '../../../base/errors.ts';
import { jsonWords } from '../../../base/dockerfile/json-words.ts';
import { rawWords } from '../../../base/dockerfile/words.ts';
import type { Instruction } from '../../../base/dockerfile/instruction.ts';
import type { Argument, Pair } from './command.ts';

/** A JSON array, or words between blanks. Pure. */
export function wordList(text: string): string[] {
  return jsonWords(text) ?? text.trim().split(/\s+/);
}

/** One text for the shell, or the words of a JSON array. Pure. */
export function commandWords(text: string): { words: readonly string[]; isJson: boolean } {
  const words = jsonWords(text);
  return words === undefined ? { words: [text], isJson: false } : { words, isJson: true };
}

/** `a=b c="d e"`, or the old form `a b  c` that gives one name all the rest. Throws invalid_argument. Pure. */
export function readPairs({ name, rest }: Instruction, escape: string): Pair[] {
  const words = rawWords(rest, escape);
  if (words[0]?.includes('=') !== true) {
    const [, first = '', value = ''] = /^(\S+)(?:\s+([^]*))?$/.exec(rest) ?? [];
    if (value === '') {
      throw invalidArgument(`${name} must have two arguments`);
    }
    return [{ name: first, value, isOldForm: true }];
  }
  return words.map((word) => {
    const equals = word.indexOf('=');
    if (equals < 0) {
      const said = JSON.stringify(word);
      throw invalidArgument(`Syntax error - can't find = in ${said}. Must be of the form: name=value`);
    }
    if (equals === 0) {
      throw invalidArgument(`${name} names can not be blank`);
    }
    return { name: word.slice(0, equals), value: word.slice(equals + 1), isOldForm: false };
  });
}

/** ARG. Throws invalid_argument. Pure. */
export function readArguments({ rest, comments }: Instruction, escape: string): Argument[] {
  return rawWords(rest, escape).map((word) => {
    const equals = word.indexOf('=');
    const name = equals < 0 ? word : word.slice(0, equals);
    if (name === '') {
      throw invalidArgument('ARG names can not be blank');
    }
    const value = equals < 0 ? undefined : word.slice(equals + 1);
    return { name, value, description: descriptionOf(name, comments) };
  });
}

/** What a comment says of a name: `# NAME what it is for`. Pure. */
export function descriptionOf(name: string, comments: readonly string[]): string {
  const comment = name === '' ? undefined : comments.find((line) => line.startsWith(`${name} `));
  return comment?.slice(name.length + 1) ?? '';
}
