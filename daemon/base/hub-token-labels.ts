import { invalidArgument } from './errors.ts';

/** A container with this label is given a token of the hub for a repository, `OWNER/REPOSITORY`. */
export const HUB_TOKEN_LABEL = 'berth.hub.token';
/** What that token may: `packages:write,repository_hooks:read`. Without it `packages:read`. */
export const HUB_PERMISSIONS_LABEL = 'berth.hub.permissions';

/** What a container asks of the hub by its labels. */
export interface HubTokenRequest {
  owner: string;
  repository: string;
  /** By the hub's names; `read` or `write`. */
  permissions: Readonly<Record<string, string>>;
}

const NAME = /^([^/]+)\/([^/]+)$/;
const PERMISSION = /^([a-z_]+):(read|write)$/;

/** Undefined = asks for none. Throws invalid_argument that names label and value. Pure. */
export function readHubTokenLabels(labels: Readonly<Record<string, string>>): HubTokenRequest | undefined {
  const name = labels[HUB_TOKEN_LABEL];
  const permissions = labels[HUB_PERMISSIONS_LABEL];
  if (name === undefined) {
    if (permissions !== undefined) {
      throw labelError(HUB_PERMISSIONS_LABEL, permissions, `is of no use without ${HUB_TOKEN_LABEL}`);
    }
    return undefined;
  }
  const [, owner, repository] = NAME.exec(name) ?? [];
  if (owner === undefined || repository === undefined) {
    throw labelError(HUB_TOKEN_LABEL, name, 'must be OWNER/REPOSITORY');
  }
  return { owner, repository, permissions: readPermissions(permissions ?? 'packages:read') };
}

function readPermissions(text: string): Record<string, string> {
  const entries = text.split(',').map((part): [string, string] => {
    const [, name, level] = PERMISSION.exec(part.trim()) ?? [];
    if (name === undefined || level === undefined) {
      throw labelError(HUB_PERMISSIONS_LABEL, text, 'must be NAME:read or NAME:write, with commas between');
    }
    return [name, level];
  });
  const permissions = Object.fromEntries(entries);
  if (Object.keys(permissions).length < entries.length) {
    throw labelError(HUB_PERMISSIONS_LABEL, text, 'has a name twice');
  }
  return permissions;
}

export function labelError(label: string, value: string, problem: string): Error {
  return invalidArgument(`label ${label}=${value}: ${problem}`);
}
