import type { ContainerSpec } from '../../../../api/types/swarm/container-spec.ts';
import { rpcError } from '../../base/rpc-error.ts';

interface Reference {
  id: string;
  name: string;
  file: string | undefined;
  hasTarget: boolean;
}

/** Each reference names an object and a file, no two the same file. Throws in swarmkit's words. Pure. */
export function checkDataReferences({ Secrets: secrets, Configs: configs }: ContainerSpec): void {
  checkKind(
    'secret',
    (secrets ?? []).map((each) => ({
      id: each.SecretID,
      name: each.SecretName,
      file: each.File?.Name,
      hasTarget: each.File !== undefined,
    })),
  );
  checkKind(
    'config',
    (configs ?? []).map((each) => ({
      id: each.ConfigID,
      name: each.ConfigName,
      file: each.File?.Name,
      hasTarget: each.File !== undefined || each.Runtime !== undefined,
    })),
  );
}

function checkKind(kind: 'secret' | 'config', references: readonly Reference[]): void {
  const files = new Map<string, string>();
  for (const { id, name, file, hasTarget } of references) {
    if (!id || !name) {
      throw rpcError('InvalidArgument', `malformed ${kind} reference`);
    }
    if (!hasTarget) {
      throw rpcError('InvalidArgument', `malformed ${kind} reference, no target provided`);
    }
    if (file === '') {
      throw rpcError(
        'InvalidArgument',
        `malformed file ${kind} reference, invalid target file name provided`,
      );
    }
    const other = file === undefined ? undefined : files.get(file);
    if (other !== undefined) {
      throw rpcError(
        'InvalidArgument',
        `${kind} references '${other}' and '${name}' have a conflicting target: '${file}'`,
      );
    }
    files.set(file ?? '', name);
  }
}
