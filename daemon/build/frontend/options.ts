import type { ContainerConfig } from '../../../api/types/container.ts';
import type { HistoryEntry } from '../../../storage/image/image-config.ts';
import type { Platform } from '../../../storage/image/platform.ts';
import type { ExecOp, GitSource, HeldSource, HttpSource, LocalSource, Vertex } from '../graph/op.ts';

/** What a build is asked for, besides its Dockerfile. */
export interface BuildOptions {
  /** Name or number of a stage; `''` = the last. */
  target: string;
  args: ReadonlyMap<string, string>;
  labels: ReadonlyMap<string, string>;
  buildPlatform: Platform;
  /** Undefined: not said, so that of the build. */
  targetPlatform: Platform | undefined;
  /** One of several: names of steps tell which. */
  isMultiPlatform: boolean;
  /** Where files without `--from` come from. A local source's paths are set by what the Dockerfile copies. */
  context: LocalSource | HeldSource;
  /** Patterns of the `.dockerignore`. */
  ignorePatterns: readonly string[];
  /** `--build-context`, by the names that clients gave them. */
  contexts: ReadonlyMap<string, NamedContext>;
  /** The result is looked through, and with it what the Dockerfile says. */
  isScanned: boolean;
  /** Stages whose results are made anew. */
  noCache: 'all' | readonly string[];
  pulls: boolean;
  /** `network.host`, `security.insecure`: what the client allows. */
  entitlements: ReadonlySet<string>;
  network: ExecOp['network'];
  hostname: string;
  extraHosts: ExecOp['extraHosts'];
  shmBytes: number | undefined;
  ulimits: ExecOp['ulimits'];
  cgroupParent: string;
  /** Caches of builds in other namespaces are others. */
  cacheNamespace: string;
}

/** What stands for an image or a stage of that name. */
export type NamedContext =
  | { kind: 'image'; reference: string }
  | { kind: 'source'; op: LocalSource | GitSource | HttpSource; name: string }
  | { kind: 'layout'; layout: ImageLayout; name: string }
  /** A result of another build. */
  | {
      kind: 'result';
      tree: Vertex | undefined;
      image: BaseImage | undefined;
      /** They are no layers. */
      isFiles: boolean;
    };

/** An image in a directory of the client: which, and by which digest. */
export interface ImageLayout {
  store: string;
  digest: string;
}

/** It is here for as long as the build. */
export interface FoundLayout {
  /** Undefined: it has no layer at all. */
  tree: HeldSource | undefined;
  image: BaseImage;
}

/** An image's configuration, as far as builds take it over. */
export interface BaseImage {
  os: string;
  architecture: string;
  variant: string;
  author: string;
  config: ContainerConfig;
  /** Oldest first. */
  history: readonly HistoryEntry[];
}

export interface FoundImage extends BaseImage {
  /** With digest, where it has one: what the solver is to take. */
  reference: string;
  /** False: it has no layer at all. */
  hasLayers: boolean;
}

/** What the frontend asks while it reads. Satisfied by the image domain. */
export interface FrontendPorts {
  /** `reference` normalized, with a tag or a digest. Throws not_found, and what the registry says. */
  findImage(reference: string, platform: Platform): Promise<FoundImage>;
  /** Throws not_found, and what the client says. */
  findLayout(layout: ImageLayout, platform: Platform): Promise<FoundLayout>;
  /** Patterns of the `.dockerignore` in a directory of the client, which is the named context `name`. */
  ignoredOf(directory: string, name: string): Promise<readonly string[]>;
}
