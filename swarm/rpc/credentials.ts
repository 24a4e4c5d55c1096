/** Whose calls a node takes, and what it shows of itself. PEM throughout. */
export interface Credentials {
  /** What is trusted. */
  rootsPem: string;
  /** Absent while a node joins. */
  own?: {
    /** The certificate, and what certifies it. */
    certPem: string;
    keyPem: string;
    cluster: string;
  };
}
