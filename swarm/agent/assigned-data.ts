import type { AssignedData, AssignedTask, Assignments } from '../protocol/session.ts';

interface Held {
  data: Buffer;
  isTemplate: boolean;
}

/** Secrets and configs of this node's tasks, in memory alone. */
export class AssignedDataSet {
  readonly secrets = new Map<string, Held>();
  readonly configs = new Map<string, Held>();

  apply(assignments: Assignments): void {
    const { full, secrets, removedSecrets, configs, removedConfigs } = assignments;
    change(this.secrets, { full, put: secrets, removed: removedSecrets });
    change(this.configs, { full, put: configs, removed: removedConfigs });
  }

  /** Whether everything that a task names is here. */
  has({ spec }: AssignedTask): boolean {
    const { Secrets, Configs } = spec.ContainerSpec ?? {};
    return (
      (Secrets ?? []).every(({ SecretID }) => this.secrets.has(SecretID)) &&
      (Configs ?? []).every(({ ConfigID }) => this.configs.has(ConfigID))
    );
  }
}

function change(
  held: Map<string, Held>,
  { full, put, removed }: { full: boolean; put: readonly AssignedData[]; removed: readonly string[] },
): void {
  if (full) {
    held.clear();
  }
  for (const { id, data, isTemplate } of put) {
    held.set(id, { data: Buffer.from(data, 'base64'), isTemplate });
  }
  for (const id of removed) {
    held.delete(id);
  }
}
