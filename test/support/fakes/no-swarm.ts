import { notFound } from '../../../daemon/base/errors.ts';
import type { SwarmAccess } from '../../../daemon/networks/sandbox/swarm-attachments.ts';

/** Of a host that is in no swarm. */
export const noSwarm: SwarmAccess = {
  attach: ({ network }) => Promise.reject(notFound(`network ${network} not found`)),
  detach: () => Promise.resolve(),
  find: () => undefined,
};
