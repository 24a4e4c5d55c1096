import type { Certificate } from './x509/certificate.ts';

/** What a node may do: the unit (OU) of its certificate, and a DNS name in it. */
export type Role = 'swarm-manager' | 'swarm-worker';

/** A name that managers alone have: under it nodes ask them for certificates. */
const AUTHORITY_NAME = 'swarm-ca';

/** The node that a certificate names: CN, OU and O of its subject. */
export interface Identity {
  node: string;
  role: Role;
  cluster: string;
}

/** Names under which a node is dialled: those of roles, as addresses change. */
export function alternativeNames({ node, role }: Identity): string[] {
  return [role, node, ...(role === 'swarm-manager' ? [AUTHORITY_NAME] : [])];
}

/** The node that a certificate names; undefined for one that is no node's. Says nothing about whether it is genuine. */
export function identityOf({ subject, isAuthority }: Certificate): Identity | undefined {
  const { commonName, unit, organization } = subject;
  const isRole = unit === 'swarm-manager' || unit === 'swarm-worker';
  return isRole && commonName !== '' && organization !== '' && !isAuthority
    ? { node: commonName, role: unit, cluster: organization }
    : undefined;
}
