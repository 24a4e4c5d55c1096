import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, parse } from 'node:path';
import { ifThere, errorText, invalidArgument } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';

/** Where a plugin answers. */
export interface PluginAddress {
  url: URL;
  /** Of a plugin on a Unix socket. */
  socketPath?: string;
  /** Options of HTTPS. */
  tls?: Readonly<Record<string, unknown>>;
}

/** It becomes part of a path. */
const NAME = /^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,127}$/;
/** In this order: a socket that is there counts more than a file about one. */
const KINDS = ['.sock', '.spec', '.json'] as const;

/**
 * Finds a plugin by name, as dockerd does: `NAME.sock`, a file `NAME.spec` that holds an address, or `NAME.json` with
 * `Addr` and `TLSConfig`; each in one of the folders or in a folder NAME there. undefined = there is none. Throws
 * invalid_argument for a file that says no address. The folders are the administrator's.
 */
export function findPlugin(folders: readonly string[], name: string): PluginAddress | undefined {
  if (!NAME.test(name)) {
    return undefined;
  }
  for (const kind of KINDS) {
    for (const folder of folders) {
      for (const path of [join(folder, `${name}${kind}`), join(folder, name, `${name}${kind}`)]) {
        if (isKind(path, kind)) {
          return addressOf(path, kind);
        }
      }
    }
  }
  return undefined;
}

/** Names of all that is found in the folders, sorted. */
export function pluginNames(folders: readonly string[]): string[] {
  const names = new Set<string>();
  for (const folder of folders) {
    for (const entry of entriesOf(folder)) {
      const { name, ext } = parse(entry);
      const isOne = KINDS.some((kind) => kind === ext)
        ? NAME.test(name)
        : NAME.test(entry) && KINDS.some((kind) => isKind(join(folder, entry, `${entry}${kind}`), kind));
      if (isOne) {
        names.add(KINDS.some((kind) => kind === ext) ? name : entry);
      }
    }
  }
  return [...names].toSorted();
}

function isKind(path: string, kind: string): boolean {
  return (
    ifThere(() => {
      const stats = statSync(path);
      return kind === '.sock' ? stats.isSocket() : stats.isFile();
    }, ['ENOENT', 'ENOTDIR']) ?? false
  );
}

function addressOf(path: string, kind: (typeof KINDS)[number]): PluginAddress {
  if (kind === '.sock') {
    return onSocket(path);
  }
  try {
    const text = readBounded(path);
    return kind === '.spec' ? parseAddress(text.trim(), undefined) : ofJson(text);
  } catch (error) {
    throw invalidArgument(`plugin file ${path}: ${errorText(error)}`, { cause: error });
  }
}

function ofJson(text: string): PluginAddress {
  const parsed: unknown = JSON.parse(text);
  const { Addr, TLSConfig } = isRecord(parsed) ? parsed : {};
  return parseAddress(typeof Addr === 'string' ? Addr : '', isRecord(TLSConfig) ? TLSConfig : undefined);
}

function parseAddress(text: string, tls: Record<string, unknown> | undefined): PluginAddress {
  const [, scheme = '', rest = ''] = /^(unix|tcp|http|https):\/\/(\S+)$/.exec(text) ?? [];
  switch (scheme) {
    case 'unix':
      return onSocket(rest);
    case 'tcp':
      return tls === undefined
        ? { url: new URL(`http://${rest}`) }
        : { url: new URL(`https://${rest}`), tls: tlsOptions(tls) };
    case 'http':
      return { url: new URL(text) };
    case 'https':
      return { url: new URL(text), tls: tlsOptions(tls ?? {}) };
    default:
      throw new Error(`no address of a plugin: ${JSON.stringify(text.slice(0, 200))}`);
  }
}

function onSocket(socketPath: string): PluginAddress {
  return { url: new URL('http://plugin'), socketPath };
}

function tlsOptions(asked: Record<string, unknown>): Record<string, unknown> {
  const file = (key: string): string | undefined => {
    const path = asked[key];
    return typeof path === 'string' && path !== '' ? readBounded(path) : undefined;
  };
  return {
    ca: file('CAFile'),
    cert: file('CertFile'),
    key: file('KeyFile'),
    rejectUnauthorized: asked['InsecureSkipVerify'] !== true,
  };
}

function readBounded(path: string): string {
  if (statSync(path).size > limits.pluginFileBytesMax) {
    throw new Error(`longer than ${limits.pluginFileBytesMax} bytes`);
  }
  return readFileSync(path, 'utf8');
}

function entriesOf(folder: string): string[] {
  return ifThere(() => readdirSync(folder), ['ENOENT', 'ENOTDIR']) ?? [];
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
