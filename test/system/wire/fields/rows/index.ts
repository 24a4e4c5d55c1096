import type { FieldRow } from '../table.ts';
import { identityRows } from './identity.ts';
import { lifecycleRows } from './lifecycle.ts';
import { mountRows } from './mounts.ts';
import { namespaceRows } from './namespaces.ts';
import { networkRows } from './network.ts';
import { processRows } from './process.ts';
import { resourceRows } from './resources.ts';
import { securityRows } from './security.ts';

/** Every observation of a field of create, by theme. */
export const themes = {
  identity: [...identityRows, ...processRows],
  mounts: mountRows,
  resources: resourceRows,
  sandbox: [...namespaceRows, ...securityRows],
  life: [...networkRows, ...lifecycleRows],
} satisfies Record<string, readonly FieldRow[]>;

export const createRows: readonly FieldRow[] = Object.values(themes).flat();
