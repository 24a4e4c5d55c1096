import { readFileSync } from 'node:fs';
import { stringify as stringifyYaml } from 'yaml';
import { EngineError, invalidArgument } from '../../../base/errors.ts';
import { ENGINE_VERSION } from '../../version.ts';
import type { HubArguments } from '../../hub/arguments.ts';
import type { ClusterCommand } from '../command.ts';
import { flagOf, readInput } from './input.ts';
import { SKELETONS, TARGET_COMMANDS, type TargetCommand } from './operations.ts';
import { OUTPUTS, shown, type Output } from './output.ts';
import { compileQuery } from './query.ts';
import { send, sendOptions, type CommandRequest, type SendOptions } from './send.ts';

/** Flags with a value that every one of these commands takes (seed 002, 4B). */
const VALUED = [
  'cli-input-json',
  'cli-input-yaml',
  'generate-cli-skeleton',
  'endpoint-url',
  'output',
  'query',
  'profile',
  'region',
  'color',
  'ca-bundle',
  'cli-read-timeout',
  'cli-connect-timeout',
  'cli-binary-format',
  'page-size',
  'max-items',
  'starting-token',
];

const SWITCHES = [
  'debug',
  'no-verify-ssl',
  'no-paginate',
  'no-sign-request',
  'no-cli-pager',
  'cli-auto-prompt',
  'no-cli-auto-prompt',
  'version',
];

/** Flags whose value is one of a few words. */
const CHOICES: Readonly<Record<string, readonly string[]>> = {
  output: OUTPUTS,
  color: ['on', 'off', 'auto'],
  'cli-binary-format': ['base64', 'raw-in-base64-out'],
  'generate-cli-skeleton': ['input', 'yaml-input', 'output'],
};

/** `create-target-group` and its sisters, with the options of the original's tool. */
export const targetCommands: readonly (readonly [string, ClusterCommand])[] = Object.entries(
  TARGET_COMMANDS,
).map(([name, command]) => [
  name,
  {
    usage: usageOf(command),
    help: command.help,
    operands: 0,
    valued: [...command.parameters.map((parameter) => flagOf(parameter.name)), ...VALUED].filter(
      (flag, index, all) => all.indexOf(flag) === index,
    ),
    switches: SWITCHES,
    prepare: withSkeletonValue,
    run: async (given, io) => {
      io.write(await answerOf(command, given, () => io.socket()));
      return 0;
    },
  },
]);

function usageOf({ parameters }: TargetCommand): string {
  return parameters
    .map(({ name, isRequired }) => {
      const flag = `--${flagOf(name)} ${name.toUpperCase()}`;
      return isRequired === true ? flag : `[${flag}]`;
    })
    .join(' ');
}

/** `--generate-cli-skeleton` without a value means `input`; `--targets A B` means one value. */
function withSkeletonValue(argv: readonly string[]): string[] {
  const words: string[] = [];
  for (let index = 0; index < argv.length; index += 1) {
    const word = argv[index] ?? '';
    const next = argv[index + 1];
    if (word === '--generate-cli-skeleton' && (next === undefined || next.startsWith('-'))) {
      words.push('--generate-cli-skeleton=input');
    } else if (word === '--targets' || word === '--tag-keys') {
      const values: string[] = [];
      while (argv[index + 1] !== undefined && argv[index + 1]?.startsWith('--') !== true) {
        index += 1;
        values.push(argv[index] ?? '');
      }
      words.push(`${word}=${values.join(' ')}`);
    } else {
      words.push(word);
    }
  }
  return words;
}

async function answerOf(command: TargetCommand, given: HubArguments, socket: () => string): Promise<string> {
  const { values, switches } = given;
  if (switches.has('version')) {
    return `berthd ${ENGINE_VERSION}\n`;
  }
  for (const [flag, choices] of Object.entries(CHOICES)) {
    const value = values.get(flag);
    if (value !== undefined && !choices.includes(value)) {
      throw invalidArgument(`--${flag}: must be ${choices.join(' or ')}, not ${JSON.stringify(value)}`);
    }
  }
  if (switches.has('cli-auto-prompt')) {
    throw invalidArgument(
      '--cli-auto-prompt: there are no prompts here; --generate-cli-skeleton shows the input',
    );
  }
  const skeleton = values.get('generate-cli-skeleton');
  if (skeleton !== undefined) {
    return skeletonOf(command, skeleton);
  }
  const output = OUTPUTS.find((one) => one === values.get('output')) ?? 'json';
  const query = values.get('query');
  const ask = query === undefined ? undefined : compileQuery(query);
  const input = readInput(command, given, (file) => readFileSync(file, 'utf8'));
  const options = sendOptions(given, socket);
  const answer = await allOf(command, input, given, options);
  return printed(ask === undefined ? answer : ask(answer), output);
}

function printed(value: unknown, output: Output): string {
  const isEmpty = typeof value === 'object' && value !== null && Object.keys(value).length === 0;
  return isEmpty && !Array.isArray(value) ? '' : shown(value, output);
}

/** Not stable between versions, as the original says of its own. */
function skeletonOf({ parameters, output }: TargetCommand, form: string): string {
  if (form === 'output') {
    return shown(output, 'json');
  }
  const input = Object.fromEntries(
    parameters.map(({ name, kind }) => [name, SKELETONS[name] ?? (kind === 'integer' ? 0 : '')]),
  );
  return form === 'yaml-input' ? stringifyYaml(input) : shown(input, 'json');
}

/**
 * All pages of a list, unless one is asked for: by a flag or by `--no-paginate`. Past `--max-items` a `NextToken` tells
 * where `--starting-token` goes on.
 */
async function allOf(
  command: TargetCommand,
  input: Readonly<Record<string, unknown>>,
  { values, switches }: HubArguments,
  options: SendOptions,
): Promise<unknown> {
  const size = count(values, 'page-size');
  const max = count(values, 'max-items') ?? Infinity;
  const isOnePage = input['nextToken'] !== undefined || input['maxResults'] !== undefined;
  if (command.isPaged !== true || switches.has('no-paginate') || isOnePage) {
    return await once(requestOf(command, input), options);
  }
  const items: unknown[] = [];
  for (let nextToken: unknown = values.get('starting-token'); ;) {
    // Never more than may be shown, so that its token is that of the last one shown.
    const wanted = Math.min(size ?? Infinity, max - items.length);
    const page = { ...input, ...(wanted < PAGE_MAX && { maxResults: wanted }), nextToken };
    const answer = Object(await once(requestOf(command, page), options));
    const more: unknown = answer['items'];
    items.push(...(Array.isArray(more) ? more : []));
    nextToken = answer['nextToken'];
    if (nextToken === undefined || items.length >= max) {
      return { items, ...(nextToken !== undefined && { NextToken: nextToken }) };
    }
  }
}

/** Items of a page where nothing is said. */
const PAGE_MAX = 100;

function count(values: HubArguments['values'], flag: string): number | undefined {
  const text = values.get(flag);
  if (text !== undefined && !/^[1-9]\d{0,8}$/.test(text)) {
    throw invalidArgument(`--${flag}: must be a whole number from 1 on, not ${JSON.stringify(text)}`);
  }
  return text === undefined ? undefined : Number(text);
}

function requestOf(command: TargetCommand, input: Readonly<Record<string, unknown>>): CommandRequest {
  const query = new URLSearchParams();
  const body: Record<string, unknown> = {};
  let target = command.path;
  for (const { name, where } of command.parameters) {
    const value = input[name];
    if (value === undefined || value === null) {
      continue;
    }
    if (where === 'path') {
      target = target.replace(
        `{${name}}`,
        encodeURIComponent(typeof value === 'string' ? value : JSON.stringify(value)),
      );
    } else if (where === 'query') {
      (Array.isArray(value) ? value : [value]).forEach((one: unknown) => query.append(name, String(one)));
    } else {
      body[name] = value;
    }
  }
  const hasBody = command.method === 'POST' || command.method === 'PATCH';
  // As it is signed: a space is %20.
  const text = query.toString().replaceAll('+', '%20');
  return {
    method: command.method,
    target: text === '' ? target : `${target}?${text}`,
    body: hasBody ? body : undefined,
  };
}

async function once(request: CommandRequest, options: SendOptions): Promise<unknown> {
  const { status, text } = await send(request, options);
  if (options.isDebug) {
    process.stderr.write(`${request.method} ${request.target}: ${status} ${text}\n`);
  }
  const answer: unknown = text === '' ? {} : jsonOf(text);
  if (status < 300) {
    return answer;
  }
  throw new EngineError('remote', messageOf(status, answer));
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new EngineError('remote', `the answer is no JSON: ${text.slice(0, 200)}`, { cause: error });
  }
}

function messageOf(status: number, answer: unknown): string {
  const { message }: { message?: unknown } = { ...Object(answer) };
  if (status === 404 && message === 'page not found') {
    return 'the cluster interface is off: set cluster.address in daemon.json, or --cluster-address';
  }
  return typeof message === 'string' ? message : `it answered ${status}`;
}
