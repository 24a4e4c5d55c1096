import type { HubRepository } from '../../../api/types/hub/repository.ts';
import type { Repository } from '../repositories/repository.ts';
import { simpleUser } from './account-view.ts';
import type { Addresses } from './addresses.ts';
import { nodeId } from './node-id.ts';
import { timeText } from './times.ts';

/** What GitHub's schema demands and image repositories have not. */
const WITHOUT = {
  fork: false,
  default_branch: 'latest',
  forks: 0,
  forks_count: 0,
  has_issues: false,
  has_projects: false,
  has_wiki: false,
  has_pages: false,
  has_downloads: false,
  has_discussions: false,
  homepage: null,
  language: null,
  archived: false,
  disabled: false,
  mirror_url: null,
  open_issues: 0,
  open_issues_count: 0,
  license: null,
  stargazers_count: 0,
  watchers: 0,
  watchers_count: 0,
  network_count: 0,
  subscribers_count: 0,
} as const;

export function repositoryView(
  repository: Repository,
  permissions: HubRepository['permissions'],
  addresses: Addresses,
): HubRepository {
  const { owner, name, isPrivate } = repository;
  const fullName = `${owner.name}/${name}`;
  return {
    ...WITHOUT,
    ...addresses.repository(fullName),
    id: repository.id,
    node_id: nodeId('Repository', repository.id),
    name,
    full_name: fullName,
    owner: simpleUser(owner, addresses),
    private: isPrivate,
    visibility: isPrivate ? 'private' : 'public',
    html_url: `${addresses.base}/${fullName}`,
    description: repository.description,
    fork: false,
    url: `${addresses.base}/repos/${fullName}`,
    size: 0,
    created_at: timeText(repository.createdMs),
    updated_at: timeText(repository.updatedMs),
    pushed_at: timeText(repository.createdMs),
    permissions,
  };
}
