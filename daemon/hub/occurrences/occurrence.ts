import type { RecordChange } from '../records/port.ts';
import type { Repository } from '../repositories/repository.ts';

/** Something that has happened to a repository, of which webhooks tell. */
export type Occurrence = { atMs: number; actor: Actor } & Happening;

export type Happening =
  /** Created: `before` is null; deleted: `after` is null. A tag that is put where it was is none. */
  | {
      kind: 'tag';
      repository: Repository;
      tag: string;
      before: ManifestSummary | null;
      after: ManifestSummary | null;
    }
  | { kind: 'manifest-deleted'; repository: Repository; manifest: ManifestSummary }
  /** `tag`: as it was asked for; null = by digest. */
  | { kind: 'pulled'; repository: Repository; manifest: ManifestSummary; tag: string | null }
  /** `repository`: as it is afterwards, or as it was when it was deleted. */
  | {
      kind: 'repository';
      action: 'created' | 'deleted' | 'edited' | 'privatized' | 'publicized';
      repository: Repository;
    }
  | { kind: 'note'; action: 'created' | 'edited' | 'deleted'; repository: Repository; note: NoteSummary }
  | { kind: 'deployment'; repository: Repository; deployment: Deployment }
  | { kind: 'deployment-status'; repository: Repository; deployment: Deployment; status: DeploymentStatus };

/** Who did it. */
export type Actor =
  | { kind: 'user'; id: number; name: string }
  | { kind: 'application'; id: number; name: string }
  | { kind: 'root' }
  | { kind: 'anonymous' };

/** What is told of a manifest. */
export interface ManifestSummary {
  /** `sha256:...` */
  digest: string;
  mediaType: string;
  /** Of the manifest itself, in bytes. */
  size: number;
  /** OCI: of what is no image; null = an image. */
  artifactType: string | null;
  /** Of the image's configuration. */
  labels: Readonly<Record<string, string>>;
  /** Null = an index. */
  config: Descriptor | null;
  layers: readonly Descriptor[];
}

/** What is told of a note. */
export interface NoteSummary {
  id: number;
  /** Of its manifest. */
  digest: string;
  /** Digest of what it is about; null = the repository as a whole. */
  subject: string | null;
  title: string | null;
  metadata: Readonly<Record<string, unknown>>;
}

export interface Descriptor {
  digest: string;
  mediaType: string;
  size: number;
}

/** An image of the repository that goes to a service of the engine. */
export interface Deployment {
  /** Of the hub, counted up. */
  id: number;
  /** Name of the service. */
  service: string;
  digest: string;
  tag: string | null;
  createdMs: number;
}

export interface DeploymentStatus {
  /** Of the hub, counted up. */
  id: number;
  state: DeploymentState;
  /** 140 characters at most. */
  description: string;
}

/** GitHub: states of `deployment_status`. */
export type DeploymentState = 'pending' | 'in_progress' | 'success' | 'failure' | 'error' | 'inactive';

/** Where what has happened is left, to be sent to those who asked for it. */
export interface Outbox {
  /**
   * Changes of records, to be made in the same update as what happened: with them its deliveries are sent, also after a
   * kill -9. Called inside of `Mirror.change`; empty = nobody asked for it.
   */
  intents(occurrence: Occurrence): readonly RecordChange[];
}
