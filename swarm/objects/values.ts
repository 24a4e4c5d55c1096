/** Kinds of objects whose names are unique among their kind. */
export type NamedKind = 'service' | 'secret' | 'config' | 'network';

/**
 * The key that a name is taken by; its value is the object's id. It is written with the object, on the condition that
 * it is not there (revision 0).
 */
export function nameKey(kind: NamedKind, name: string): string {
  return `name/${kind}/${Buffer.from(name).toString('base64url')}`;
}

/**
 * Keys of sealed values, which are no parts: data of secrets and configs (raw bytes), credentials of registries that a
 * service's images are pulled with (the text of `X-Registry-Auth`), and those that it had before its last update.
 */
export const sealedKey = {
  secret: (id: string): string => `secret/${id}/data`,
  config: (id: string): string => `config/${id}/data`,
  registryAuth: (service: string): string => `service/${service}/auth`,
  previousRegistryAuth: (service: string): string => `service/${service}/prev-auth`,
  /** The swarm's root, `RootState` as JSON. */
  root: (): string => 'cluster/ca',
  /** The authority of the store's own connections: `{certPem, keyPem}` as JSON. */
  storeAuthority: (): string => 'cluster/etcd-ca',
  unlockKey: (): string => 'cluster/unlock-key',
  /** Keys of encrypted overlay networks, `NetworkKeyRing` as JSON. */
  networkKeys: (): string => 'cluster/network-keys',
};

/** What a part of the engine beside the swarm keeps (`swarm/records`): JSON, sealed whatever it says. */
export function keptKey(name: string, key: string): string {
  return `${KEPT}${name}/${key}`;
}

/** Who leads what a part of the engine does with what it keeps, as long as it does. */
export function keptLeaseKey(name: string): string {
  return `lease/kept/${name}`;
}

const SEALED =
  /^(?:(?:secret|config)\/[^/]+\/data|service\/[^/]+\/(?:prev-)?auth|cluster\/(?:ca|etcd-ca|unlock-key|network-keys))$/;
/** What is kept for other parts of the engine. */
const KEPT = 'kept/';

/** Whether it is one of `sealedKey`, or `keptKey`: these are sealed anew when managers get another data key. */
export function isSealedKey(key: string): boolean {
  return SEALED.test(key) || key.startsWith(KEPT);
}

/** The id of the oldest data key that values are sealed with, as text: managers drop those before it. */
export const OLDEST_DATA_KEY = 'cluster/oldest-data-key';

/** The manager that leads, as long as it does. */
export const LEADER_KEY = 'lease/leader';

/** A manager's address for nodes and the newest data key that it has, as `{addr, dataKey}`; written by itself. */
export function managerKey(node: string): string {
  return `manager/${node}`;
}

/** Certificates of removed nodes: the node's id, until when (milliseconds since 1970 UTC) nobody takes them. */
export function blockedKey(node: string): string {
  return `blocked/${node}`;
}

/** The issuer of a node's last certificate, and whether the node shall renew it; written by managers that issue. */
export function certificateKey(node: string): string {
  return `node/${node}/cert`;
}

/** The other way round; undefined for any other key. */
export function nodeOfCertificateKey(key: string): string | undefined {
  return /^node\/([^/]+)\/cert$/.exec(key)?.[1];
}

/**
 * Written anew with every network, on the condition that it is as it was: subnets and VNIs are chosen on what a manager
 * knows, and no two of them choose at the same time. Its value: `{lastVni}` as JSON.
 */
export const NETWORK_ALLOCATION_KEY = 'allocation/network';

/** There as long as a user wants no ingress network. */
export const NO_INGRESS_KEY = 'allocation/no-ingress';

/** How often the store was taken back to an earlier state or to one member: caches list anew when it changes. */
export const EPOCH_KEY = 'cluster/epoch';
