import type { OciSpec } from './spec-types.ts';

/** A container's standard input: absent, closed when the first attached client leaves, or kept open. */
export type StdinMode = 'none' | 'once' | 'open';

export interface LaunchRequest {
  id: string;
  /** Name of the OCI runtime, as in HostConfig; one that is not configured as another is runc. */
  runtime: string;
  spec: OciSpec;
  terminal: boolean;
  stdin: StdinMode;
  /** File that the monitor appends output to (CRI format); null = keep no log. */
  logPath: string | null;
  /** Bytes that the kernel lets the monitor put into one such file, whether or not a daemon rotates it; null = any. */
  logBytesMax: number | null;
}
