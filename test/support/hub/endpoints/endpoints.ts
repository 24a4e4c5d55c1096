import {
  appItself,
  appUser,
  classic,
  client,
  fineGrained,
  grant,
  installation,
  nobody,
  oauth,
  page,
  root,
  service,
  workflow,
  wrong,
  type MakeCaller,
} from './callers.ts';

export type Class = 'read' | 'write' | 'remove';

export interface Endpoint {
  /** Of seed 001; `old`: the path that endpoint 12 had before. */
  number: string;
  method: string;
  /** Below `hooks`. */
  path: string;
  /** To see, to change or to remove. */
  need: Class;
  body?: object;
  /** Of whoever may. */
  status: number;
  /** GitHub's; `[` = a list of them; undefined = none, `{}` = an empty object. */
  schema?: string;
}

/** Endpoints 1 to 12 of seed 001 and the old path of the last. */
export const ENDPOINTS: readonly Endpoint[] = [
  { number: '1', method: 'GET', path: '', need: 'read', status: 200, schema: '[hook' },
  {
    number: '2',
    method: 'POST',
    path: '',
    need: 'write',
    body: { config: { url: 'https://example.com/new' } },
    status: 201,
    schema: 'hook',
  },
  { number: '3', method: 'GET', path: '/ID', need: 'read', status: 200, schema: 'hook' },
  {
    number: '4',
    method: 'PATCH',
    path: '/ID',
    need: 'write',
    body: { active: true },
    status: 200,
    schema: 'hook',
  },
  { number: '6', method: 'GET', path: '/ID/config', need: 'read', status: 200, schema: 'webhook-config' },
  {
    number: '7',
    method: 'PATCH',
    path: '/ID/config',
    need: 'write',
    body: { content_type: 'json' },
    status: 200,
    schema: 'webhook-config',
  },
  {
    number: '8',
    method: 'GET',
    path: '/ID/deliveries',
    need: 'read',
    status: 200,
    schema: '[hook-delivery-item',
  },
  {
    number: '9',
    method: 'GET',
    path: '/ID/deliveries/DELIVERY',
    need: 'read',
    status: 200,
    schema: 'hook-delivery',
  },
  {
    number: '10',
    method: 'POST',
    path: '/ID/deliveries/DELIVERY/attempts',
    need: 'write',
    status: 202,
    schema: '{}',
  },
  { number: '11', method: 'POST', path: '/ID/pings', need: 'read', status: 204 },
  { number: '12', method: 'POST', path: '/ID/tests', need: 'read', status: 204 },
  { number: 'old', method: 'POST', path: '/ID/test', need: 'read', status: 204 },
  { number: '5', method: 'DELETE', path: '/ID', need: 'remove', status: 204 },
];

/** Answers to what reads, changes, removes; 0 = granted. */
type Answers = readonly [number, number, number];

export interface Row {
  caller: MakeCaller;
  /** Of acme's public and private repository. */
  open: Answers;
  secret: Answers;
  /** What 403 says; `scope`, `access` = the scopes or accesses that it needs. */
  forbidden?: string;
  /** Requests of an hour; undefined = none are counted. */
  perHour?: number;
}

const NONE: Answers = [0, 0, 0];
const HIDDEN: Answers = [404, 404, 404];
const REFUSED: Answers = [403, 403, 403];
const BY_INTEGRATION = 'Resource not accessible by integration';
const BY_PERSONAL = 'Resource not accessible by personal access token';

/** The kinds of callers, each with what it may be given, none, and one that is wrong. */
export const CALLERS: Readonly<Record<string, Row>> = {
  nobody: { caller: nobody, open: [401, 401, 401], secret: HIDDEN, perHour: 60 },
  'a wrong token': { caller: wrong, open: [401, 401, 401], secret: [401, 401, 401] },
  root: { caller: root, open: NONE, secret: NONE },
  'somebody signed in at the pages, whom REST does not know': {
    caller: page,
    open: [401, 401, 401],
    secret: HIDDEN,
    perHour: 60,
  },
  'a classic token without scopes': {
    caller: classic('alice'),
    open: REFUSED,
    secret: HIDDEN,
    forbidden: 'scope',
    perHour: 5000,
  },
  'a classic token that reads hooks': {
    caller: classic('alice', 'read:repo_hook'),
    open: [0, 403, 403],
    secret: HIDDEN,
    forbidden: 'scope',
    perHour: 5000,
  },
  'a classic token that writes hooks': {
    caller: classic('alice', 'write:repo_hook'),
    open: [0, 0, 403],
    secret: HIDDEN,
    forbidden: 'scope',
    perHour: 5000,
  },
  'a classic token for hooks': {
    caller: classic('alice', 'admin:repo_hook'),
    open: NONE,
    secret: HIDDEN,
    perHour: 5000,
  },
  'a classic token for repositories': {
    caller: classic('alice', 'repo'),
    open: NONE,
    secret: NONE,
    perHour: 5000,
  },
  'a member': {
    caller: classic('bob', 'repo'),
    open: REFUSED,
    secret: REFUSED,
    forbidden: 'Must have admin rights to Repository: bob has not.',
    perHour: 5000,
  },
  'a stranger': {
    caller: classic('carol', 'repo'),
    open: REFUSED,
    secret: HIDDEN,
    forbidden: 'Must have admin rights to Repository: carol has not.',
    perHour: 5000,
  },
  'a fine-grained token that reads': {
    caller: fineGrained('read'),
    open: [0, 403, 403],
    secret: [0, 403, 403],
    forbidden: BY_PERSONAL,
    perHour: 5000,
  },
  'a fine-grained token that writes': {
    caller: fineGrained('write'),
    open: NONE,
    secret: NONE,
    perHour: 5000,
  },
  'a fine-grained token of another owner': {
    caller: fineGrained('write', 'alice'),
    open: REFUSED,
    secret: HIDDEN,
    forbidden: BY_PERSONAL,
    perHour: 5000,
  },
  'an installation that reads': {
    caller: installation('read'),
    open: [0, 403, 403],
    secret: [0, 403, 403],
    forbidden: BY_INTEGRATION,
    perHour: 5000,
  },
  'an installation that writes': {
    caller: installation('write'),
    open: NONE,
    secret: NONE,
    perHour: 5000,
  },
  'an app by JSON web token': {
    caller: appItself,
    open: REFUSED,
    secret: HIDDEN,
    forbidden: BY_INTEGRATION,
    perHour: 5000,
  },
  'a token of an app for a user that reads': {
    caller: appUser('read'),
    open: [0, 403, 403],
    secret: [0, 403, 403],
    forbidden: BY_INTEGRATION,
    perHour: 5000,
  },
  'a token of an app for a user that writes': {
    caller: appUser('write'),
    open: NONE,
    secret: NONE,
    perHour: 5000,
  },
  'an OAuth token for hooks': {
    caller: oauth('alice', 'admin:repo_hook'),
    open: NONE,
    secret: HIDDEN,
    perHour: 5000,
  },
  'an OAuth token for repositories': {
    caller: oauth('alice', 'repo'),
    open: NONE,
    secret: NONE,
    perHour: 5000,
  },
  'an OAuth application by its secret': {
    caller: client,
    open: REFUSED,
    secret: HIDDEN,
    forbidden: BY_INTEGRATION,
    perHour: 5000,
  },
  'a task': {
    caller: workflow({ packages: 'read' }),
    open: REFUSED,
    secret: HIDDEN,
    forbidden: BY_INTEGRATION,
    perHour: 1000,
  },
  'a task that reads hooks': {
    caller: workflow({ repository_hooks: 'read' }),
    open: [0, 403, 403],
    secret: HIDDEN,
    forbidden: BY_INTEGRATION,
    perHour: 1000,
  },
  "a token of an organization's OAuth application that reads": {
    caller: grant('read_webhooks'),
    open: [0, 403, 403],
    secret: [0, 403, 403],
    forbidden: 'access',
    perHour: 5000,
  },
  "a token of an organization's OAuth application that writes and removes": {
    caller: grant('write_webhooks', 'delete_webhooks'),
    open: NONE,
    secret: NONE,
    perHour: 5000,
  },
  'a service token of an organization for images': {
    caller: service('read_branches'),
    open: REFUSED,
    secret: REFUSED,
    forbidden: 'access',
    perHour: 5000,
  },
  'a service token of an organization that writes and removes': {
    caller: service('write_webhooks', 'delete_webhooks'),
    open: NONE,
    secret: NONE,
    perHour: 5000,
  },
};

/** What a caller gets of acme's public repository, its private one, and of one that is not there. */
export const STATES = ['open', 'secret', 'nothing'] as const;
export type State = (typeof STATES)[number];

/** The status that a caller gets. */
export function statusOf(
  row: Row,
  state: State,
  { need, status }: Pick<Endpoint, 'need' | 'status'>,
): number {
  const answers = state === 'nothing' ? (row.caller === wrong ? row.open : HIDDEN) : row[state];
  return answers[['read', 'write', 'remove'].indexOf(need)] || status;
}

/** What an error of a status says to a caller. */
export function messageOf(row: Row, status: number, need: Class): string {
  switch (status) {
    case 401:
      return row.caller === wrong ? 'Bad credentials' : 'Requires authentication';
    case 404:
      return 'Not Found';
    default:
      return forbiddenText(row, need);
  }
}

const SCOPES: Readonly<Record<Class, string>> = { read: 'read', write: 'write', remove: 'admin' };
const ACCESSES: Readonly<Record<Class, string>> = {
  read: 'read_webhooks or write_webhooks or delete_webhooks',
  write: 'write_webhooks',
  remove: 'delete_webhooks',
};

function forbiddenText({ forbidden = '' }: Row, need: Class): string {
  switch (forbidden) {
    case 'scope':
      return `This token needs the scope ${SCOPES[need]}:repo_hook or repo.`;
    case 'access':
      return `This token needs the access ${ACCESSES[need]} here.`;
    default:
      return forbidden;
  }
}
