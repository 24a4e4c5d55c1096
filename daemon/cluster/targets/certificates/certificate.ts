/** What listeners of HTTPS show. Record `target-certificate/<id>`; its key lies there as the swarm's secrets do. */
export interface Certificate {
  /** A UUID. */
  id: string;
  /** PEM: that of the server, then those of its authorities. */
  certificate: string;
  key: string;
  /** Names that it is for, as the certificate has them: `DNS:shop.example, IP Address:10.0.0.1`. */
  names: string;
  subject: string;
  issuer: string;
  notBeforeMs: number;
  notAfterMs: number;
  importedMs: number;
  updatedMs: number;
}

const ARN_START = 'arn:berth:acm:local:000000000000:certificate/';

export function certificateArn(id: string): string {
  return ARN_START + id;
}

/** The id that an identifier means: an id as it is, or the last part of an ARN of ours. */
export function certificateId(identifier: string): string {
  return identifier.startsWith(ARN_START) ? identifier.slice(ARN_START.length) : identifier;
}
