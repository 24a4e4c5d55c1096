/**
 * `npm run coverage:api`: which operations of the published API documents are served, refused (501) or
 * missing, and API.md written anew from the route table and the version changes. Exits 1 when something is missing.
 */
import { writeFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { CLUSTER_FAMILIES } from '../api/cluster/families.ts';
import { REGISTRY_OPERATIONS } from '../api/hub/registry/registry-api.ts';
import { HUB_ROUTES } from '../api/hub/routes/index.ts';
import { ROUTES } from '../api/routes/index.ts';
import type { Route } from '../api/routes/route.ts';
import { CHANGES } from '../api/versions/changes/index.ts';
import { NEWEST, OLDEST, formatVersion, isServedAt } from '../api/versions/version.ts';
import { OPERATIONS_1_24, OPERATIONS_1_55, OPERATIONS_CLUSTER, OPERATIONS_HUB } from './api-operations.ts';

interface Covered {
  operation: string;
  state: 'served' | 'partly' | 'refused' | 'missing';
  note: string;
}

/** State of each operation of a document (one `METHOD /path` per line) at a version. */
export function cover(document: string, version: number): Covered[] {
  const routes = new Map(
    ROUTES.filter((route) => isServedAt(route, version)).map((route) => [
      `${route.method} ${nameless(route.path)}`,
      route,
    ]),
  );
  return linesOf(document).map((operation) => describe(operation, routes.get(nameless(operation))));
}

function describe(operation: string, route: Route | undefined): Covered {
  if (route === undefined) {
    return { operation, state: 'missing', note: '' };
  }
  if ('refused' in route) {
    return { operation, state: 'refused', note: '501' };
  }
  return { operation, state: route.partly === undefined ? 'served' : 'partly', note: route.partly ?? '' };
}

/** `:id`, `*name`, `{id}` and `{name}` are all a parameter. */
function nameless(path: string): string {
  return path.replaceAll(/:\w+|\*\w+|\{\w+\}/g, '{}');
}

function linesOf(document: string): string[] {
  return document
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

const DOCUMENTS = [
  { title: '1.24, described', lines: OPERATIONS_1_24.described, version: OLDEST },
  { title: '1.24, referred to', lines: OPERATIONS_1_24.referredTo, version: OLDEST },
  { title: '1.55', lines: OPERATIONS_1_55, version: NEWEST },
] as const;

function countOf(covered: readonly Covered[]): string {
  const count = (state: Covered['state']): number => covered.filter((item) => item.state === state).length;
  return (
    `${count('served') + count('partly')} of ${covered.length} served (${count('partly')} in part), ` +
    `${count('refused')} refused, ${count('missing')} missing`
  );
}

/** The whole of API.md. */
export function renderApiDocument(): string {
  const counts = DOCUMENTS.map(
    ({ title, lines, version }) => `- ${title}: ${countOf(cover(lines, version))}`,
  ).join('\n');
  return `# The API

<!-- Written by \`npm run coverage:api\` from api/routes and api/versions. Do not edit. -->

Berth speaks the Docker Engine API, versions ${formatVersion(OLDEST)} to ${formatVersion(NEWEST)}. A client picks one by
the prefix of the path (\`/v1.30/info\`); without a prefix it gets ${formatVersion(NEWEST)}. 1.22 and 1.23
are served as ${formatVersion(OLDEST)}, others answer 400. An operation is served under every version, whichever it came
with, as in dockerd.
Inside the engine there is only the newest shape; what older versions differ in is listed below and translated at the
edge, one entry of \`api/versions/changes\` each.

## Coverage

${counts}

A refused operation answers 501 with a message that names it. An operation of the swarm on a node that cannot serve it,
because it is in no swarm or no manager, say, answers 503, under 1.24 406.

${renderTable()}

## The hub

Operations of the hub at its own address, and below \`/hub\` on the engine's socket. Of the published document:
${countOf(hubDocument())}.

${renderHub()}

## The cluster interface

Operations at its own address, and below \`/cluster\` on the engine's socket. Of the published document:
${countOf(clusterDocument())}.

${renderCluster()}

## What each version changed

Only what this engine serves. The newest first.

${renderHistory()}`;
}

function renderTable(): string {
  const at24 = new Map(
    cover(OPERATIONS_1_24.described + OPERATIONS_1_24.referredTo, OLDEST).map((item) => [
      nameless(item.operation),
      item,
    ]),
  );
  const at55 = new Map(cover(OPERATIONS_1_55, NEWEST).map((item) => [nameless(item.operation), item]));
  const rows = [...new Set([...at55.keys(), ...at24.keys()])].toSorted(byPath).map((key) => {
    const newest = at55.get(key);
    const oldest = at24.get(key);
    const operation = newest?.operation ?? oldest?.operation ?? key;
    return `| \`${operation}\` | ${cell(oldest)} | ${cell(newest)} |`;
  });
  return ['| operation | 1.24 | 1.55 |', '|---|---|---|', ...rows].join('\n');
}

/** The operations of the hub's document. */
function hubDocument(): Covered[] {
  return coverOwn(OPERATIONS_HUB, HUB_ROUTES);
}

/** Those of the cluster's documents. */
function clusterDocument(): Covered[] {
  return coverOwn(OPERATIONS_CLUSTER, CLUSTER_ROUTES);
}

const CLUSTER_ROUTES = CLUSTER_FAMILIES.flatMap(({ routes }) => routes);

function coverOwn(
  document: string,
  served: readonly { method: string; path: string; refused?: string }[],
): Covered[] {
  const routes = new Map(served.map((route) => [`${route.method} ${nameless(route.path)}`, route]));
  return linesOf(document).map((operation) => {
    const route = routes.get(nameless(operation));
    const state = route === undefined ? 'missing' : 'refused' in route ? 'refused' : 'served';
    return { operation, state, note: state === 'refused' ? '501' : '' };
  });
}

function renderHub(): string {
  const rows = [
    ...HUB_ROUTES.map(
      (route) => `| \`${route.method} ${route.path}\` | ${'refused' in route ? 'refused: 501' : 'served'} |`,
    ),
    ...REGISTRY_OPERATIONS.map((operation) => `| \`${operation}\` | served, at its own address |`),
  ];
  return ['| operation | |', '|---|---|', ...rows.toSorted(byPath)].join('\n');
}

function renderCluster(): string {
  const rows = CLUSTER_ROUTES.map(({ method, path }) => `| \`${method} ${path}\` | served |`);
  return ['| operation | |', '|---|---|', ...rows.toSorted(byPath)].join('\n');
}

function byPath(left: string, right: string): number {
  return pathFirst(left) < pathFirst(right) ? -1 : 1;
}

function pathFirst(operation: string): string {
  return operation.split(' ').toReversed().join(' ');
}

function cell(item: Covered | undefined): string {
  if (item === undefined) {
    return '';
  }
  return item.note === '' ? item.state : `${item.state}: ${item.note}`;
}

function renderHistory(): string {
  const versions = [...new Set(CHANGES.map((change) => change.since))].toReversed();
  return versions
    .map((version) => {
      const items = CHANGES.filter((change) => change.since === version).map(
        (change) => `- ${change.description}\n`,
      );
      return `### ${formatVersion(version)}\n\n${items.join('')}`;
    })
    .join('\n');
}

async function main(): Promise<void> {
  const own = [...hubDocument(), ...clusterDocument()];
  let missing = own.filter((item) => item.state === 'missing').length;
  console.log(`\nhub: ${countOf(hubDocument())}`);
  console.log(`\ncluster: ${countOf(clusterDocument())}`);
  for (const { title, lines, version } of DOCUMENTS) {
    const covered = cover(lines, version);
    console.log(`\n${title}: ${countOf(covered)}`);
    for (const { operation, state, note } of covered) {
      console.log(`  ${state.padEnd(8)} ${operation}${note === '' ? '' : `  (${note})`}`);
    }
    missing += covered.filter((item) => item.state === 'missing').length;
  }
  await writeFile(new URL('../API.md', import.meta.url), renderApiDocument());
  console.log('\nAPI.md is written.');
  process.exitCode = missing === 0 ? 0 : 1;
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  await main();
}
