import { invalidArgument } from '../../../base/errors.ts';
import { heredocWord } from '../../../base/dockerfile/heredoc.ts';
import type { Instruction } from '../../../base/dockerfile/instruction.ts';
import { wordList } from './arguments.ts';
import type { Document, FilesCommand } from './command.ts';

/** COPY and ADD. Throws invalid_argument. Pure. */
export function readFiles(instruction: Instruction): FilesCommand {
  const { name, rest, flags, heredocs } = instruction;
  const words = wordList(rest);
  const destination = words.at(-1) ?? '';
  if (words.length < 2) {
    throw invalidArgument(
      `${name} requires at least two arguments, but only one was provided. Destination could not be determined`,
    );
  }
  if (heredocs.length > 0 && heredocWord(destination) !== undefined) {
    throw invalidArgument(`${name} cannot accept a heredoc as a destination`);
  }
  const sources: string[] = [];
  const documents: Document[] = [];
  for (const word of words.slice(0, -1)) {
    const start = heredocs.length === 0 ? undefined : heredocWord(word);
    const document = heredocs.findLast((heredoc) => heredoc.name === start?.name);
    if (document === undefined) {
      sources.push(word);
    } else {
      documents.push({ name: document.name, content: document.content, expands: document.expands });
    }
  }
  const value = (flag: string): string => flags.find((item) => item.name === flag)?.value ?? '';
  const given = (flag: string): boolean | undefined => {
    const found = flags.find((item) => item.name === flag);
    return found === undefined ? undefined : found.value !== 'false';
  };
  return {
    kind: name === 'ADD' ? 'add' : 'copy',
    sources,
    documents,
    destination,
    from: value('from'),
    chown: value('chown'),
    chmod: value('chmod'),
    isLinked: given('link') === true,
    keepsParents: given('parents') === true,
    exclude: flags.flatMap((flag) => (flag.name === 'exclude' ? [flag.value ?? ''] : [])),
    checksum: value('checksum'),
    keepsGitDirectory: given('keep-git-dir'),
    unpacks: given('unpack'),
  };
}
