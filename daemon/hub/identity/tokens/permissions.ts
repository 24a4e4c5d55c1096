import type { InvalidField } from '../../../base/invalid-fields.ts';

/** What fine-grained tokens and apps may be given for repositories, and at which levels (GitHub: permissions). */
const LEVELS = {
  metadata: ['read'],
  administration: ['read', 'write'],
  contents: ['read', 'write'],
  packages: ['read', 'write'],
  repository_hooks: ['read', 'write'],
  deployments: ['read', 'write'],
} as const satisfies Record<string, readonly Level[]>;

export type Permission = keyof typeof LEVELS;

const PERMISSIONS = Object.keys(LEVELS).filter(isPermission);

export type Level = 'read' | 'write';
export type Permissions = Partial<Record<Permission, Level>>;

/** Whether permissions suffice. Whoever has any of a repository may read its metadata. */
export function hasPermission(permissions: Permissions, needed: Permission, level: Level): boolean {
  const given = permissions[needed] ?? (needed === 'metadata' ? 'read' : undefined);
  return given === 'write' || given === level;
}

/** Whether some permissions go beyond others; answers the names of those that do. */
export function beyond(asked: Permissions, given: Permissions): Permission[] {
  return PERMISSIONS.filter((name) => {
    const level = asked[name];
    return level !== undefined && !hasPermission(given, name, level);
  });
}

/** The permissions of a request. Answers what is wrong with them instead, by field. */
export function readPermissions(
  given: Readonly<Record<string, string>>,
  resource = 'Token',
): {
  permissions: Permissions;
  problems: InvalidField[];
} {
  const permissions: Permissions = { metadata: 'read' };
  const problems: InvalidField[] = [];
  for (const [name, level] of Object.entries(given)) {
    const levels: readonly string[] | undefined = isPermission(name) ? LEVELS[name] : undefined;
    if (isPermission(name) && (level === 'read' || level === 'write') && levels?.includes(level) === true) {
      permissions[name] = level;
    } else {
      problems.push({
        resource,
        field: `permissions.${name}`,
        code: 'invalid',
        message: `must be ${levels?.join(' or ') ?? `of ${Object.keys(LEVELS).join(', ')}`}`,
        value: level,
      });
    }
  }
  return { permissions, problems };
}

function isPermission(name: string): name is Permission {
  return Object.hasOwn(LEVELS, name);
}
