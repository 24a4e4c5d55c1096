import type { Dice } from '../storm/dice.ts';
import { drawPoint, type Point } from './points.ts';

/** What is done to a swarm of five, nodes 1 to 3 its managers. Nodes count from 1. */
export type Step =
  | { kind: 'kill'; node: number }
  | { kind: 'kill-store'; node: number }
  /** By kill -9, at a step of its own that the swarm's work leads to. */
  | { kind: 'die-at'; node: number; point: Point }
  /** All managers and their stores by kill -9; they start again in this order. */
  | { kind: 'managers'; order: number[]; seconds: number }
  | { kind: 'freeze'; node: number; seconds: number }
  | { kind: 'freeze-leader'; store: boolean; seconds: number }
  | { kind: 'cut'; groups: number[][]; seconds: number }
  | { kind: 'deaf'; from: number; to: number; seconds: number }
  | { kind: 'slow'; loss: number; double: number; delay: number; seconds: number }
  /** The daemon sees another time from then on, until the round ends. */
  | { kind: 'clock'; node: number; seconds: number }
  /** The host starts with an empty disk and joins anew. */
  | { kind: 'wipe'; node: number }
  | { kind: 'leave'; node: number }
  | { kind: 'scale'; service: string; count: number }
  | { kind: 'update'; service: string }
  | { kind: 'create'; service: string; count: number }
  | { kind: 'remove'; service: string }
  | { kind: 'drain'; node: number }
  /** Its tasks get another secret under the same name. */
  | { kind: 'rotate-secret' }
  | { kind: 'rotate-root' }
  /** `docker run` in the overlay network. */
  | { kind: 'box'; name: string; node: number }
  | { kind: 'unbox'; name: string };

/** Services that a round may make and remove. */
export const SPARE_SERVICES = ['spare1', 'spare2'];
/** Containers that a round may make and remove. */
export const BOXES = ['box1', 'box2', 'box3'];
export const MANAGERS = [1, 2, 3];
const NODES = 5;
/** What a session and a lease live through, and more than they do. */
const LEADER_FROZEN_SECONDS = 30;
const CLOCK_OFF_SECONDS = 3600;

/** A round: so many steps one after the other, then everything is healed and looked at. */
export function drawRound(dice: Dice): Step[] {
  return Array.from({ length: dice.between(1, 4) }, () => drawStep(dice));
}

const DRAWN: ((dice: Dice) => Step)[] = [
  (dice) => ({ kind: 'kill', node: drawNode(dice) }),
  (dice) => ({ kind: 'kill', node: drawNode(dice) }),
  (dice) => ({ kind: 'kill-store', node: dice.between(1, MANAGERS.length) }),
  (dice) => ({ kind: 'die-at', node: drawNode(dice), point: drawPoint(dice) }),
  (dice) => ({ kind: 'die-at', node: drawNode(dice), point: drawPoint(dice) }),
  (dice) => ({ kind: 'die-at', node: drawNode(dice), point: drawPoint(dice) }),
  (dice) => ({ kind: 'managers', order: dice.shuffled(MANAGERS), seconds: dice.between(5, 25) }),
  (dice) => ({ kind: 'freeze', node: drawNode(dice), seconds: drawSeconds(dice) }),
  (dice) => ({
    kind: 'freeze-leader',
    store: dice.between(0, 1) === 0,
    seconds: LEADER_FROZEN_SECONDS,
  }),
  (dice) => ({ kind: 'cut', groups: drawGroups(dice), seconds: drawSeconds(dice) }),
  (dice) => ({ kind: 'cut', groups: drawGroups(dice), seconds: drawSeconds(dice) }),
  (dice) => {
    const from = drawNode(dice);
    return { kind: 'deaf', from, to: 1 + (from % NODES), seconds: drawSeconds(dice) };
  },
  (dice) => ({
    kind: 'slow',
    loss: dice.between(0, 10) / 100,
    double: dice.between(0, 10) / 100,
    delay: dice.between(0, 20) / 100,
    seconds: drawSeconds(dice),
  }),
  (dice) => ({
    kind: 'clock',
    node: drawNode(dice),
    seconds: dice.between(0, 1) === 0 ? CLOCK_OFF_SECONDS : -CLOCK_OFF_SECONDS,
  }),
  (dice) => ({ kind: dice.between(0, 1) === 0 ? 'wipe' : 'leave', node: drawNode(dice) }),
  (dice) => ({ kind: 'scale', service: 'web', count: dice.between(1, 8) }),
  () => ({ kind: 'update', service: 'web' }),
  (dice) => ({ kind: 'create', service: drawOne(dice, SPARE_SERVICES), count: dice.between(1, 4) }),
  (dice) => ({ kind: 'remove', service: drawOne(dice, SPARE_SERVICES) }),
  (dice) => ({ kind: 'drain', node: drawNode(dice) }),
  (dice) => ({ kind: dice.between(0, 3) === 0 ? 'rotate-root' : 'rotate-secret' }),
  (dice) => ({ kind: 'box', name: drawOne(dice, BOXES), node: drawNode(dice) }),
  (dice) => ({ kind: 'unbox', name: drawOne(dice, BOXES) }),
];

function drawStep(dice: Dice): Step {
  return drawOne(dice, DRAWN)(dice);
}

function drawNode(dice: Dice): number {
  return dice.between(1, NODES);
}

function drawSeconds(dice: Dice): number {
  return dice.between(2, 25);
}

function drawOne<T>(dice: Dice, list: readonly T[]): T {
  const one = list[dice.between(0, list.length - 1)];
  if (one === undefined) {
    throw new Error('there is nothing to draw from');
  }
  return one;
}

/** The nodes in two or three groups that do not hear each other. */
function drawGroups(dice: Dice): number[][] {
  const nodes = dice.shuffled(Array.from({ length: NODES }, (_, at) => at + 1));
  const size = dice.between(1, NODES - 1);
  const rest = dice.between(size, NODES);
  return [nodes.slice(0, size), nodes.slice(size, rest), nodes.slice(rest)].filter(
    ({ length }) => length > 0,
  );
}

/** Pairs (from, to) between which nothing passes. */
export function pairsBetween(groups: readonly (readonly number[])[]): [number, number][] {
  return groups.flatMap((group) =>
    group.flatMap((from) =>
      groups
        .filter((other) => other !== group)
        .flat()
        .map((to): [number, number] => [from, to]),
    ),
  );
}

/** A step in one line. */
export function told(step: Step): string {
  return JSON.stringify(step);
}
