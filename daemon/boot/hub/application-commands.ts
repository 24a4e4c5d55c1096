import { invalidArgument } from '../../base/errors.ts';
import { parts, type HubArguments } from './arguments.ts';
import { json, list, needed, pair, remove, request, type Entry, type HubAction } from './command.ts';
import { createOAuthApplication, OAUTH_APPLICATION_FLAGS } from './oauth-commands.ts';

/** Commands for apps, their installations and OAuth applications. What is shown once is printed as JSON. */
export const applicationCommands: readonly (readonly [string, Entry])[] = [
  [
    'app create',
    {
      usage:
        '(NAME --owner OWNER [--permissions NAME=LEVEL,...] [--events EVENT,...] [--url URL] [--description TEXT] | ' +
        '--org ORG --name NAME --domain URL --redirect URL [--scopes GROUP:SCOPE,...] [--avatar FILE] ' +
        '[--privacy URL] [--terms URL])',
      help:
        'make an app, or with --org an OAuth application of an organization; prints it with its client secret ' +
        'and its private key, this once',
      operands: 0,
      optional: 1,
      valued: ['owner', 'permissions', 'events', 'url', 'description', ...OAUTH_APPLICATION_FLAGS],
      action: (given) => (given.values.has('org') ? createOAuthApplication(given) : createApp(given)),
    },
  ],
  ['app list', list('apps', '/admin/apps', ['slug', 'id', 'client_id', 'name', 'installations_count'])],
  [
    'app remove',
    remove('SLUG', 'remove an app with its installations and tokens', (slug) => `/admin/apps/${slug}`),
  ],
  [
    'app key',
    {
      usage: 'SLUG [--remove ID]',
      help: 'give an app another private key and print it, this once; or end one',
      operands: 1,
      valued: ['remove'],
      action: ({ operands: [slug = ''], values }) => {
        const path = `/admin/apps/${encodeURIComponent(slug)}/keys`;
        const id = values.get('remove');
        return id === undefined
          ? request({ method: 'POST', path }, json)
          : request({ method: 'DELETE', path: `${path}/${encodeURIComponent(id)}` });
      },
    },
  ],
  ['app token', token('app', 'print a token of an app for a user, this once')],
  [
    'installation create',
    {
      usage: 'SLUG --account NAME [--repositories NAME,...]',
      help: 'install an app at an account, for all of its repositories or some',
      operands: 1,
      valued: ['account', 'repositories'],
      action: ({ operands: [slug = ''], values }) => {
        const repositories = values.get('repositories');
        return request(
          {
            method: 'POST',
            path: `/admin/apps/${encodeURIComponent(slug)}/installations`,
            body: {
              account: needed(values, 'account'),
              ...(repositories !== undefined && { repositories: parts(repositories) }),
            },
          },
          json,
        );
      },
    },
  ],
  [
    'installation list',
    list('installations of apps', '/admin/installations', [
      'id',
      'app_slug',
      'target_id',
      'target_type',
      'repository_selection',
    ]),
  ],
  [
    'installation remove',
    remove('ID', 'take an app away from an account', (id) => `/admin/installations/${id}`),
  ],
  [
    'oauth-app create',
    {
      usage: 'NAME --owner OWNER [--callback URL] [--url URL] [--description TEXT]',
      help: 'make an OAuth application; prints it with its client secret, this once',
      operands: 1,
      valued: ['owner', 'callback', 'url', 'description'],
      action: ({ operands: [name = ''], values }) =>
        request(
          {
            method: 'POST',
            path: '/admin/oauth-apps',
            body: {
              name,
              ...common(values),
              ...(values.has('callback') && { callback_url: values.get('callback') }),
            },
          },
          json,
        ),
    },
  ],
  ['oauth-app list', list('OAuth applications', '/admin/oauth-apps', ['client_id', 'id', 'name'])],
  [
    'oauth-app remove',
    remove('CLIENT_ID', 'remove an OAuth application with its tokens', (id) => `/admin/oauth-apps/${id}`),
  ],
  ['oauth-app token', token('oauth-app', 'print a token of an OAuth application for a user, this once')],
];

function token(kind: 'app' | 'oauth-app', help: string): Entry {
  return {
    usage: `CLIENT_ID --user NAME${kind === 'app' ? '' : ' [--scopes SCOPE,...]'}`,
    help,
    operands: 1,
    valued: ['user', ...(kind === 'app' ? [] : ['scopes'])],
    action: ({ operands: [clientId = ''], values }) =>
      request(
        {
          method: 'POST',
          path: `/admin/applications/${encodeURIComponent(clientId)}/tokens`,
          body: { login: needed(values, 'user'), scopes: parts(values.get('scopes') ?? '') },
        },
        (answer) => String(answer['token']),
      ),
  };
}

function common(values: HubArguments['values']): object {
  return {
    owner: needed(values, 'owner'),
    ...(values.has('url') && { url: values.get('url') }),
    ...(values.has('description') && { description: values.get('description') }),
  };
}

function createApp({ operands: [name = ''], values }: HubArguments): HubAction {
  const strange = OAUTH_APPLICATION_FLAGS.find((flag) => values.has(flag));
  if (name === '' || strange !== undefined) {
    throw invalidArgument(
      name === ''
        ? 'app create: needs NAME and --owner, or --org'
        : `app create: --${strange} goes with --org`,
    );
  }
  return request(
    {
      method: 'POST',
      path: '/admin/apps',
      body: {
        name,
        ...common(values),
        permissions: Object.fromEntries(parts(values.get('permissions') ?? '').map(pair)),
        events: parts(values.get('events') ?? ''),
      },
    },
    json,
  );
}
