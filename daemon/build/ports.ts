import type { RegistryAuth } from '../../api/types/image.ts';
import type { BuildRequest } from '../../api/types/ports.ts';
import type { Filters } from '../../api/types/requests.ts';
import type { ContextEntry } from '../images/build/context/entries.ts';
import type { BuildReport } from '../images/build/report.ts';
import type { PlacedSpool } from '../../storage/spool/placed-spool.ts';

/** Where the files of a client lie. Satisfied by `storage/spool`. */
export type ContextSpool = Pick<
  PlacedSpool,
  'fd' | 'size' | 'reserve' | 'put' | 'isFull' | 'flush' | 'read'
> &
  AsyncDisposable;

/** Files without names for what clients send. Satisfied by `storage/files`. */
export interface ContextSpools {
  placed(what: string): Promise<ContextSpool>;
}

/** What a Dockerfile is built with. */
export interface EngineJob {
  dockerfile: string;
  /** The context: contents of files are in `fd`. */
  files: ReadonlyMap<string, ContextEntry>;
  fd: number;
  /** Names, credentials and the place of the context are not looked at. */
  request: BuildRequest;
  /** Values of arguments that no client need give: those of the platforms. */
  automatic: ReadonlyMap<string, string>;
  report: BuildReport;
  auth(domain: string): Promise<RegistryAuth>;
  signal: AbortSignal;
}

/** An image that is kept from being removed until it is disposed of. */
export interface BuiltImage extends Disposable {
  id: string;
  /** Its configuration, as bytes of JSON. */
  config: Buffer;
}

/** What was made by builds and nobody needs now. */
export interface UsageRecord {
  id: string;
  bytes: number;
  createdMs: number;
  description: string;
  inUse: boolean;
}

/** Builds images of Dockerfiles. Satisfied by the image domain. */
export interface DockerfileEngine {
  /** Throws EngineError; the step that was reported last is the one that failed. */
  build(job: EngineJob): Promise<BuiltImage>;
  /** Throws invalid_argument before anything is built. */
  refuseNames(names: readonly string[]): void;
  /** Gives it names; answers them in full: `docker.io/library/app:latest`. */
  name(imageId: string, names: readonly string[]): string[];
  usage(): UsageRecord[];
  prune(filters: Filters): Promise<UsageRecord[]>;
}
