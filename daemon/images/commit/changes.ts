import { posix } from 'node:path';
import type { ContainerConfig } from '../../../api/types/container.ts';
import { invalidArgument, invariant } from '../../base/errors.ts';
import { jsonWords } from '../../base/dockerfile/json-words.ts';
import { parseSignal } from '../../base/signals.ts';
import { parseHealthcheck } from './healthcheck.ts';
import { expandText, expandWords, splitWords, type Variables } from '../../base/dockerfile/words.ts';

/** One line of `changes`, or of a Dockerfile, taken apart. */
export interface Change {
  /** `line 2: ENV` */
  where: string;
  rest: string;
  /** What `$NAME` stands for. */
  variables: Variables;
  /** The character that quotes the next one. */
  escape: string;
}

type Apply = (config: ContainerConfig, change: Change) => ContainerConfig;

const SHELL = ['/bin/sh', '-c'];
/** Up to a blank that is not quoted. */
const FIRST_WORD = /^(?:"(?:\\[^]|[^"\\])*"|'[^']*'|\\[^]|[^\s"'\\])+/;

const INSTRUCTIONS: ReadonlyMap<string, Apply> = new Map<string, Apply>([
  ['CMD', (config, change) => ({ ...config, Cmd: command(config, change) })],
  ['ENTRYPOINT', (config, change) => ({ ...config, Entrypoint: command(config, change) })],
  ['ENV', (config, change) => ({ ...config, Env: mergeEnv(config.Env ?? [], pairs(change)) })],
  [
    'LABEL',
    (config, change) => ({
      ...config,
      Labels: { ...config.Labels, ...Object.fromEntries(pairs(change)) },
    }),
  ],
  ['EXPOSE', (config, change) => ({ ...config, ExposedPorts: { ...config.ExposedPorts, ...ports(change) } })],
  ['USER', (config, change) => ({ ...config, User: single(change) })],
  ['VOLUME', (config, change) => ({ ...config, Volumes: { ...config.Volumes, ...volumes(change) } })],
  [
    'WORKDIR',
    (config, change) => ({
      ...config,
      WorkingDir: posix.resolve(config.WorkingDir || '/', single(change)),
    }),
  ],
  ['STOPSIGNAL', (config, change) => ({ ...config, StopSignal: stopSignal(change) })],
  ['ONBUILD', (config, change) => ({ ...config, OnBuild: [...(config.OnBuild ?? []), onBuild(change)] })],
  ['SHELL', (config, change) => ({ ...config, Shell: shell(change) })],
  [
    'HEALTHCHECK',
    (config, change) => ({
      ...config,
      Healthcheck: parseHealthcheck(change.rest, change.where, jsonWords),
    }),
  ],
]);

/**
 * Applies Dockerfile instructions (`--change` of import and commit) to a configuration. Each item may hold several
 * lines; empty lines and comments are skipped. Throws invalid_argument naming line and instruction. Pure.
 */
export function applyChanges(base: ContainerConfig, changes: readonly string[]): ContainerConfig {
  let config = base;
  const lines = changes.join('\n').split('\n');
  for (const [index, line] of lines.entries()) {
    const text = line.trim();
    if (text === '' || text.startsWith('#')) {
      continue;
    }
    const [, word = '', rest = ''] = /^(\S+)(?:\s+(.*))?$/.exec(text) ?? [];
    const instruction = word.toUpperCase();
    const where = `line ${index + 1}: ${instruction}`;
    if (!INSTRUCTIONS.has(instruction) || instruction === 'SHELL') {
      throw invalidArgument(`line ${index + 1}: ${word} is not a valid change command`);
    }
    if (rest === '') {
      throw invalidArgument(`${where} requires at least one argument`);
    }
    const variables = variablesOf(config);
    config = applyInstruction(config, instruction, { where, rest, variables, escape: '\\' });
  }
  return config;
}

/** Applies one instruction that changes nothing but the configuration. Throws invalid_argument. Pure. */
export function applyInstruction(
  config: ContainerConfig,
  instruction: string,
  change: Change,
): ContainerConfig {
  const apply = INSTRUCTIONS.get(instruction);
  invariant(apply !== undefined, `${instruction} is not an instruction of the configuration`);
  return apply(config, change);
}

/** `["a", "b"]` as it is, anything else for the shell. */
function command(config: ContainerConfig, change: Change): string[] {
  return jsonWords(change.rest) ?? [...(config.Shell ?? SHELL), change.rest];
}

/**
 * `a=b c="d e"`, or the old form `a b  c` that gives one name all the rest. Throws invalid_argument. Pure.
 */
export function pairs({ rest, ...options }: Change): [string, string][] {
  const { variables, where, escape } = options;
  const [first = ''] = FIRST_WORD.exec(rest) ?? [];
  if (!first.includes('=')) {
    const after = rest.slice(first.length).trim();
    if (after === '') {
      throw invalidArgument(`${where} must have two arguments`);
    }
    return [[expandText(first, options), expandText(after, options)]];
  }
  return splitWords(rest, variables, where, escape).map((word) => {
    const equals = word.indexOf('=');
    if (equals < 1) {
      throw invalidArgument(`${where}: cannot read ${JSON.stringify(word)}, expected name=value`);
    }
    return [word.slice(0, equals), word.slice(equals + 1)];
  });
}

/** Later values win, in the place of the earlier ones. */
function mergeEnv(env: readonly string[], added: readonly [string, string][]): string[] {
  const values = new Map(env.map((item) => [item.replace(/=.*$/s, ''), item]));
  for (const [name, value] of added) {
    values.set(name, `${name}=${value}`);
  }
  return [...values.values()];
}

function ports(change: Change): Record<string, Record<string, never>> {
  const found: Record<string, Record<string, never>> = {};
  for (const word of exposedWords(change)) {
    // A port of the host before it says nothing about an image.
    const match = /^(?:[^/]*:)?(\d{1,5})(?:-(\d{1,5}))?(?:\/(tcp|udp|sctp))?$/i.exec(word);
    const first = Number(match?.[1]);
    const last = Number(match?.[2] ?? match?.[1]);
    if (match === null || first < 1 || last > 65_535 || last < first) {
      throw invalidArgument(`${change.where}: invalid containerPort: ${word}`);
    }
    for (let port = first; port <= last; port += 1) {
      found[`${port}/${(match[3] ?? 'tcp').toLowerCase()}`] = {};
    }
  }
  return found;
}

/** In the order of what is written; a variable outside quotes may stand for several, or none (moby shell/lex.go). */
export function exposedWords({ rest, ...options }: Change): string[] {
  return rest
    .split(/\s+/)
    .toSorted()
    .flatMap((word) => expandWords(word, options));
}

function volumes(change: Change): Record<string, Record<string, never>> {
  const { rest, ...options } = change;
  const paths = jsonWords(rest)?.map((path) => expandText(path, options)) ?? words(change);
  if (paths.length === 0) {
    throw invalidArgument(`${change.where} requires at least one argument`);
  }
  if (paths.some((word) => word.trim() === '')) {
    throw invalidArgument(`${change.where} specified can not be an empty string`);
  }
  return Object.fromEntries(paths.map((path) => [path.trim(), {}]));
}

/** All of it is one argument, blanks and all. */
function single({ rest, ...options }: Change): string {
  return expandText(rest, options);
}

function stopSignal(change: Change): string {
  const signal = single(change);
  parseSignal(signal);
  return signal;
}

function shell({ rest, where }: Change): string[] {
  const parts = jsonWords(rest);
  if (parts === undefined || parts.length === 0) {
    throw invalidArgument(`${where} requires the arguments to be in JSON form`);
  }
  return parts;
}

function onBuild(change: Change): string {
  const trigger = /^\S+/.exec(change.rest)?.[0].toUpperCase() ?? '';
  if (trigger === 'ONBUILD') {
    throw invalidArgument(`${change.where}: Chaining ONBUILD via \`ONBUILD ONBUILD\` isn't allowed`);
  }
  if (trigger === 'FROM' || trigger === 'MAINTAINER') {
    throw invalidArgument(`${change.where}: ${trigger} isn't allowed as an ONBUILD trigger`);
  }
  return change.rest;
}

function words({ rest, variables, where, escape }: Change): string[] {
  return splitWords(rest, variables, where, escape);
}

export function variablesOf(config: ContainerConfig): Map<string, string> {
  return new Map(
    (config.Env ?? []).map((item) => {
      const equals = item.indexOf('=');
      return equals === -1 ? [item, ''] : [item.slice(0, equals), item.slice(equals + 1)];
    }),
  );
}
