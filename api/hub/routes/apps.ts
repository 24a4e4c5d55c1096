import type { InstallationTokenRequest } from '../../types/hub/applications.ts';
import type { BodySchema } from '../request/body.ts';
import { hubRoute, idParam, list, made, none, ok, param, type ServedHubRoute } from './route.ts';

const ACCESS_TOKEN: BodySchema = {
  title: 'Installation',
  type: 'object',
  properties: {
    repositories: { type: 'array', items: { type: 'string' }, maxItems: 500 },
    repository_ids: { type: 'array', items: { type: 'integer' }, maxItems: 500 },
    permissions: { type: 'object', additionalProperties: { type: 'string' } },
  },
  additionalProperties: false,
};

const ONE = '/app/installations/:installation_id';

/** Apps as themselves (GitHub: apps/apps, apps/installations). */
export const appRoutes: readonly ServedHubRoute[] = [
  hubRoute({
    id: 'app.me',
    method: 'GET',
    path: '/app',
    handler: ({ session }) => ok(session.apps.me()),
  }),
  hubRoute({
    id: 'app.get',
    method: 'GET',
    path: '/apps/:app_slug',
    handler: ({ session, ...request }) => ok(session.apps.app(param(request, 'app_slug'))),
  }),
  hubRoute({
    id: 'installation.list',
    method: 'GET',
    path: '/app/installations',
    handler: ({ session }) => list(session.apps.installations()),
  }),
  hubRoute({
    id: 'installation.get',
    method: 'GET',
    path: ONE,
    handler: ({ session, ...request }) => ok(session.apps.installation(idParam(request, 'installation_id'))),
  }),
  hubRoute({
    id: 'installation.remove',
    method: 'DELETE',
    path: ONE,
    handler: async ({ session, ...request }) => {
      await session.apps.removeInstallation(idParam(request, 'installation_id'));
      return none();
    },
  }),
  hubRoute<InstallationTokenRequest>({
    id: 'installation.mint-token',
    method: 'POST',
    path: `${ONE}/access_tokens`,
    body: ACCESS_TOKEN,
    handler: async ({ session, body, ...request }) =>
      made(await session.apps.mintToken(idParam(request, 'installation_id'), body)),
  }),
  hubRoute({
    id: 'installation.suspend',
    method: 'PUT',
    path: `${ONE}/suspended`,
    handler: async ({ session, ...request }) => {
      await session.apps.suspend(idParam(request, 'installation_id'), true);
      return none();
    },
  }),
  hubRoute({
    id: 'installation.unsuspend',
    method: 'DELETE',
    path: `${ONE}/suspended`,
    handler: async ({ session, ...request }) => {
      await session.apps.suspend(idParam(request, 'installation_id'), false);
      return none();
    },
  }),
  hubRoute({
    id: 'installation.repositories',
    method: 'GET',
    path: '/installation/repositories',
    handler: ({ session }) => {
      const { repositories, repository_selection: selection } = session.apps.repositories();
      return list(repositories, (page) => ({
        total_count: repositories.length,
        repository_selection: selection,
        repositories: page,
      }));
    },
  }),
  hubRoute({
    id: 'installation.revoke-token',
    method: 'DELETE',
    path: '/installation/token',
    handler: async ({ session }) => {
      await session.apps.revokeToken();
      return none();
    },
  }),
  hubRoute({
    id: 'installation.of-repository',
    method: 'GET',
    path: '/repos/:owner/:repo/installation',
    handler: ({ session, ...request }) =>
      ok(session.apps.ofRepository(param(request, 'owner'), param(request, 'repo'))),
  }),
  hubRoute({
    id: 'installation.of-user',
    method: 'GET',
    path: '/users/:username/installation',
    handler: ({ session, ...request }) => ok(session.apps.ofUser(param(request, 'username'))),
  }),
  hubRoute({
    id: 'installation.of-organization',
    method: 'GET',
    path: '/orgs/:org/installation',
    handler: ({ session, ...request }) => ok(session.apps.ofOrganization(param(request, 'org'))),
  }),
  hubRoute({
    id: 'installation.mine',
    method: 'GET',
    path: '/user/installations',
    handler: ({ session }) => {
      const installations = session.apps.ofMyUser();
      return list(installations, (page) => ({ total_count: installations.length, installations: page }));
    },
  }),
];
