import { EngineError, notFound } from '../../base/errors.ts';
import type { AskedDevice, ExecOp } from '../graph/op.ts';
import type { OpDeps } from './ports.ts';

/** Full names of the devices that a command gets. Throws not_found, and forbidden for one that was not allowed. */
export function devicesOf(
  { devices }: Pick<OpDeps, 'devices'>,
  { devices: asked = [] }: Pick<ExecOp, 'devices'>,
  warn: (text: string) => void,
): string[] {
  const names = asked.flatMap((each) => {
    const found = devices.find(each.name);
    if (found.length === 0) {
      refuseRequired(each);
      warn(`[Warning] no device ${each.name} is described on this host: the command runs without it\n`);
    }
    const refused = each.isAllowed ? undefined : found.find(({ isAutoAllowed }) => !isAutoAllowed);
    if (refused !== undefined) {
      throw new EngineError(
        'forbidden',
        `RUN --device=${each.name} is not allowed: the build lacks the entitlement device=${refused.name}`,
      );
    }
    return found.map(({ name }) => name);
  });
  return [...new Set(names)];
}

function refuseRequired({ name, isRequired }: AskedDevice): void {
  if (isRequired) {
    throw notFound(`required device ${name} is not described on this host`);
  }
}
