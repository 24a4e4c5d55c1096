import type { Issuer } from '../../ca/roots/root.ts';
import type { Cluster } from '../../cluster/cluster.ts';
import { certificateKey } from '../../objects/values.ts';
import type { Write } from '../../store/port.ts';

/** What the managers know of a node's certificate. Issuers are base64 of DER, as in the API. */
export interface CertificateRecord {
  /** Of the last one that was issued. */
  issuer: IssuerText;
  /** Milliseconds since 1970 UTC. */
  validUntil: number;
  /** The node is told to have one of this issuer. */
  renewTo?: IssuerText;
}

export interface IssuerText {
  subject: string;
  publicKey: string;
}

export function textOf({ subject, publicKey }: Issuer): IssuerText {
  return { subject: subject.toString('base64'), publicKey: publicKey.toString('base64') };
}

export function isSameText(a: IssuerText | undefined, b: IssuerText): boolean {
  return a?.subject === b.subject && a.publicKey === b.publicKey;
}

/** Undefined for a node that was never given one. */
export function readRecord(cluster: Cluster, node: string): CertificateRecord | undefined {
  const entry = cluster.value(certificateKey(node));
  // Only `recordWrite` has written it.
  return entry && (JSON.parse(entry.value.toString()) as CertificateRecord);
}

export function recordWrite(node: string, record: CertificateRecord): Write {
  return { kind: 'put', key: certificateKey(node), value: Buffer.from(JSON.stringify(record)) };
}
