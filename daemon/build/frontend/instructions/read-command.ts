import { EngineError, invalidArgument, isEngineError, unreachable } from '../../../base/errors.ts';
import { parseSignal } from '../../../base/signals.ts';
import type { Instruction } from '../../../base/dockerfile/instruction.ts';
import { jsonWords, NOT_ONLY_STRINGS } from '../../../base/dockerfile/json-words.ts';
import { commandWords, readArguments, readPairs, wordList } from './arguments.ts';
import type { Command } from './command.ts';
import { readFiles } from './read-files.ts';
import { readHealthcheck } from './read-healthcheck.ts';
import { readRun } from './read-run.ts';

/**
 * What an instruction says; FROM is none of these. Throws invalid_argument `dockerfile parse error on line N: ..`.
 * Pure.
 */
export function readCommand(instruction: Instruction, escape: string): Command {
  try {
    return read(instruction, escape);
  } catch (error) {
    const { from, to } = instruction.lines;
    if (!isEngineError(error)) {
      throw error;
    }
    const place = error.message === NOT_ONLY_STRINGS ? '' : `dockerfile parse error on line ${from}: `;
    throw new EngineError(error.code, `${place}${error.message}`, {
      cause: error,
      details: { line: from, endLine: to },
    });
  }
}

type Name = Exclude<Command['kind'], 'copy'>;

function read(instruction: Instruction, escape: string): Command {
  const { rest } = instruction;
  const name = instruction.name.toLowerCase();
  if (name === 'copy') {
    return readFiles(instruction);
  }
  // The parser has let through no other names, and FROM is not asked for.
  const kind = name as Name;
  switch (kind) {
    case 'env':
    case 'label':
      return { kind, pairs: readPairs(instruction, escape) };
    case 'arg':
      return { kind, args: readArguments(instruction, escape) };
    case 'run':
      return readRun(instruction);
    case 'add':
      return readFiles(instruction);
    case 'workdir':
      return { kind, path: rest };
    case 'user':
      return { kind, user: rest };
    case 'stopsignal':
      return { kind, signal: rest };
    case 'maintainer':
      return { kind, author: rest };
    case 'cmd':
    case 'entrypoint':
      return { kind, ...commandWords(rest) };
    case 'shell':
      return { kind, words: shellWords(rest) };
    case 'expose':
      return { kind, ports: rest.split(/\s+/).toSorted() };
    case 'volume':
      return { kind, paths: volumePaths(rest) };
    case 'healthcheck':
      return { kind, check: readHealthcheck(instruction) };
    case 'onbuild':
      return { kind, trigger: triggerOf(instruction) };
    default:
      return unreachable(kind);
  }
}

function shellWords(rest: string): string[] {
  const words = jsonWords(rest);
  if (words === undefined) {
    throw invalidArgument('SHELL requires the arguments to be in JSON form');
  }
  if (words.length === 0) {
    throw invalidArgument('SHELL requires at least one argument');
  }
  return words;
}

function volumePaths(rest: string): string[] {
  const paths = wordList(rest).map((path) => path.trim());
  if (paths.length === 0) {
    throw invalidArgument('VOLUME requires at least one argument');
  }
  if (paths.includes('')) {
    throw invalidArgument('VOLUME specified can not be an empty string');
  }
  return paths;
}

function triggerOf({ rest, heredocs }: Instruction): string {
  const name = /^\S+/.exec(rest)?.[0].toUpperCase() ?? '';
  if (name === 'ONBUILD') {
    throw invalidArgument("Chaining ONBUILD via `ONBUILD ONBUILD` isn't allowed");
  }
  if (name === 'FROM' || name === 'MAINTAINER') {
    throw invalidArgument(`${name} isn't allowed as an ONBUILD trigger`);
  }
  return [rest, ...heredocs.map((heredoc) => `${heredoc.written}${heredoc.name}`)].join('\n');
}

/** Throws invalid_argument for what no kernel knows. */
export function checkSignal(signal: string): string {
  parseSignal(signal);
  return signal;
}
