import type { CollaboratorRequest } from '../../types/hub/collaborator.ts';
import type { BodySchema } from '../request/body.ts';
import { hubRoute, list, none, ok, param, type HubRequest, type ServedHubRoute } from './route.ts';

const COLLABORATOR: BodySchema = {
  title: 'Collaborator',
  type: 'object',
  properties: { permission: { type: 'string', enum: ['pull', 'push', 'admin'] } },
  additionalProperties: false,
};

const ALL = '/repos/:owner/:repo/collaborators';
const ONE = `${ALL}/:username`;

/**
 * Collaborators (GitHub: collaborators/collaborators). Nobody is invited: a hub has no mail to send, its accounts are
 * made by who runs the machine, and a person with a private network's account needs no second consent. So PUT answers
 * 204, as GitHub does for who has a part already.
 */
export const collaboratorRoutes: readonly ServedHubRoute[] = [
  hubRoute({
    id: 'collaborator.list',
    method: 'GET',
    path: ALL,
    handler: ({ session, ...request }) => list(session.collaborators.list(...names(request))),
  }),
  hubRoute({
    id: 'collaborator.check',
    method: 'GET',
    path: ONE,
    handler: ({ session, ...request }) => {
      session.collaborators.check(...names(request), param(request, 'username'));
      return none();
    },
  }),
  hubRoute({
    id: 'collaborator.permission',
    method: 'GET',
    path: `${ONE}/permission`,
    handler: ({ session, ...request }) =>
      ok(session.collaborators.permission(...names(request), param(request, 'username'))),
  }),
  hubRoute<CollaboratorRequest>({
    id: 'collaborator.add',
    method: 'PUT',
    path: ONE,
    body: COLLABORATOR,
    handler: async ({ session, body, ...request }) => {
      await session.collaborators.add(...names(request), param(request, 'username'), body);
      return none();
    },
  }),
  hubRoute({
    id: 'collaborator.remove',
    method: 'DELETE',
    path: ONE,
    handler: async ({ session, ...request }) => {
      await session.collaborators.remove(...names(request), param(request, 'username'));
      return none();
    },
  }),
];

function names(request: Pick<HubRequest<unknown>, 'params'>): [owner: string, repository: string] {
  return [param(request, 'owner'), param(request, 'repo')];
}
