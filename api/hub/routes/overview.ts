import { HUB_VERSIONS } from '../request/version.ts';
import { hubRoute, ok, type ServedHubRoute } from './route.ts';

/** What the hub is, and where things are (GitHub: meta). Their headers tell clients which scopes a token has. */
export const overviewRoutes: readonly ServedHubRoute[] = [
  hubRoute({ id: 'hub.versions', method: 'GET', path: '/versions', handler: () => ok(HUB_VERSIONS) }),
  hubRoute({
    id: 'hub.meta',
    method: 'GET',
    path: '/meta',
    handler: ({ engineVersion }) =>
      ok({ verifiable_password_authentication: false, installed_version: engineVersion }),
  }),
  hubRoute({
    id: 'hub.root',
    method: 'GET',
    path: '/',
    handler: ({ baseUrl }) =>
      ok(Object.fromEntries(ADDRESSES.map(([name, path]) => [`${name}_url`, `${baseUrl}${path}`]))),
  }),
];

/** All that GitHub's schema demands; what git alone has leads nowhere here. */
const ADDRESSES: readonly (readonly [name: string, path: string])[] = [
  ['current_user', '/user'],
  ['current_user_authorizations_html', '/settings/applications'],
  ['current_user_repositories', '/user/repos{?type,page,per_page,sort}'],
  ['authorizations', '/authorizations'],
  ['code_search', '/search/code?q={query}{&page,per_page,sort,order}'],
  ['commit_search', '/search/commits?q={query}{&page,per_page,sort,order}'],
  ['emails', '/user/emails'],
  ['emojis', '/emojis'],
  ['events', '/events'],
  ['feeds', '/feeds'],
  ['followers', '/user/followers'],
  ['following', '/user/following{/target}'],
  ['gists', '/gists{/gist_id}'],
  ['issue_search', '/search/issues?q={query}{&page,per_page,sort,order}'],
  ['issues', '/issues'],
  ['keys', '/user/keys'],
  ['label_search', '/search/labels?q={query}&repository_id={repository_id}{&page,per_page}'],
  ['notifications', '/notifications'],
  ['organization', '/orgs/{org}'],
  ['organization_repositories', '/orgs/{org}/repos{?type,page,per_page,sort}'],
  ['organization_teams', '/orgs/{org}/teams'],
  ['public_gists', '/gists/public'],
  ['rate_limit', '/rate_limit'],
  ['repository', '/repos/{owner}/{repo}'],
  ['repository_search', '/search/repositories?q={query}{&page,per_page,sort,order}'],
  ['starred', '/user/starred{/owner}{/repo}'],
  ['starred_gists', '/gists/starred'],
  ['user', '/users/{user}'],
  ['user_organizations', '/user/orgs'],
  ['user_repositories', '/users/{user}/repos{?type,page,per_page,sort}'],
  ['user_search', '/search/users?q={query}{&page,per_page,sort,order}'],
];
