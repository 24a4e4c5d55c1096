import { invalidArgument } from '../../base/errors.ts';
import type { HubArguments, HubCommand } from './arguments.ts';
import type { HubRequest } from './socket-client.ts';

/** What a command does: one request, of whose answer it prints something. */
export type HubAction =
  | { kind: 'request'; request: HubRequest; print: (answer: Record<string, unknown>) => string }
  | { kind: 'list'; path: string; columns: readonly string[] };

export interface Entry extends HubCommand {
  /** `password`: the first line of standard input, where `--password-stdin` is given. Throws invalid_argument. */
  action(given: HubArguments, password: string | undefined): HubAction;
}

export function request(
  asked: HubRequest,
  print: (answer: Record<string, unknown>) => string = loginOf,
): HubAction {
  return { kind: 'request', request: asked, print };
}

function loginOf(answer: Record<string, unknown>): string {
  return typeof answer['login'] === 'string' ? answer['login'] : '';
}

export function json(answer: Record<string, unknown>): string {
  return JSON.stringify(answer, undefined, 2);
}

export function list(what: string, path: string, columns: readonly string[]): Entry {
  return {
    usage: '',
    help: `list all ${what}`,
    operands: 0,
    action: () => ({ kind: 'list', path, columns }),
  };
}

export function remove(usage: string, help: string, path: (name: string) => string): Entry {
  return {
    usage,
    help,
    operands: 1,
    action: ({ operands: [name = ''] }) =>
      request({ method: 'DELETE', path: path(encodeURIComponent(name)) }),
  };
}

export function pair(text: string): [string, string] {
  const [, name = '', level = ''] = /^([^=]+)=(.+)$/.exec(text) ?? [];
  if (name === '') {
    throw invalidArgument(`--permissions: must look like packages=write, not ${JSON.stringify(text)}`);
  }
  return [name, level];
}

export function needed(values: HubArguments['values'], flag: string): string {
  const value = values.get(flag);
  if (value === undefined || value === '') {
    throw invalidArgument(`needs --${flag}`);
  }
  return value;
}

export function repositoryPath(fullName: string): string {
  const { owner, name } = ownerAndName(fullName);
  return `/repos/${encodeURIComponent(owner)}/${encodeURIComponent(name)}`;
}

export function ownerAndName(fullName: string): { owner: string; name: string } {
  const [, owner = '', name = ''] = /^([^/]+)\/([^/]+)$/.exec(fullName) ?? [];
  if (owner === '') {
    throw invalidArgument(`must be OWNER/REPO, not ${JSON.stringify(fullName)}`);
  }
  return { owner, name };
}
