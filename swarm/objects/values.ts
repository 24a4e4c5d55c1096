const PREFIX = '/berth/1/';

/** Kinds of objects whose names are unique among their kind. */
export type NamedKind = 'service' | 'secret' | 'config' | 'network';

/**
 * The key that a name is taken by; its value is the object's id. It is written with the object, on the condition that
 * it is not there (revision 0).
 */
export function nameKey(kind: NamedKind, name: string): string {
  return `${PREFIX}name/${kind}/${Buffer.from(name).toString('base64url')}`;
}

/**
 * Keys of sealed values, which are no parts: data of secrets and configs (raw bytes), credentials of registries that a
 * service's images are pulled with (the text of `X-Registry-Auth`), and those that it had before its last update.
 */
export const sealedKey = {
  secret: (id: string): string => `${PREFIX}secret/${id}/data`,
  config: (id: string): string => `${PREFIX}config/${id}/data`,
  registryAuth: (service: string): string => `${PREFIX}service/${service}/auth`,
  previousRegistryAuth: (service: string): string => `${PREFIX}service/${service}/prev-auth`,
  /** The swarm's root, `RootState` as JSON. */
  root: (): string => `${PREFIX}cluster/ca`,
  /** The authority of the store's own connections: `{certPem, keyPem}` as JSON. */
  storeAuthority: (): string => `${PREFIX}cluster/etcd-ca`,
  unlockKey: (): string => `${PREFIX}cluster/unlock-key`,
};

/** The manager that leads, as long as it does. */
export const LEADER_KEY = `${PREFIX}lease/leader`;

/** A manager's address for nodes, as `{addr}`; written by itself. */
export function managerKey(node: string): string {
  return `${PREFIX}manager/${node}`;
}

/** Certificates of removed nodes: the node's id, until when (milliseconds since 1970 UTC) nobody takes them. */
export function blockedKey(node: string): string {
  return `${PREFIX}blocked/${node}`;
}
