import {
  CALLERS,
  ENDPOINTS,
  messageOf,
  STATES,
  statusOf,
  type Endpoint,
  type Row,
  type State,
} from './endpoints.ts';
import { client, wrong } from './callers.ts';

const TITLES: Readonly<Record<State, string>> = {
  open: 'A public repository',
  secret: 'A private repository',
  nothing: 'A repository that is not there',
};

/** All of `test/hub-endpoints.md`. */
export function endpointPage(): string {
  return `# Who gets what of the endpoints of seed 001

Written by \`api/hub/hook-callers.test.ts\`, which asks each of these and compares status and body: a table with what it
does not find is wrong. \`npx vitest run --project api test/api/hub/hook-callers.test.ts -u\` writes it anew.

The repository is of the organization acme, whose admin is alice and whose member is bob; carol is a stranger. Tokens
are alice's where it is not said otherwise. A hook or a delivery that is not there is 404 for whoever would have got it.

## Endpoints

${table(['number', 'operation', 'to', 'whoever may gets', 'its body'], ENDPOINTS.toSorted(byNumber).map(endpointRow))}

## Bodies of errors

Each is \`{"message", "documentation_url", "status"}\` (GitHub: \`basic-error\`).

${table(['status', 'message'], MESSAGES)}

${STATES.map((state) => `## ${TITLES[state]}\n\n${statesTable(state)}`).join('\n\n')}

## Endpoints 13 and 14

${table(OWN_TITLES, Object.entries(CALLERS).map(ownRow))}
`;
}

const OWN_TITLES = ['caller', '13 `POST /applications/{client_id}/token`', '14 `GET /rate_limit`'];

const MESSAGES: readonly (readonly string[])[] = [
  ['401', '`Requires authentication`, and `Bad credentials` for a wrong token'],
  ['403', 'as in the last column'],
  ['404', '`Not Found`'],
];

function endpointRow({ number, method, path, need, status, schema }: Endpoint): string[] {
  const shape = schema?.startsWith('[') === true ? `a list of \`${schema.slice(1)}\`` : `\`${schema ?? ''}\``;
  const place = path.replace('ID', '{hook_id}').replace('DELIVERY', '{delivery_id}');
  const operation = `\`${method} /repos/{owner}/{repo}/hooks${place}\``;
  return [
    number === 'old' ? '12, before' : number,
    operation,
    need,
    String(status),
    schema === undefined ? 'none' : shape,
  ];
}

function statesTable(state: State): string {
  const endpoints = ENDPOINTS.toSorted(byNumber);
  const rows = Object.entries(CALLERS).map(([caller, row]) => {
    const statuses = endpoints.map((endpoint) => statusOf(row, state, endpoint));
    return [caller, ...statuses.map(String), statuses.includes(403) ? saidOf(row, state) : ''];
  });
  const numbers = endpoints.map(({ number }) => (number === 'old' ? '12, before' : number));
  return table(['caller', ...numbers, '403 says'], rows);
}

function saidOf(row: Row, state: State): string {
  const refused = ENDPOINTS.filter((endpoint) => statusOf(row, state, endpoint) === 403);
  return [...new Set(refused.map(({ need }) => `\`${messageOf(row, 403, need)}\``))].join('<br>');
}

function ownRow([caller, row]: [string, Row]): string[] {
  const isWrong = row.caller === wrong;
  const check =
    row.caller === client
      ? '200 `authorization`; 404 for a token of another one'
      : `401${isWrong ? '' : ', by Basic only'}`;
  const hour =
    row.perHour === undefined ? (isWrong ? '401' : '404, it has no limit') : `200, ${row.perHour} an hour`;
  return [caller, check, hour];
}

function byNumber(one: Endpoint, other: Endpoint): number {
  return rank(one) - rank(other);
}

function rank({ number }: Endpoint): number {
  return number === 'old' ? 12.5 : Number(number);
}

function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  return [line(titles), `|${'---|'.repeat(titles.length)}`, ...rows.map(line)].join('\n');
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}
