/** What a scope is granted for, from the broadest to the narrowest: owner, repository, tag. Users stand apart. */
export const GROUPS = ['user', 'organization', 'database', 'branch'] as const;

/** The seed's words (seed 002 A): a database is a repository here, a branch is a tag. */
export type Group = (typeof GROUPS)[number];

/** What can be done by a scope with what it is granted for. */
export const RIGHTS = [
  'read-user',
  'read-organization',
  'create',
  'see',
  'pull',
  'push',
  'delete-images',
  'see-collaborators',
  'read-hooks',
  'write-hooks',
  'remove-hooks',
  'edit',
  'remove',
] as const;

export type Right = (typeof RIGHTS)[number];

export interface ScopeFacts {
  rights: readonly Right[];
  /** For the page of consent, behind "May": a sentence's end. */
  text: string;
}

const READ: ScopeFacts = { rights: ['see', 'pull'], text: 'pull images' };
const WRITE: ScopeFacts = { rights: ['see', 'pull', 'push'], text: 'pull and push images: move tags' };
const DELETE: ScopeFacts = { rights: ['see', 'pull', 'delete-images'], text: 'delete images and tags' };

const OF_REPOSITORIES: Readonly<Record<string, ScopeFacts>> = {
  read_branches: READ,
  write_branches: WRITE,
  delete_branches: DELETE,
  read_webhooks: { rights: ['see', 'read-hooks'], text: 'see webhooks and their deliveries' },
  write_webhooks: { rights: ['see', 'read-hooks', 'write-hooks'], text: 'make and change webhooks' },
  delete_webhooks: { rights: ['see', 'read-hooks', 'remove-hooks'], text: 'remove webhooks' },
};

/** Accesses to an organization's applications and tokens: of service tokens alone, no user can grant them. */
const OF_SERVICES: Readonly<Record<string, ScopeFacts>> = {
  read_oauth_applications: { rights: [], text: 'see OAuth applications' },
  write_oauth_applications: { rights: [], text: 'make OAuth applications' },
  delete_oauth_applications: { rights: [], text: 'remove OAuth applications' },
  read_oauth_tokens: { rights: [], text: 'see tokens of OAuth applications' },
  write_oauth_tokens: { rights: [], text: 'exchange codes and refresh tokens for OAuth applications' },
  delete_oauth_tokens: { rights: [], text: 'revoke tokens of OAuth applications' },
  read_service_tokens: { rights: [], text: 'see service tokens' },
  write_service_tokens: { rights: [], text: 'make service tokens' },
  delete_service_tokens: { rights: [], text: 'revoke service tokens' },
};

const TABLE: Readonly<Record<Group, Readonly<Record<string, ScopeFacts>>>> = {
  user: { read_user: { rights: ['read-user'], text: 'see your name and your mail address' } },
  organization: {
    read_organization: { rights: ['read-organization'], text: 'see the members' },
    read_databases: { rights: ['see'], text: 'see repositories, private ones too' },
    create_databases: { rights: ['see', 'create'], text: 'make repositories' },
    write_databases: { rights: ['see', 'see-collaborators', 'edit'], text: 'change repositories' },
    delete_databases: { rights: ['see', 'remove'], text: 'delete repositories' },
    ...OF_REPOSITORIES,
  },
  database: {
    read_database: { rights: ['see'], text: 'see the repository' },
    write_database: { rights: ['see', 'see-collaborators', 'edit'], text: 'change the repository' },
    delete_database: { rights: ['see', 'remove'], text: 'delete the repository' },
    ...OF_REPOSITORIES,
  },
  branch: { read_branch: READ, write_branch: WRITE, delete_branch: DELETE },
};

/** What an application asks for that names nothing: to know its user, and to pull and push. */
export const USUAL_SCOPES: ScopesByGroup = {
  user: ['read_user'],
  organization: ['read_organization', 'read_databases', 'read_branches', 'write_branches'],
};

export type ScopesByGroup = Readonly<Partial<Record<Group, readonly string[]>>>;

/** What a scope of a group may; undefined = there is none of that name. */
export function scopeFacts(group: Group, name: string): ScopeFacts | undefined {
  const scopes = TABLE[group];
  return Object.hasOwn(scopes, name) ? scopes[name] : undefined;
}

/** What an access of a service token may: scopes of organizations, and those that only it has. */
export function accessFacts(name: string): ScopeFacts | undefined {
  return Object.hasOwn(OF_SERVICES, name) ? OF_SERVICES[name] : scopeFacts('organization', name);
}

/** Names that an application can ask for, by group. */
export const SCOPE_NAMES: Readonly<Record<Group, readonly string[]>> = {
  user: Object.keys(TABLE.user),
  organization: Object.keys(TABLE.organization),
  database: Object.keys(TABLE.database),
  branch: Object.keys(TABLE.branch),
};

/** Names that a service token can have. */
export const ACCESS_NAMES: readonly string[] = [...SCOPE_NAMES.organization, ...Object.keys(OF_SERVICES)];

/** Our own words for the seed's: `write_tags` is `write_branches`. What is neither is answered as it is. */
export function canonicalScope(group: Group, name: string): string {
  const seeds = name
    .replace(/repositories$/, 'databases')
    .replace(/repository$/, 'database')
    .replace(/tags$/, 'branches')
    .replace(/tag$/, 'branch');
  // The seed's example names `write_branches` for every group; of one branch upstream says `write_branch`.
  return group === 'branch' ? seeds.replace(/branches$/, 'branch') : seeds;
}

/** The scopes that give a right, of the broadest group that has any. */
export function scopesWith(right: Right): string[] {
  const group = GROUPS.find((one) =>
    SCOPE_NAMES[one].some((name) => TABLE[one][name]?.rights.includes(right)),
  );
  return group === undefined
    ? []
    : SCOPE_NAMES[group].filter((name) => TABLE[group][name]?.rights.includes(right) === true);
}
