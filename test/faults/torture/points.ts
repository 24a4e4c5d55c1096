import type { Dice } from '../storm/dice.ts';

/** Failpoints that a manager passes when a service is updated. */
const OF_MANAGERS = [
  'swarm.control.commit',
  'swarm.leader.commit',
  'swarm.leader.attach',
  'swarm.leader.elected',
  'swarm.session.open',
] as const;

/** Failpoints that any node passes when tasks and containers come and go. */
const OF_NODES = [
  'swarm.agent.networks.apply',
  'swarm.agent.networks.ask',
  'swarm.agent.session.open',
  'swarm.agent.task.file',
  'swarm.agent.task.prepare',
  'swarm.agent.task.remove',
  'swarm.agent.task.start',
  'swarm.agent.task.stop',
  'swarm.agent.task.wait',
  'network.attach.ask',
  'network.attach.given',
  'network.close.address',
  'network.close.firewall',
  'network.close.port',
  'network.connect.route',
  'network.disconnect.detach',
  'network.mesh.hold',
  'network.mesh.set',
  'network.open.files',
  'network.open.firewall',
  'network.open.port',
  'network.overlay.file',
  'network.overlay.rename',
  'tasks.prepare.create',
  'tasks.prepare.created',
  'tasks.remove',
  'tasks.start',
  'tasks.stop',
] as const;

const POINTS = [...OF_MANAGERS, ...OF_NODES];

export type Point = (typeof POINTS)[number];

export function drawPoint(dice: Dice): Point {
  return POINTS[dice.between(0, POINTS.length - 1)] ?? 'tasks.start';
}

export function isOfManagers(point: Point): boolean {
  return OF_MANAGERS.some((each) => each === point);
}
