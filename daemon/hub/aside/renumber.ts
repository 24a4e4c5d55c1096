import { unreachable } from '../../base/errors.ts';
import type { App, Installation, OAuthApp } from '../identity/apps/app.ts';
import type { Account, Membership } from '../identity/account.ts';
import type { Owner, Selection, Token } from '../identity/tokens/token.ts';
import type { Hook } from '../hooks/hook.ts';
import type { Note } from '../notes/artifact/note.ts';
import type { OAuthApplication } from '../oauth/applications/application.ts';
import type { Authorization } from '../oauth/authorizations/authorization.ts';
import type { Access, Resource } from '../oauth/scopes/access.ts';
import type { Collaborator } from '../repositories/collaborator.ts';
import type { Repository } from '../repositories/repository.ts';
import type { MovedRecord } from '../records/move/local-set.ts';

/** What counts its ids up, and comes back from a hub that counted for itself. */
export const NUMBERED = [
  'account',
  'repository',
  'hook',
  'token',
  'note',
  'app',
  'oauth-app',
  'installation',
] as const;

/** What is added to an id of each kind. */
export type Offsets = Readonly<Record<(typeof NUMBERED)[number], number>>;

type Change = (record: MovedRecord, by: Offsets) => MovedRecord;

/** In the order in which they come back: what others lead to is there first. */
const CHANGES: Readonly<Record<string, Change>> = {
  account: changed<Account>((account, by) => ({ ...account, id: account.id + by.account })),
  member: ({ value }, by) => {
    // All values below a prefix are written by one class; so are the other ones in this file.
    const found = value as Membership;
    const member = { ...found, organization: found.organization + by.account, user: found.user + by.account };
    return { key: `member/${member.organization}/${member.user}`, value: member };
  },
  repository: changed<Repository>((found, by) => ({
    ...found,
    id: found.id + by.repository,
    owner: { ...found.owner, id: found.owner.id + by.account },
  })),
  collaborator: ({ value }, by) => {
    // As of members.
    const found = value as Collaborator;
    const part = { ...found, repository: found.repository + by.repository, user: found.user + by.account };
    return { key: `collaborator/${part.repository}/${part.user}`, value: part };
  },
  blob: ofRepository((value) => value),
  manifest: ofRepository((value) => value),
  tag: ofRepository((value) => value),
  note: ofRepository((value, by) => {
    // As of members.
    const note = value as Note;
    return { ...note, id: note.id + by.note };
  }),
  hook: ({ value }, by) => {
    // As of members.
    const found = value as Hook;
    const hook = { ...found, id: found.id + by.hook, repository: found.repository + by.repository };
    return { key: `hook/${hook.repository}/${hook.id}`, value: hook };
  },
  app: ({ value }, by) => {
    // As of members.
    const found = value as App;
    const app = { ...found, id: found.id + by.app, owner: { ...found.owner, ...ownerOf(found.owner, by) } };
    return { key: `app/${app.id}`, value: app };
  },
  'oauth-app': ({ value }, by) => {
    // As of members.
    const found = value as OAuthApp;
    const owner = { ...found.owner, ...ownerOf(found.owner, by) };
    const app = { ...found, id: found.id + by['oauth-app'], owner };
    return { key: `oauth-app/${app.id}`, value: app };
  },
  installation: ({ value }, by) => {
    // As of members.
    const found = value as Installation;
    const installation = {
      ...found,
      id: found.id + by.installation,
      app: found.app + by.app,
      account: { ...found.account, ...ownerOf(found.account, by) },
      repositories: selectionOf(found.repositories, by),
    };
    return { key: `installation/${installation.id}`, value: installation };
  },
  'oauth-application': changed<OAuthApplication>((found, by) => ({
    ...found,
    organization: ownerOf(found.organization, by),
  })),
  'oauth-avatar': (record) => record,
  authorization: changed<Authorization>((found, by) => ({
    ...found,
    user: ownerOf(found.user, by),
    accesses: accessesOf(found.accesses, by),
  })),
  token: changed<Token>(tokenOf),
};

/** Records of before that nobody misses: of the moment, and what the hub makes anew. */
const NOT_MISSED = new Set([
  'audit',
  'counter',
  'deployment',
  'index',
  'intent',
  'last-push',
  'leftover',
  'limit',
  'limit-short',
  'lockout',
  'secret',
  'sign-in',
]);

/** Tokens of tasks, which end with them. */
const NOT_BACK = new Set(['workflow']);

/**
 * Records of a hub as another one has them, which has counted for itself. Client ids stay, though the number of the app
 * in them is another one now: clients show them. `left`: how many of each kind do not come. Pure.
 */
export function renumbered(
  records: readonly MovedRecord[],
  by: Offsets,
): { records: MovedRecord[]; left: Record<string, number> } {
  const left: Record<string, number> = {};
  const kinds = Object.keys(CHANGES);
  const back = records.filter((record) => {
    const kind = kindOf(record);
    // As of members.
    const token = kind === 'token' ? (record.value as Token).kind : undefined;
    const isLeft = token !== undefined && NOT_BACK.has(token);
    const isBack = kind in CHANGES && !isLeft;
    if (!isBack && !NOT_MISSED.has(kind)) {
      const name = isLeft ? `${token} token` : kind;
      left[name] = (left[name] ?? 0) + 1;
    }
    return isBack;
  });
  const inOrder = back.toSorted((one, other) => kinds.indexOf(kindOf(one)) - kinds.indexOf(kindOf(other)));
  return { records: inOrder.map((record) => CHANGES[kindOf(record)]?.(record, by) ?? record), left };
}

export function kindOf({ key }: MovedRecord): string {
  return key.slice(0, key.indexOf('/'));
}

/** The key says no id. */
function changed<T extends object>(change: (value: T, by: Offsets) => T): Change {
  // As of members.
  return ({ key, value }, by) => ({ key, value: change(value as T, by) });
}

/** `tag/<repository's id>/...`. */
function ofRepository(change: (value: object, by: Offsets) => object): Change {
  return ({ key, value }, by) => {
    const [kind, id, ...rest] = key.split('/');
    const moved = [kind, Number(id) + by.repository, ...rest].join('/');
    // As of members.
    return { key: moved, value: change(value as object, by) };
  };
}

function tokenOf(token: Token, by: Offsets): Token {
  const id = token.id + by.token;
  switch (token.kind) {
    case 'classic': {
      const { authorized } = token;
      return {
        ...token,
        id,
        user: ownerOf(token.user, by),
        ...(authorized && { authorized: authorized.map((one) => one + by.account) }),
      };
    }
    case 'fine-grained':
      return {
        ...token,
        id,
        user: ownerOf(token.user, by),
        resourceOwner: ownerOf(token.resourceOwner, by),
        repositories: selectionOf(token.repositories, by),
      };
    case 'service':
      return {
        ...token,
        id,
        organization: ownerOf(token.organization, by),
        maker: token.maker && ownerOf(token.maker, by),
      };
    case 'grant':
      return { ...token, id, user: ownerOf(token.user, by), accesses: accessesOf(token.accesses, by) };
    case 'oauth':
      return {
        ...token,
        id,
        user: ownerOf(token.user, by),
        application: token.application + by['oauth-app'],
      };
    case 'app-user':
      return { ...token, id, user: ownerOf(token.user, by), application: token.application + by.app };
    case 'installation':
      return {
        ...token,
        id,
        installation: token.installation + by.installation,
        repositories: selectionOf(token.repositories, by),
      };
    case 'workflow':
      return token;
    default:
      return unreachable(token);
  }
}

function ownerOf({ name, id }: Owner, by: Offsets): Owner {
  return { name, id: id + by.account };
}

function selectionOf(selection: Selection, by: Offsets): Selection {
  return selection === 'all' ? 'all' : selection.map((id) => id + by.repository);
}

function accessesOf(accesses: readonly Access[], by: Offsets): Access[] {
  return accesses.map(({ resource, scopes }) => ({ resource: resourceOf(resource, by), scopes }));
}

function resourceOf(resource: Resource, by: Offsets): Resource {
  switch (resource.group) {
    case 'user':
      return { ...resource, user: resource.user + by.account };
    case 'organization':
      return { ...resource, owner: resource.owner + by.account };
    case 'database':
    case 'branch':
      return { ...resource, repository: resource.repository + by.repository };
    default:
      return unreachable(resource);
  }
}
