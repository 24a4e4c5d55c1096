import type {
  ConfigPort,
  NodePort,
  SecretPort,
  ServicePort,
  SwarmPort,
  TaskPort,
} from '../../../api/types/swarm/ports.ts';
import { notImplemented } from '../../../daemon/base/errors.ts';
import { refusals } from '../../../swarm/membership/refusals.ts';

const refuse = (): Promise<never> => Promise.reject(refusals.noSwarm());
const refuseAsNoPart = (): Promise<never> => Promise.reject(refusals.notPartOfSwarm());
const notYet = (what: string) => (): Promise<never> =>
  Promise.reject(notImplemented(`${what} is not supported yet`));

/** A manager's objects where there is no manager. */
export const noManager = {
  nodes: { list: refuse, inspect: refuse, update: refuse, remove: refuse } satisfies NodePort,
  services: {
    list: refuse,
    inspect: refuse,
    create: refuse,
    update: refuse,
    remove: refuse,
    logs: refuse,
  } satisfies ServicePort,
  tasks: { list: refuse, inspect: refuse, logs: refuse } satisfies TaskPort,
  secrets: {
    list: refuse,
    inspect: refuse,
    create: refuse,
    update: refuse,
    remove: refuse,
  } satisfies SecretPort,
  configs: {
    list: refuse,
    inspect: refuse,
    create: refuse,
    update: refuse,
    remove: refuse,
  } satisfies ConfigPort,
};

/** A node that is in no swarm. */
export const noSwarm: SwarmPort = {
  role: 'inactive',
  info: () =>
    Promise.resolve({
      NodeID: '',
      NodeAddr: '',
      LocalNodeState: 'inactive',
      ControlAvailable: false,
      Error: '',
      RemoteManagers: null,
    }),
  init: notYet('initialising a swarm'),
  join: notYet('joining a swarm'),
  leave: refuseAsNoPart,
  unlock: refuse,
  unlockKey: refuse,
  inspect: refuse,
  update: refuse,
  ...noManager,
};
