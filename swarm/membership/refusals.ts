/** What clients are told about a node's place in a swarm, in dockerd's words. */
import { conflict, EngineError } from '../../daemon/base/errors.ts';
import { swarmRefusal } from '../refusals.ts';

const unavailable = (message: string): EngineError => new EngineError('unavailable', message);

export const refusals = {
  noSwarm: () => swarmRefusal('noSwarm'),
  worker: () => swarmRefusal('worker'),
  notReady: () => swarmRefusal('starting'),
  notPartOfSwarm: () => swarmRefusal('notPart'),
  alreadyPart: () => swarmRefusal('alreadyPart'),
  locked: () => swarmRefusal('locked'),
  expired: () => swarmRefusal('certificatesExpired'),
  joinTimeout: () =>
    unavailable(
      'Timeout was reached before node joined. The attempt to join the swarm will continue in the background. ' +
        'Use the "docker info" command to see the current swarm status of your node.',
    ),
  notLocked: () => conflict('swarm is not locked'),
  leaveLocked: () =>
    unavailable(
      'Swarm is encrypted and locked. Please unlock it first or use `--force` to ignore this message.',
    ),
  leaveManager: (managers: { reachable: number; all: number } | undefined) =>
    unavailable(
      'You are attempting to leave the swarm on a node that is participating as a manager. ' +
        consequence(managers),
    ),
} as const;

/** `managers` is undefined where this one cannot say how many there are. */
function consequence(managers: { reachable: number; all: number } | undefined): string {
  if (managers?.all === 1) {
    return 'Removing the last manager erases all current state of the swarm. Use `--force` to ignore this message. ';
  }
  const how =
    'The only way to restore a swarm that has lost consensus is to reinitialize it with `--force-new-cluster`. ' +
    'Use `--force` to suppress this message.';
  if (managers === undefined) {
    return `Doing so may lose the consensus of your cluster. ${how}`;
  }
  const { reachable, all } = managers;
  const isLost = reachable - 2 <= all - reachable;
  const lost =
    `Removing this node leaves ${reachable - 1} managers out of ${all}. ` +
    'Without a Raft quorum your swarm will be inaccessible. ';
  return (isLost ? lost : '') + how;
}
