import { EngineError } from '../daemon/base/errors.ts';

/** Why a node does not answer for a swarm, in dockerd's words: scripts look for them. */
export const SWARM_REFUSALS = {
  noSwarm:
    'This node is not a swarm manager. Use "docker swarm init" or "docker swarm join" to connect this node to swarm ' +
    'and try again.',
  worker:
    "This node is not a swarm manager. Worker nodes can't be used to view or modify cluster state. Please run this " +
    'command on a manager node or promote the current node to a manager.',
  starting:
    'This node is not a swarm manager. Manager is being prepared or has trouble connecting to the cluster.',
  notPart: 'This node is not part of a swarm',
  alreadyPart:
    'This node is already part of a swarm. Use "docker swarm leave" to leave this swarm and join another one.',
  locked:
    'Swarm is encrypted and needs to be unlocked before it can be used. Please use "docker swarm unlock" to unlock it.',
  certificatesExpired: 'Swarm certificates have expired. To replace them, leave the swarm and join again.',
} as const;

/** 503, and 406 to clients of API 1.24. */
export function swarmRefusal(why: keyof typeof SWARM_REFUSALS): EngineError {
  return new EngineError('unavailable', SWARM_REFUSALS[why]);
}
