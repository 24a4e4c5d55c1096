import path from 'node:path';
import { isNode, walk, type Finding, type Node, type Source } from './sources.ts';

/** What one layer may import, as folder prefixes; its own folder is always allowed. */
interface Layer {
  prefix: string;
  mayImport: readonly string[];
  /** Prefixes of which only types may be imported (`import type`). */
  typesOnly?: readonly string[];
}

const DOMAINS = 'daemon/<domain>';

/** Folders of `daemon` that are no domain: layers with rows of their own. */
const NO_DOMAINS = new Set(['base', 'boot', 'hub', 'cluster', 'tasks']);

/** The parts of the swarm that decide only. They run in a simulation: clock, random, store and network are ports. */
const PLANNERS = ['swarm/objects', 'swarm/planner'];

/**
 * The table of ARCHITECTURE.md. The longest prefix that fits a file is its layer. The rows of `swarm`, `daemon/hub`,
 * `daemon/cluster`, `api/hub` and `api/cluster` stand before the folders do: issues 13 to 17 build these.
 */
export const layers: readonly Layer[] = [
  { prefix: 'daemon/base', mayImport: [] },
  { prefix: 'api/types', mayImport: [] },
  { prefix: 'runtime', mayImport: ['daemon/base'] },
  { prefix: 'storage', mayImport: ['daemon/base'] },
  { prefix: 'swarm', mayImport: ['daemon/base', 'api/types'] },
  { prefix: 'daemon/tasks', mayImport: ['daemon/base', 'api/types'], typesOnly: ['swarm'] },
  { prefix: 'daemon/hub', mayImport: ['daemon/base', 'api/types', 'daemon/hub/records'] },
  { prefix: 'daemon/hub/records', mayImport: ['daemon/base'] },
  { prefix: 'daemon/cluster', mayImport: ['daemon/base', 'api/types', 'daemon/hub/records'] },
  {
    prefix: DOMAINS,
    mayImport: ['daemon/base', 'api/types', 'runtime', 'storage'],
    typesOnly: [DOMAINS],
  },
  { prefix: 'api', mayImport: ['daemon/base', 'api/types'] },
  { prefix: 'api/hub', mayImport: ['daemon/base', 'api/types', 'api'] },
  { prefix: 'api/cluster', mayImport: ['daemon/base', 'api/types', 'api'] },
  { prefix: 'daemon/boot', mayImport: ['*'] },
  { prefix: 'daemon/main.ts', mayImport: ['*'] },
  { prefix: 'test', mayImport: ['*'] },
  { prefix: 'scripts', mayImport: ['*'] },
  // Settings of tools in the root folder.
  { prefix: '', mayImport: ['*'] },
];

/** Packages with one home: the folders that may import them. `scripts` and `test` may import anything. */
const PACKAGE_HOMES: Readonly<Record<string, readonly string[]>> = {
  koffi: ['daemon/base/kernel'],
  'better-sqlite3': ['storage/database'],
  koa: ['api'],
  '@koa/router': ['api'],
  '@grpc/grpc-js': ['swarm'],
  'markdown-it': ['daemon/hub/notes'],
  yaml: ['runtime/cdi', 'daemon/hub/notes', 'daemon/boot/cluster/targets', 'api/cluster'],
  // Of tests only.
  'node-pty': ['test'],
  'tar-fs': ['test'],
  'tar-stream': ['test'],
  'prom-client': ['daemon/metrics'],
};

/** Names of `daemon/base/kernel/libc.ts` that declare C functions. */
const FOREIGN_FUNCTION_MAKERS = new Set(['declare', 'declareSyscall']);

interface Import {
  specifier: string;
  typeOnly: boolean;
  names: string[];
  start: number;
}

/** Findings of every import rule in one file. */
export function checkLayers(source: Source): Finding[] {
  const findings: Finding[] = [];
  const add = (start: number, message: string): void => {
    findings.push({ file: source.file, line: source.lineOf(start), message });
  };
  for (const imported of importsOf(source)) {
    const message = imported.specifier.startsWith('.')
      ? judgeOwn(source.file, imported)
      : judgePackage(source.file, imported);
    if (message !== undefined) {
      add(imported.start, message);
    }
  }
  for (const start of versionComparisons(source)) {
    add(start, 'compares API versions: only api/versions knows them (write a VersionChange instead)');
  }
  return findings;
}

/** The layer of a file; undefined where the table has no place for it. */
export function layerOf(file: string): Layer | undefined {
  const candidates = layers.filter((layer) => isBelow(file, layer.prefix));
  return candidates.toSorted((a, b) => b.prefix.length - a.prefix.length)[0];
}

function judgeOwn(file: string, imported: Import): string | undefined {
  const target = path.posix.normalize(path.posix.join(path.posix.dirname(file), imported.specifier));
  const from = layerOf(file);
  const to = layerOf(target);
  if (from === undefined || to === undefined) {
    return `${from === undefined ? file : target} is in no layer of ARCHITECTURE.md`;
  }
  const makers = imported.names.filter((name) => FOREIGN_FUNCTION_MAKERS.has(name));
  if (
    target === 'daemon/base/kernel/libc.ts' &&
    makers.length > 0 &&
    !isBelow(file, 'daemon/base/kernel') &&
    !isTooling(file)
  ) {
    return `declares a C function (${makers.join(', ')}): only daemon/base/kernel may`;
  }
  if (isBelowAny(file, PLANNERS) && isBelow(target, 'daemon/base/kernel')) {
    return `${target} calls the kernel: a planner of the swarm runs in a simulation. Declare a port instead`;
  }
  if (from.mayImport.includes('*') || sameLayer(file, target, from, to)) {
    return undefined;
  }
  if (from.mayImport.includes(to.prefix)) {
    return undefined;
  }
  if (from.typesOnly?.includes(to.prefix) === true) {
    return imported.typeOnly ? undefined : `${target} is another domain: only \`import type\` is allowed`;
  }
  const allowed = [...from.mayImport, ...(from.typesOnly ?? []).map((prefix) => `types of ${prefix}`)];
  return (
    `${from.prefix} must not import ${target} (${to.prefix || 'root'}); ` +
    `it may import ${allowed.length === 0 ? 'nothing of ours' : allowed.join(', ')}. Declare a port instead`
  );
}

function judgePackage(file: string, imported: Import): string | undefined {
  const name = /^(@[^/]+\/[^/]+|[^/]+)/.exec(imported.specifier)?.[1] ?? imported.specifier;
  const homes = PACKAGE_HOMES[name];
  if (homes === undefined || imported.typeOnly || isTooling(file)) {
    return undefined;
  }
  return isBelowAny(file, homes) ? undefined : `imports ${name}, whose home is ${homes.join(', ')}`;
}

/** Domain folders are layers of their own. */
function sameLayer(file: string, target: string, from: Layer, to: Layer): boolean {
  return from.prefix === to.prefix && (from.prefix !== DOMAINS || domainOf(file) === domainOf(target));
}

function isTooling(file: string): boolean {
  return isBelow(file, 'test') || isBelow(file, 'scripts') || !file.includes('/');
}

function isBelow(file: string, prefix: string): boolean {
  if (prefix === DOMAINS) {
    return domainOf(file) !== undefined;
  }
  return prefix === '' ? !file.includes('/') : file === prefix || file.startsWith(`${prefix}/`);
}

function isBelowAny(file: string, prefixes: readonly string[]): boolean {
  return prefixes.some((prefix) => isBelow(file, prefix));
}

function domainOf(file: string): string | undefined {
  const folder = /^daemon\/([^/]+)\//.exec(file)?.[1];
  return folder === undefined || NO_DOMAINS.has(folder) ? undefined : folder;
}

/** Every import of a file, static, dynamic and of types, and what it exports of other files. */
export function importsOf(source: Source): Import[] {
  const imports: Import[] = [];
  walk(source.program.body, (node) => {
    const specifier = specifierOf(node);
    if (specifier !== undefined) {
      imports.push({
        specifier,
        typeOnly: isTypeOnly(node),
        names: importedNames(node),
        start: node.start,
      });
    }
  });
  return imports;
}

function specifierOf(node: Node): string | undefined {
  switch (node.type) {
    case 'ImportDeclaration':
    case 'ExportNamedDeclaration':
    case 'ExportAllDeclaration':
    case 'ImportExpression':
    case 'TSImportType':
      return isNode(node['source']) && typeof node['source']['value'] === 'string'
        ? node['source']['value']
        : undefined;
    default:
      return undefined;
  }
}

function isTypeOnly(node: Node): boolean {
  if (node.type === 'TSImportType' || node['importKind'] === 'type' || node['exportKind'] === 'type') {
    return true;
  }
  const specifiers = node['specifiers'];
  return (
    Array.isArray(specifiers) &&
    specifiers.length > 0 &&
    specifiers.every(
      (specifier) =>
        isNode(specifier) && (specifier['importKind'] === 'type' || specifier['exportKind'] === 'type'),
    )
  );
}

function importedNames(node: Node): string[] {
  const specifiers = node['specifiers'];
  if (!Array.isArray(specifiers)) {
    return [];
  }
  return specifiers.flatMap((specifier: unknown) => {
    const imported = isNode(specifier) ? specifier['imported'] : undefined;
    return isNode(imported) && typeof imported['name'] === 'string' ? [imported['name']] : [];
  });
}

const COMPARISONS = new Set(['<', '>', '<=', '>=', '==', '===', '!=', '!==']);

/** `apiVersion < ...` and `version === '1.30'` in the HTTP edge and the daemon, outside api/versions. */
function versionComparisons(source: Source): number[] {
  if (!isBelow(source.file, 'api') || isBelow(source.file, 'api/versions')) {
    return [];
  }
  const starts: number[] = [];
  walk(source.program.body, (node) => {
    if (node.type !== 'BinaryExpression' || !COMPARISONS.has(String(node['operator']))) {
      return;
    }
    const sides = [node['left'], node['right']]
      .filter(isNode)
      .map((side) => source.text.slice(side.start, side.end));
    const namesVersion = sides.some((side) => /version/i.test(side) && !/['"]/.test(side));
    const ordered = !String(node['operator']).includes('==');
    if ((namesVersion && ordered) || sides.some((side) => /^['"]v?1\.\d+['"]$/.test(side))) {
      starts.push(node.start);
    }
  });
  return starts;
}
