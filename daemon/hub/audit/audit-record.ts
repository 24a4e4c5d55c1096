import { unreachable } from '../../base/errors.ts';
import type { Actor, Occurrence } from '../occurrences/occurrence.ts';
import { occurrenceId } from '../occurrences/occurrence-id.ts';

/** That something was done, and by whom, for root's eyes. Records `audit/<id>`. */
export interface AuditRecord {
  /** By which all that tells of it calls it: webhooks, events of the cluster and of the engine. */
  id: string;
  atMs: number;
  /** `engine`: itself, or whoever opened its socket, which is root. */
  actor: Actor | { kind: 'engine' };
  /** The words of events of the cluster: `Pushed`, `Failed`. */
  action: string;
  target: {
    /** `Repository`, `Container`. */
    kind: string;
    id: string;
    name: string;
    /** Whoever may look at events of the cluster may not know its name. */
    isPrivate?: boolean;
  };
  details: Readonly<Record<string, string>>;
}

const REPOSITORY_ACTIONS = {
  created: 'RepositoryCreated',
  deleted: 'RepositoryDeleted',
  edited: 'RepositoryEdited',
  privatized: 'RepositoryPrivatized',
  publicized: 'RepositoryPublicized',
} as const;

const NOTE_ACTIONS = { created: 'NoteCreated', edited: 'NoteEdited', deleted: 'NoteDeleted' } as const;

/** Undefined: it changes nothing (pulls). Pure. */
export function auditRecordOf(occurrence: Occurrence): AuditRecord | undefined {
  const told = toldOf(occurrence);
  if (told === undefined) {
    return undefined;
  }
  const { atMs, actor, repository } = occurrence;
  const { owner, name, id, isPrivate } = repository;
  const target = { kind: 'Repository', id: String(id), name: `${owner.name}/${name}`, isPrivate };
  return { id: occurrenceId(occurrence), atMs, actor, target, ...told };
}

function toldOf(occurrence: Occurrence): Pick<AuditRecord, 'action' | 'details'> | undefined {
  switch (occurrence.kind) {
    case 'tag': {
      const { tag, before, after } = occurrence;
      return {
        action: after === null ? 'TagDeleted' : 'Pushed',
        details: {
          tag,
          ...(before !== null && { before: before.digest }),
          ...(after !== null && { after: after.digest }),
        },
      };
    }
    case 'manifest-deleted':
      return { action: 'ManifestDeleted', details: { digest: occurrence.manifest.digest } };
    case 'pulled':
      return undefined;
    case 'repository':
      return { action: REPOSITORY_ACTIONS[occurrence.action], details: {} };
    case 'note': {
      const { id, digest } = occurrence.note;
      return { action: NOTE_ACTIONS[occurrence.action], details: { note: String(id), digest } };
    }
    case 'deployment':
      return { action: 'DeploymentCreated', details: deploymentDetails(occurrence.deployment) };
    case 'deployment-status': {
      const { deployment, status } = occurrence;
      return {
        action: 'DeploymentStatus',
        details: { ...deploymentDetails(deployment), state: status.state },
      };
    }
    default:
      return unreachable(occurrence);
  }
}

function deploymentDetails({ id, service, digest }: { id: number; service: string; digest: string }) {
  return { deployment: String(id), service, digest };
}
