import { readFileSync } from 'node:fs';
import { errorText, invalidArgument } from '../../base/errors.ts';
import { parts, seconds, type HubArguments } from './arguments.ts';
import { json, needed, request, type Entry, type HubAction } from './command.ts';

/** Of `app create` with `--org`. */
export const OAUTH_APPLICATION_FLAGS: readonly string[] = [
  'org',
  'name',
  'domain',
  'redirect',
  'scopes',
  'avatar',
  'privacy',
  'terms',
];

/** Commands for OAuth applications of organizations (seed 002 A). What is shown once is printed as JSON. */
export const oauthCommands: readonly (readonly [string, Entry])[] = [
  [
    'app list-oauth',
    {
      usage: '--org ORG',
      help: 'print the OAuth applications of an organization as JSON',
      operands: 0,
      valued: ['org'],
      action: ({ values }) =>
        request({ method: 'GET', path: `${organizationPath(values)}/oauth-applications?per_page=100` }, json),
    },
  ],
  [
    'app remove-oauth',
    {
      usage: 'ID --org ORG',
      help: 'remove an OAuth application of an organization with its tokens',
      operands: 1,
      valued: ['org'],
      action: ({ operands: [id = ''], values }) =>
        request({
          method: 'DELETE',
          path: `${organizationPath(values)}/oauth-applications/${encodeURIComponent(id)}`,
        }),
    },
  ],
  [
    'app renew-oauth',
    {
      usage: 'ID --org ORG',
      help: 'give an OAuth application of an organization another client secret and print it as JSON, this once',
      operands: 1,
      valued: ['org'],
      action: ({ operands: [id = ''], values }) =>
        request(
          {
            method: 'POST',
            path: `${organizationPath(values)}/oauth-applications/${encodeURIComponent(id)}/secret`,
          },
          json,
        ),
    },
  ],
  [
    'service-token create',
    {
      usage: '--org ORG --accesses ACCESS,... [--name NAME] [--expires 90d]',
      help: "make a token for an organization's own programs and print it as JSON, this once",
      operands: 0,
      valued: ['org', 'accesses', 'name', 'expires'],
      action: ({ values }) => {
        const expires = values.get('expires');
        return request(
          {
            method: 'POST',
            path: `${organizationPath(values)}/service-tokens`,
            body: {
              name: values.get('name') ?? '',
              accesses: parts(needed(values, 'accesses')),
              ...(expires !== undefined && { ttl: seconds('expires', expires) }),
            },
          },
          json,
        );
      },
    },
  ],
  [
    'service-token list',
    {
      usage: '--org ORG',
      help: 'print the service tokens of an organization as JSON',
      operands: 0,
      valued: ['org'],
      action: ({ values }) =>
        request({ method: 'GET', path: `${organizationPath(values)}/service-tokens?per_page=100` }, json),
    },
  ],
  [
    'service-token remove',
    {
      usage: 'ID --org ORG',
      help: 'end a service token at once',
      operands: 1,
      valued: ['org'],
      action: ({ operands: [id = ''], values }) =>
        request({
          method: 'DELETE',
          path: `${organizationPath(values)}/service-tokens/${encodeURIComponent(id)}`,
        }),
    },
  ],
  [
    'authorize',
    {
      usage:
        '--user USER --client-id ID --redirect URL [--state S] [--scope SCOPES] [--organizations NAME,...] ' +
        '[--repositories OWNER/REPO,...] [--tags OWNER/REPO:TAG,...] [--challenge S256]',
      help: 'let an OAuth application act for a user, and print the address that a browser would be sent to',
      operands: 0,
      valued: [
        'user',
        'client-id',
        'redirect',
        'state',
        'scope',
        'organizations',
        'repositories',
        'tags',
        'challenge',
      ],
      action: ({ values }) =>
        request({ method: 'POST', path: '/admin/authorizations', body: consentOf(values) }, (answer) =>
          String(answer['redirect_to']),
        ),
    },
  ],
];

/** `app create --org`. */
export function createOAuthApplication({ operands, values }: HubArguments): HubAction {
  const strange = ['owner', 'permissions', 'events', 'url', 'description'].find((flag) => values.has(flag));
  if (operands.length > 0 || strange !== undefined) {
    throw invalidArgument(
      `app create: ${strange === undefined ? 'NAME' : `--${strange}`} does not go with --org`,
    );
  }
  const [avatar, scopes] = [values.get('avatar'), values.get('scopes')];
  return request(
    {
      method: 'POST',
      path: `${organizationPath(values)}/oauth-applications`,
      body: {
        name: needed(values, 'name'),
        domain: needed(values, 'domain'),
        redirect_uri: needed(values, 'redirect'),
        ...(avatar !== undefined && { avatar: imageOf(avatar) }),
        ...(scopes !== undefined && { scopes: scopesOf(scopes) }),
        ...(values.has('privacy') && { privacy_url: values.get('privacy') }),
        ...(values.has('terms') && { terms_url: values.get('terms') }),
      },
    },
    json,
  );
}

function consentOf(values: HubArguments['values']): object {
  const challenge = values.get('challenge');
  const lists = ['organizations', 'repositories', 'tags'].flatMap((flag) => {
    const text = values.get(flag);
    return text === undefined ? [] : [[flag, parts(text)]];
  });
  return {
    login: needed(values, 'user'),
    client_id: needed(values, 'client-id'),
    redirect_uri: needed(values, 'redirect'),
    ...(values.has('state') && { state: values.get('state') }),
    ...(values.has('scope') && { scope: values.get('scope')?.replaceAll(',', ' ') }),
    ...(challenge !== undefined && { code_challenge: challenge, code_challenge_method: 'S256' }),
    ...Object.fromEntries(lists),
  };
}

/** `organization:write_branches,user:read_user`, by group. */
function scopesOf(text: string): Record<string, string[]> {
  const found = new Map<string, string[]>();
  for (const one of parts(text)) {
    const [, group = '', scope = ''] = /^([a-z]+):([a-z_]+)$/.exec(one) ?? [];
    if (group === '') {
      throw invalidArgument(
        `--scopes: must look like organization:write_branches, not ${JSON.stringify(one)}`,
      );
    }
    found.set(group, [...(found.get(group) ?? []), scope]);
  }
  return Object.fromEntries(found);
}

function imageOf(file: string): string {
  try {
    return readFileSync(file).toString('base64');
  } catch (error) {
    throw invalidArgument(`--avatar: ${errorText(error)}`, { cause: error });
  }
}

function organizationPath(values: HubArguments['values']): string {
  return `/v1/organizations/${encodeURIComponent(needed(values, 'org'))}`;
}
