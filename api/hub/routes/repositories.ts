import type { RepositoryCreateRequest, RepositoryEditRequest } from '../../types/hub/repository.ts';
import type { BodySchema } from '../request/body.ts';
import { hubRoute, list, made, none, ok, param, type ServedHubRoute } from './route.ts';

const FIELDS = {
  description: { type: ['string', 'null'] },
  private: { type: 'boolean' },
} as const;

/** Fields of git repositories are refused: an image repository has neither issues nor a wiki. */
const CREATE: BodySchema = {
  title: 'Repository',
  type: 'object',
  properties: { name: { type: 'string' }, ...FIELDS },
  required: ['name'],
  additionalProperties: false,
};

const CREATE_FOR: BodySchema = {
  ...CREATE,
  properties: { owner: { type: 'string' }, ...CREATE.properties },
  required: ['owner', 'name'],
};

const EDIT: BodySchema = {
  title: 'Repository',
  type: 'object',
  properties: FIELDS,
  additionalProperties: false,
};

/** Repositories (GitHub: repos/repos). */
export const repositoryRoutes: readonly ServedHubRoute[] = [
  hubRoute({
    id: 'repository.all',
    method: 'GET',
    path: '/repositories',
    handler: ({ session }) => list(session.repositories.all()),
  }),
  hubRoute({
    id: 'repository.mine',
    method: 'GET',
    path: '/user/repos',
    handler: ({ session }) => list(session.repositories.mine()),
  }),
  hubRoute({
    id: 'repository.of-user',
    method: 'GET',
    path: '/users/:username/repos',
    handler: ({ session, ...request }) => list(session.repositories.ofUser(param(request, 'username'))),
  }),
  hubRoute({
    id: 'repository.of-organization',
    method: 'GET',
    path: '/orgs/:org/repos',
    handler: ({ session, ...request }) => list(session.repositories.ofOrganization(param(request, 'org'))),
  }),
  hubRoute<RepositoryCreateRequest>({
    id: 'repository.create-mine',
    method: 'POST',
    path: '/user/repos',
    body: CREATE,
    handler: async ({ session, body }) => made(await session.repositories.createMine(body)),
  }),
  hubRoute<RepositoryCreateRequest>({
    id: 'repository.create-in',
    method: 'POST',
    path: '/orgs/:org/repos',
    body: CREATE,
    handler: async ({ session, body, ...request }) =>
      made(await session.repositories.createIn(param(request, 'org'), body)),
  }),
  hubRoute<RepositoryCreateRequest & { owner: string }>({
    id: 'repository.create-for',
    method: 'POST',
    path: '/admin/repositories',
    body: CREATE_FOR,
    handler: async ({ session, body: { owner, ...rest } }) =>
      made(await session.repositories.createFor(owner, rest)),
  }),
  hubRoute({
    id: 'repository.get',
    method: 'GET',
    path: '/repos/:owner/:repo',
    handler: ({ session, ...request }) =>
      ok(session.repositories.get(param(request, 'owner'), param(request, 'repo'))),
  }),
  hubRoute<RepositoryEditRequest>({
    id: 'repository.edit',
    method: 'PATCH',
    path: '/repos/:owner/:repo',
    body: EDIT,
    handler: async ({ session, body, ...request }) =>
      ok(await session.repositories.edit(param(request, 'owner'), param(request, 'repo'), body)),
  }),
  hubRoute({
    id: 'repository.remove',
    method: 'DELETE',
    path: '/repos/:owner/:repo',
    handler: async ({ session, ...request }) => {
      await session.repositories.remove(param(request, 'owner'), param(request, 'repo'));
      return none();
    },
  }),
];
