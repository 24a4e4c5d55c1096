import { invalidArgument } from '../../base/errors.ts';
import { applicationCommands } from './application-commands.ts';
import { oauthCommands } from './oauth-commands.ts';
import { parts, seconds, type HubArguments } from './arguments.ts';
import {
  json,
  list,
  needed,
  ownerAndName,
  pair,
  remove,
  repositoryPath,
  request,
  type Entry,
} from './command.ts';

/** Every command of `berthd hub`, by its one or two words. */
export const HUB_COMMANDS: ReadonlyMap<string, Entry> = new Map<string, Entry>([
  ...applicationCommands,
  ...oauthCommands,
  [
    'user create',
    {
      usage: 'NAME [--email ADDRESS] [--password-stdin]',
      help: 'make a user; the password is for the pages, tokens are for all else',
      operands: 1,
      valued: ['email'],
      switches: ['password-stdin'],
      action: ({ operands: [login = ''], values }, password) =>
        request({
          method: 'POST',
          path: '/admin/users',
          body: {
            login,
            ...(values.has('email') && { email: values.get('email') }),
            ...(password !== undefined && { password }),
          },
        }),
    },
  ],
  [
    'user password',
    {
      usage: 'NAME --password-stdin',
      help: 'give a user another password',
      operands: 1,
      switches: ['password-stdin'],
      action: ({ operands: [name = ''] }, password) => {
        if (password === undefined) {
          throw invalidArgument('user password: needs --password-stdin');
        }
        return request({
          method: 'PUT',
          path: `/admin/users/${encodeURIComponent(name)}/password`,
          body: { password },
        });
      },
    },
  ],
  ['user list', list('users', '/users', ['login', 'id'])],
  [
    'user remove',
    remove('NAME', 'remove a user that owns no repositories', (name) => `/admin/users/${name}`),
  ],
  [
    'org create',
    {
      usage: 'NAME --owner USER',
      help: 'make an organization with its first admin',
      operands: 1,
      valued: ['owner'],
      action: ({ operands: [login = ''], values }) =>
        request({
          method: 'POST',
          path: '/admin/organizations',
          body: { login, admin: needed(values, 'owner') },
        }),
    },
  ],
  [
    'org sso',
    {
      usage: 'NAME on|off',
      help: 'whether classic tokens must be authorized for an organization',
      operands: 2,
      action: ({ operands: [name = '', state = ''] }) =>
        request({
          method: 'PATCH',
          path: `/admin/organizations/${encodeURIComponent(name)}`,
          body: { single_sign_on: isOn(state) },
        }),
    },
  ],
  [
    'org enterprise',
    {
      usage: 'NAME on|off',
      help: 'whether an organization has the higher limits of requests',
      operands: 2,
      action: ({ operands: [name = '', state = ''] }) =>
        request({
          method: 'PATCH',
          path: `/admin/organizations/${encodeURIComponent(name)}`,
          body: { enterprise: isOn(state) },
        }),
    },
  ],
  ['org list', list('organizations', '/organizations', ['login', 'id'])],
  [
    'org remove',
    remove('NAME', 'remove an organization that owns no repositories', (name) => `/orgs/${name}`),
  ],
  [
    'org members',
    {
      usage: 'NAME',
      help: 'list the members of an organization',
      operands: 1,
      action: ({ operands: [name = ''] }) => ({
        kind: 'list',
        path: `/orgs/${encodeURIComponent(name)}/members`,
        columns: ['login', 'id'],
      }),
    },
  ],
  [
    'org add-member',
    {
      usage: 'NAME USER [--role member|admin]',
      help: 'make a user a member, or change the role',
      operands: 2,
      valued: ['role'],
      action: ({ operands: [name = '', user = ''], values }) =>
        request({
          method: 'PUT',
          path: `/orgs/${encodeURIComponent(name)}/memberships/${encodeURIComponent(user)}`,
          body: { role: values.get('role') ?? 'member' },
        }),
    },
  ],
  [
    'org remove-member',
    {
      usage: 'NAME USER',
      help: 'end a membership',
      operands: 2,
      action: ({ operands: [name = '', user = ''] }) =>
        request({
          method: 'DELETE',
          path: `/orgs/${encodeURIComponent(name)}/memberships/${encodeURIComponent(user)}`,
        }),
    },
  ],
  [
    'repo create',
    {
      usage: 'OWNER/REPO [--private] [--description TEXT]',
      help: 'make a repository',
      operands: 1,
      valued: ['description'],
      switches: ['private'],
      action: ({ operands: [fullName = ''], values, switches }) => {
        const { owner, name } = ownerAndName(fullName);
        return request(
          {
            method: 'POST',
            path: '/admin/repositories',
            body: {
              owner,
              name,
              private: switches.has('private'),
              ...(values.has('description') && { description: values.get('description') }),
            },
          },
          (answer) => String(answer['full_name']),
        );
      },
    },
  ],
  ['repo list', list('repositories', '/repositories', ['full_name', 'visibility', 'id'])],
  [
    'repo edit',
    {
      usage: 'OWNER/REPO [--public | --private] [--description TEXT]',
      help: 'change who may see a repository, or its description',
      operands: 1,
      valued: ['description'],
      switches: ['public', 'private'],
      action: ({ operands: [fullName = ''], values, switches }) => {
        if (switches.has('public') && switches.has('private')) {
          throw invalidArgument('repo edit: --public and --private do not go together');
        }
        return request({
          method: 'PATCH',
          path: repositoryPath(fullName),
          body: {
            ...(switches.size > 0 && { private: switches.has('private') }),
            ...(values.has('description') && { description: values.get('description') }),
          },
        });
      },
    },
  ],
  [
    'repo collaborators',
    {
      usage: 'OWNER/REPO',
      help: 'list who has a part in a repository',
      operands: 1,
      action: ({ operands: [fullName = ''] }) => ({
        kind: 'list',
        path: `${repositoryPath(fullName)}/collaborators`,
        columns: ['login', 'role_name', 'id'],
      }),
    },
  ],
  [
    'repo add-collaborator',
    {
      usage: 'OWNER/REPO USER [--permission pull|push|admin]',
      help: 'give a user a part in a repository, or another one; push by default',
      operands: 2,
      valued: ['permission'],
      action: ({ operands: [fullName = '', user = ''], values }) =>
        request({
          method: 'PUT',
          path: `${repositoryPath(fullName)}/collaborators/${encodeURIComponent(user)}`,
          body: { permission: values.get('permission') ?? 'push' },
        }),
    },
  ],
  [
    'repo remove-collaborator',
    {
      usage: 'OWNER/REPO USER',
      help: 'take the part in a repository away from a user',
      operands: 2,
      action: ({ operands: [fullName = '', user = ''] }) =>
        request({
          method: 'DELETE',
          path: `${repositoryPath(fullName)}/collaborators/${encodeURIComponent(user)}`,
        }),
    },
  ],
  [
    'repo remove',
    {
      usage: 'OWNER/REPO',
      help: 'remove a repository',
      operands: 1,
      action: ({ operands: [fullName = ''] }) =>
        request({ method: 'DELETE', path: repositoryPath(fullName) }),
    },
  ],
  ['aside list', list('accounts and repositories kept aside', '/admin/aside', ['source', 'kind', 'name'])],
  [
    'aside restore',
    {
      usage: 'SOURCE',
      help: 'bring back what is kept aside, beside what the hub has; prints what came and what did not, as JSON',
      operands: 1,
      action: ({ operands: [source = ''] }) =>
        request({ method: 'POST', path: `/admin/aside/${encodeURIComponent(source)}/restore` }, json),
    },
  ],
  [
    'audit',
    {
      usage: '[--id ID]',
      help: 'list who has done what, the newest first; --id prints the one that webhooks and events name so, as JSON',
      operands: 0,
      valued: ['id'],
      action: ({ values }) => {
        const id = values.get('id');
        return id === undefined
          ? { kind: 'list', path: '/admin/audit', columns: ['at', 'actor', 'action', 'target', 'id'] }
          : request({ method: 'GET', path: `/admin/audit?id=${encodeURIComponent(id)}` }, json);
      },
    },
  ],
  [
    'token create',
    {
      usage:
        '--user NAME (--scopes SCOPE,... | --permissions NAME=LEVEL,... [--resource-owner NAME] ' +
        '[--repositories NAME,...]) [--note TEXT] [--expires 90d]',
      help: 'make a token and print it, this once',
      operands: 0,
      valued: ['user', 'scopes', 'permissions', 'resource-owner', 'repositories', 'note', 'expires'],
      action: ({ values }) =>
        request(
          {
            method: 'POST',
            path: `/admin/users/${encodeURIComponent(needed(values, 'user'))}/tokens`,
            body: tokenBody(values),
          },
          (answer) => String(answer['token']),
        ),
    },
  ],
  [
    'token list',
    {
      usage: '--user NAME',
      help: 'list the tokens of a user',
      operands: 0,
      valued: ['user'],
      action: ({ values }) => ({
        kind: 'list',
        path: `/admin/users/${encodeURIComponent(needed(values, 'user'))}/tokens`,
        columns: ['id', 'kind', 'note', 'scopes', 'expires_at', 'last_used_at'],
      }),
    },
  ],
  [
    'token authorize',
    {
      usage: 'ID --user NAME --org NAME',
      help: 'let a classic token be used with an organization that asks for single sign-on',
      operands: 1,
      valued: ['user', 'org'],
      action: ({ operands: [id = ''], values }) =>
        request({
          method: 'POST',
          path: `${tokenPath(values, id)}/authorizations`,
          body: { organization: needed(values, 'org') },
        }),
    },
  ],
  [
    'token revoke',
    {
      usage: 'ID --user NAME',
      help: 'end a token at once',
      operands: 1,
      valued: ['user'],
      action: ({ operands: [id = ''], values }) =>
        request({
          method: 'DELETE',
          path: tokenPath(values, id),
        }),
    },
  ],
]);

function tokenBody(values: HubArguments['values']): object {
  const scopes = values.get('scopes');
  const permissions = values.get('permissions');
  if ((scopes === undefined) === (permissions === undefined)) {
    throw invalidArgument('token create: needs --scopes or --permissions, and not both');
  }
  const expires = values.get('expires');
  const repositories = values.get('repositories');
  return {
    note: values.get('note') ?? '',
    ...(scopes !== undefined && { scopes: parts(scopes) }),
    ...(permissions !== undefined && { permissions: Object.fromEntries(parts(permissions).map(pair)) }),
    ...(repositories !== undefined && { repositories: parts(repositories) }),
    ...(values.has('resource-owner') && { resource_owner: values.get('resource-owner') }),
    ...(expires !== undefined && { expires_in: seconds('expires', expires) }),
  };
}

function isOn(state: string): boolean {
  if (state !== 'on' && state !== 'off') {
    throw invalidArgument(`must be on or off, not ${JSON.stringify(state)}`);
  }
  return state === 'on';
}

function tokenPath(values: HubArguments['values'], id: string): string {
  return `/admin/users/${encodeURIComponent(needed(values, 'user'))}/tokens/${encodeURIComponent(id)}`;
}
