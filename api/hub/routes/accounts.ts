import type {
  OrganizationConfigureRequest,
  OrganizationCreateRequest,
  UserCreateRequest,
} from '../../types/hub/account.ts';
import type { BodySchema } from '../request/body.ts';
import { hubRoute, list, made, none, ok, param, type ServedHubRoute } from './route.ts';

const USER: BodySchema = {
  title: 'User',
  type: 'object',
  properties: {
    login: { type: 'string' },
    email: { type: ['string', 'null'] },
    password: { type: 'string', secret: true },
  },
  required: ['login'],
  additionalProperties: false,
};

const PASSWORD: BodySchema = {
  title: 'User',
  type: 'object',
  properties: { password: { type: ['string', 'null'], secret: true } },
  required: ['password'],
  additionalProperties: false,
};

const ORGANIZATION: BodySchema = {
  title: 'Organization',
  type: 'object',
  properties: { login: { type: 'string' }, admin: { type: 'string' } },
  required: ['login', 'admin'],
  additionalProperties: false,
};

const CONFIGURE: BodySchema = {
  title: 'Organization',
  type: 'object',
  properties: { single_sign_on: { type: 'boolean' }, enterprise: { type: 'boolean' } },
  additionalProperties: false,
};

const MEMBERSHIP: BodySchema = {
  title: 'Membership',
  type: 'object',
  properties: { role: { type: 'string', enum: ['admin', 'member'] } },
  additionalProperties: false,
};

/** Users, organizations, memberships (GitHub: users, orgs, orgs/members; Enterprise Server: admin). */
export const accountRoutes: readonly ServedHubRoute[] = [
  hubRoute({
    id: 'user.me',
    method: 'GET',
    path: '/user',
    handler: ({ session }) => ok(session.accounts.me()),
  }),
  hubRoute({
    id: 'user.list',
    method: 'GET',
    path: '/users',
    handler: ({ session }) => list(session.accounts.users()),
  }),
  hubRoute({
    id: 'user.get',
    method: 'GET',
    path: '/users/:username',
    handler: ({ session, ...request }) => ok(session.accounts.user(param(request, 'username'))),
  }),
  hubRoute<UserCreateRequest>({
    id: 'user.create',
    method: 'POST',
    path: '/admin/users',
    body: USER,
    handler: async ({ session, body }) => made(await session.accounts.createUser(body)),
  }),
  hubRoute<{ password: string | null }>({
    id: 'user.password',
    method: 'PUT',
    path: '/admin/users/:username/password',
    body: PASSWORD,
    handler: async ({ session, body, ...request }) => {
      await session.accounts.setPassword(param(request, 'username'), body.password);
      return none();
    },
  }),
  hubRoute({
    id: 'user.remove',
    method: 'DELETE',
    path: '/admin/users/:username',
    handler: async ({ session, ...request }) => {
      await session.accounts.removeUser(param(request, 'username'));
      return none();
    },
  }),
  hubRoute({
    id: 'organization.list',
    method: 'GET',
    path: '/organizations',
    handler: ({ session }) => list(session.accounts.organizations()),
  }),
  hubRoute({
    id: 'organization.get',
    method: 'GET',
    path: '/orgs/:org',
    handler: ({ session, ...request }) => ok(session.accounts.organization(param(request, 'org'))),
  }),
  hubRoute<OrganizationCreateRequest>({
    id: 'organization.create',
    method: 'POST',
    path: '/admin/organizations',
    body: ORGANIZATION,
    handler: async ({ session, body }) => made(await session.accounts.createOrganization(body)),
  }),
  hubRoute<OrganizationConfigureRequest>({
    id: 'organization.configure',
    method: 'PATCH',
    path: '/admin/organizations/:org',
    body: CONFIGURE,
    handler: async ({ session, body, ...request }) => {
      await session.accounts.configureOrganization(param(request, 'org'), body);
      return none();
    },
  }),
  hubRoute({
    id: 'organization.remove',
    method: 'DELETE',
    path: '/orgs/:org',
    handler: async ({ session, ...request }) => {
      await session.accounts.removeOrganization(param(request, 'org'));
      return { kind: 'json', status: 202, body: {} };
    },
  }),
  hubRoute({
    id: 'organization.members',
    method: 'GET',
    path: '/orgs/:org/members',
    handler: ({ session, ...request }) => list(session.accounts.members(param(request, 'org'))),
  }),
  hubRoute({
    id: 'membership.get',
    method: 'GET',
    path: '/orgs/:org/memberships/:username',
    handler: ({ session, ...request }) =>
      ok(session.accounts.membership(param(request, 'org'), param(request, 'username'))),
  }),
  hubRoute<{ role?: 'admin' | 'member' }>({
    id: 'membership.set',
    method: 'PUT',
    path: '/orgs/:org/memberships/:username',
    body: MEMBERSHIP,
    handler: async ({ session, body: { role = 'member' }, ...request }) =>
      ok(await session.accounts.setMembership(param(request, 'org'), param(request, 'username'), role)),
  }),
  hubRoute({
    id: 'membership.remove',
    method: 'DELETE',
    path: '/orgs/:org/memberships/:username',
    handler: async ({ session, ...request }) => {
      await session.accounts.removeMembership(param(request, 'org'), param(request, 'username'));
      return none();
    },
  }),
];
