import type { UserAddresses } from '../../../api/types/hub/account.ts';

/** The addresses of accounts and repositories, below the hub's own (`https://hub.example:5010`, without a slash). */
export class Addresses {
  readonly base: string;

  constructor(base: string) {
    this.base = base;
  }

  user(login: string): UserAddresses {
    const url = `${this.base}/users/${login}`;
    return {
      avatar_url: `${this.base}/avatars/${login}`,
      url,
      html_url: `${this.base}/${login}`,
      followers_url: `${url}/followers`,
      following_url: `${url}/following{/other_user}`,
      gists_url: `${url}/gists{/gist_id}`,
      starred_url: `${url}/starred{/owner}{/repo}`,
      subscriptions_url: `${url}/subscriptions`,
      organizations_url: `${url}/orgs`,
      repos_url: `${url}/repos`,
      events_url: `${url}/events{/privacy}`,
      received_events_url: `${url}/received_events`,
    };
  }

  organization(login: string) {
    const url = `${this.base}/orgs/${login}`;
    return {
      url,
      repos_url: `${url}/repos`,
      events_url: `${url}/events`,
      hooks_url: `${url}/hooks`,
      issues_url: `${url}/issues`,
      members_url: `${url}/members{/member}`,
      public_members_url: `${url}/public_members{/member}`,
      avatar_url: `${this.base}/avatars/${login}`,
    };
  }

  repository(fullName: string): Record<string, string> {
    const url = `${this.base}/repos/${fullName}`;
    const page = `${this.base}/${fullName}`;
    return {
      url,
      html_url: page,
      clone_url: `${page}.git`,
      git_url: `${page}.git`,
      ssh_url: `${page}.git`,
      svn_url: page,
      ...Object.fromEntries(BELOW.map(([field, path]) => [field, `${url}/${path}`])),
    };
  }
}

/** What GitHub's schema of a repository demands, each below the repository's own address. */
const BELOW: readonly (readonly [string, string])[] = [
  ['archive_url', '{archive_format}{/ref}'],
  ['assignees_url', 'assignees{/user}'],
  ['blobs_url', 'git/blobs{/sha}'],
  ['branches_url', 'branches{/branch}'],
  ['collaborators_url', 'collaborators{/collaborator}'],
  ['comments_url', 'comments{/number}'],
  ['commits_url', 'commits{/sha}'],
  ['compare_url', 'compare/{base}...{head}'],
  ['contents_url', 'contents/{+path}'],
  ['contributors_url', 'contributors'],
  ['deployments_url', 'deployments'],
  ['downloads_url', 'downloads'],
  ['events_url', 'events'],
  ['forks_url', 'forks'],
  ['git_commits_url', 'git/commits{/sha}'],
  ['git_refs_url', 'git/refs{/sha}'],
  ['git_tags_url', 'git/tags{/sha}'],
  ['hooks_url', 'hooks'],
  ['issue_comment_url', 'issues/comments{/number}'],
  ['issue_events_url', 'issues/events{/number}'],
  ['issues_url', 'issues{/number}'],
  ['keys_url', 'keys{/key_id}'],
  ['labels_url', 'labels{/name}'],
  ['languages_url', 'languages'],
  ['merges_url', 'merges'],
  ['milestones_url', 'milestones{/number}'],
  ['notifications_url', 'notifications{?since,all,participating}'],
  ['pulls_url', 'pulls{/number}'],
  ['releases_url', 'releases{/id}'],
  ['stargazers_url', 'stargazers'],
  ['statuses_url', 'statuses/{sha}'],
  ['subscribers_url', 'subscribers'],
  ['subscription_url', 'subscription'],
  ['tags_url', 'tags'],
  ['teams_url', 'teams'],
  ['trees_url', 'git/trees{/sha}'],
];
