import { createHash } from 'node:crypto';
import { hasOccurrence, OCCURRENCE, occurrenceOf } from '../../../base/occurrence.ts';
import type { ObjectReference } from '../../../../api/types/cluster/events.ts';
import type { EventMessage } from '../../../../api/types/system.ts';
import type { Happening } from './happening.ts';
import { namespaceOf } from './namespace.ts';

type Attributes = Readonly<Record<string, string>>;

/** How one kind of event of the engine is told: `Started`, `Start`, `container web was started`. */
interface Told {
  reason: string;
  action: string;
  text: string;
  isWarning?: boolean;
}

/** By type and action; all others are not told: they would flood, or tell nothing. */
const TOLD: Readonly<Record<string, Told>> = {
  'container create': { reason: 'Created', action: 'Create', text: 'was created' },
  'container start': { reason: 'Started', action: 'Start', text: 'was started' },
  'container restart': { reason: 'Restarted', action: 'Restart', text: 'was started again' },
  'container kill': { reason: 'Killing', action: 'Kill', text: 'was sent a signal' },
  'container pause': { reason: 'Paused', action: 'Pause', text: 'was paused' },
  'container unpause': { reason: 'Resumed', action: 'Unpause', text: 'goes on' },
  'container oom': { reason: 'OOMKilling', action: 'Kill', text: 'had no memory left', isWarning: true },
  'container destroy': { reason: 'Removed', action: 'Remove', text: 'was removed' },
  'container rename': { reason: 'Renamed', action: 'Rename', text: 'has another name' },
  'container health_status: healthy': { reason: 'Healthy', action: 'Probe', text: 'is healthy' },
  'container health_status: unhealthy': {
    reason: 'Unhealthy',
    action: 'Probe',
    text: 'is not healthy',
    isWarning: true,
  },
  'image pull': { reason: 'Pulled', action: 'Pull', text: 'was pulled' },
  'image push': { reason: 'Pushed', action: 'Push', text: 'was pushed' },
  'image delete': { reason: 'Deleted', action: 'Delete', text: 'was deleted' },
  'image load': { reason: 'Loaded', action: 'Load', text: 'was loaded' },
  'network create': { reason: 'NetworkCreated', action: 'Create', text: 'was created' },
  'network destroy': { reason: 'NetworkRemoved', action: 'Remove', text: 'was removed' },
  'network connect': { reason: 'NetworkConnected', action: 'Connect', text: 'was connected' },
  'network disconnect': { reason: 'NetworkDisconnected', action: 'Disconnect', text: 'was disconnected' },
  'volume create': { reason: 'VolumeCreated', action: 'Create', text: 'was created' },
  'volume mount': { reason: 'VolumeMounted', action: 'Mount', text: 'was mounted' },
  'volume unmount': { reason: 'VolumeUnmounted', action: 'Unmount', text: 'was unmounted' },
  'volume destroy': { reason: 'VolumeRemoved', action: 'Remove', text: 'was removed' },
  'service create': { reason: 'ServiceCreated', action: 'Create', text: 'was created' },
  'service update': { reason: 'ServiceUpdated', action: 'Update', text: 'was updated' },
  'service remove': { reason: 'ServiceRemoved', action: 'Remove', text: 'was removed' },
  'node create': { reason: 'NodeJoined', action: 'Join', text: 'has joined' },
  'node update': { reason: 'NodeUpdated', action: 'Update', text: 'was updated' },
  'node remove': { reason: 'NodeRemoved', action: 'Remove', text: 'was removed' },
  'secret create': { reason: 'SecretCreated', action: 'Create', text: 'was created' },
  'secret update': { reason: 'SecretUpdated', action: 'Update', text: 'was updated' },
  'secret remove': { reason: 'SecretRemoved', action: 'Remove', text: 'was removed' },
  'config create': { reason: 'ConfigCreated', action: 'Create', text: 'was created' },
  'config update': { reason: 'ConfigUpdated', action: 'Update', text: 'was updated' },
  'config remove': { reason: 'ConfigRemoved', action: 'Remove', text: 'was removed' },
};

const PARTS: Readonly<Record<string, string>> = {
  container: 'runtime',
  image: 'images',
  network: 'networks',
  volume: 'volumes',
};

export const STACK_LABEL = 'com.docker.stack.namespace';

/** What an event of the engine is to the cluster; undefined = it is not told. Pure. */
export function happeningOf({ Type, Action, Actor, scope, timeNano }: EventMessage): Happening | undefined {
  const { ID: id, Attributes: attributes } = Actor;
  const told = toldOf(`${Type} ${Action}`, attributes);
  if (told === undefined || id === '') {
    return undefined;
  }
  const { reason, action, text, isWarning = false } = told;
  const namespace = namespaceOf(attributes[STACK_LABEL]);
  const agreed = scope === 'swarm' ? onceOf(`${Type} ${id}`, Action, reason, attributes) : {};
  const given = hasOccurrence(Type, Action) ? attributes[OCCURRENCE] : undefined;
  // A node that has just joined has said nothing of itself.
  const name = attributes['name'] || id;
  const related = relatedOf(Type, attributes);
  return {
    atNano: timeNano,
    ...agreed,
    id: given ?? occurrenceOf(Type, Action, id, agreed.once ?? String(timeNano)),
    namespace,
    regarding: { kind: kindOf(Type), namespace, name, uid: id, apiVersion: 'engine/v1.44' },
    ...(related && { related }),
    type: isWarning ? 'Warning' : 'Normal',
    reason,
    action,
    note: `${Type} ${name} ${text}`,
    part: PARTS[Type] ?? 'swarm',
  };
}

function toldOf(name: string, attributes: Attributes): Told | undefined {
  if (name === 'container die') {
    const code = attributes['exitCode'] ?? '';
    return code === '0'
      ? { reason: 'Completed', action: 'Exit', text: 'has ended' }
      : { reason: 'Failed', action: 'Exit', text: `has ended with code ${code}`, isWarning: true };
  }
  if (name === 'node update') {
    return nodeTold(attributes) ?? TOLD[name];
  }
  if (name === 'service update') {
    return updateTold(attributes['updatestate.new']) ?? scaleTold(attributes) ?? TOLD[name];
  }
  return Object.hasOwn(TOLD, name) ? TOLD[name] : undefined;
}

/** What the managers observe of a node; undefined = somebody has changed it. */
function nodeTold(attributes: Attributes): Told | undefined {
  const state = attributes['state.new'];
  const role = attributes['role.new'];
  const reachability = attributes['reachability.new'];
  if (state !== undefined) {
    return state === 'ready'
      ? { reason: 'NodeReady', action: 'Watch', text: 'is ready' }
      : { reason: 'NodeDown', action: 'Watch', text: `is ${state}`, isWarning: true };
  }
  if (attributes['leader.new'] === 'true') {
    return { reason: 'LeaderElected', action: 'Elect', text: 'leads the managers' };
  }
  if (attributes['leader.new'] === 'false') {
    return { reason: 'LeaderReplaced', action: 'Elect', text: 'does not lead the managers any more' };
  }
  if (role !== undefined) {
    return role === 'manager'
      ? { reason: 'NodePromoted', action: 'Promote', text: 'is a manager' }
      : { reason: 'NodeDemoted', action: 'Demote', text: 'is a worker' };
  }
  if (reachability !== undefined) {
    return reachability === 'reachable'
      ? { reason: 'ManagerReachable', action: 'Watch', text: 'is reached by the other managers' }
      : { reason: 'ManagerUnreachable', action: 'Watch', text: `is ${reachability}`, isWarning: true };
  }
  return undefined;
}

const UPDATES: Readonly<Record<string, Told>> = {
  updating: { reason: 'UpdateStarted', action: 'Update', text: 'is being updated' },
  completed: { reason: 'UpdateCompleted', action: 'Update', text: 'has been updated' },
  paused: { reason: 'UpdatePaused', action: 'Update', text: 'waits: its update has failed', isWarning: true },
  rollback_started: {
    reason: 'RollbackStarted',
    action: 'Rollback',
    text: 'is taken back to what it was',
    isWarning: true,
  },
  rollback_paused: {
    reason: 'RollbackPaused',
    action: 'Rollback',
    text: 'waits: taking it back has failed',
    isWarning: true,
  },
  rollback_completed: { reason: 'RollbackCompleted', action: 'Rollback', text: 'is what it was before' },
};

function scaleTold(attributes: Attributes): Told | undefined {
  const [old, now] = [attributes['replicas.old'], attributes['replicas.new']];
  if (old === undefined || now === undefined) {
    return undefined;
  }
  const isMore = Number(now) > Number(old);
  const text = `has ${now} replicas in place of ${old}`;
  return { reason: isMore ? 'ScaledUp' : 'ScaledDown', action: 'Scale', text };
}

function updateTold(state: string | undefined): Told | undefined {
  return state !== undefined && Object.hasOwn(UPDATES, state) ? UPDATES[state] : undefined;
}

/** What nobody but the managers changes: each of them notes it at a time of its own. */
const OBSERVED = ['state', 'leader', 'role', 'reachability', 'updatestate'];

/** The name of what all managers tell; undefined where they agree on its time, which is that of a user's change. */
function onceOf(
  object: string,
  action: string,
  reason: string,
  attributes: Attributes,
): Pick<Happening, 'once' | 'mayRepeat'> {
  if (action === 'remove') {
    return { once: digestOf(`${object} ${action}`) };
  }
  // Some hear of several changes at once, and others of one after the other.
  return OBSERVED.some((fact) => attributes[`${fact}.new`] !== undefined)
    ? { once: digestOf(`${object} ${reason}`), mayRepeat: true }
    : {};
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

function relatedOf(type: string, attributes: Attributes): ObjectReference | undefined {
  const container = attributes['container'];
  return type !== 'container' && container !== undefined ? { kind: 'Container', uid: container } : undefined;
}

function kindOf(type: string): string {
  return type.charAt(0).toUpperCase() + type.slice(1);
}
