/** What clients are told about a node's place in a swarm, in dockerd's words. */
import { conflict, EngineError } from '../../daemon/base/errors.ts';

const unavailable = (message: string): EngineError => new EngineError('unavailable', message);

export const refusals = {
  noSwarm: () =>
    unavailable(
      'This node is not a swarm manager. Use "docker swarm init" or "docker swarm join" to connect this node to ' +
        'swarm and try again.',
    ),
  worker: () =>
    unavailable(
      "This node is not a swarm manager. Worker nodes can't be used to view or modify cluster state. Please run this " +
        'command on a manager node or promote the current node to a manager.',
    ),
  /** `trouble`: what went wrong last; `''` = nothing did. */
  notReady: (trouble = '') =>
    unavailable(
      'This node is not a swarm manager. Manager is being prepared or has trouble connecting to the cluster.' +
        (trouble === '' ? '' : ` (${trouble})`),
    ),
  notPartOfSwarm: () => unavailable('This node is not part of a swarm'),
  alreadyPart: () =>
    unavailable(
      'This node is already part of a swarm. Use "docker swarm leave" to leave this swarm and ' +
        'join another one.',
    ),
  locked: () =>
    unavailable(
      'Swarm is encrypted and needs to be unlocked before it can be used. ' +
        'Please use "docker swarm unlock" to unlock it.',
    ),
  expired: () =>
    unavailable('Swarm certificates have expired. To replace them, leave the swarm and join again.'),
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
  leaveManager: (managers: ManagersThere | undefined) =>
    unavailable(
      'You are attempting to leave the swarm on a node that is participating as a manager. ' +
        consequence(managers),
    ),
} as const;

interface ManagersThere {
  reachable: number;
  all: number;
  /** What stays on this host when the last manager leaves; `''` = nothing. */
  stays: string;
}

/** `managers` is undefined where this one cannot say how many there are. */
function consequence(managers: ManagersThere | undefined): string {
  if (managers?.all === 1) {
    const { stays } = managers;
    const but = stays === '' ? '' : `, but for ${stays}, which stay on this host`;
    return (
      `Removing the last manager erases all current state of the swarm${but}. ` +
      'Use `--force` to ignore this message. '
    );
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
