import type { Dice } from '../storm/dice.ts';

/** What is done to a swarm of five, nodes 1 to 3 its managers. Nodes count from 1. */
export type Step =
  | { kind: 'kill'; node: number }
  | { kind: 'kill-store'; node: number }
  | { kind: 'freeze'; node: number; seconds: number }
  | { kind: 'cut'; groups: number[][]; seconds: number }
  | { kind: 'deaf'; from: number; to: number; seconds: number }
  | { kind: 'slow'; loss: number; double: number; delay: number; seconds: number }
  | { kind: 'scale'; service: string; count: number }
  | { kind: 'update'; service: string }
  | { kind: 'create'; service: string; count: number }
  | { kind: 'remove'; service: string }
  | { kind: 'drain'; node: number };

/** Services that a round may make and remove. */
export const SPARE_SERVICES = ['spare1', 'spare2'];
const NODES = 5;
const MANAGERS = 3;

/** A round: so many steps one after the other, then everything is healed and looked at. */
export function drawRound(dice: Dice): Step[] {
  return Array.from({ length: dice.between(1, 4) }, () => drawStep(dice));
}

function drawStep(dice: Dice): Step {
  const node = dice.between(1, NODES);
  const seconds = dice.between(2, 25);
  const spare = SPARE_SERVICES[dice.between(0, SPARE_SERVICES.length - 1)] ?? '';
  switch (dice.between(0, 10)) {
    case 0:
    case 1:
      return { kind: 'kill', node };
    case 2:
      return { kind: 'kill-store', node: dice.between(1, MANAGERS) };
    case 3:
      return { kind: 'freeze', node, seconds };
    case 4:
      return { kind: 'cut', groups: drawGroups(dice), seconds };
    case 5:
      return { kind: 'deaf', from: node, to: 1 + (node % NODES), seconds };
    case 6:
      return {
        kind: 'slow',
        loss: dice.between(0, 10) / 100,
        double: dice.between(0, 10) / 100,
        delay: dice.between(0, 20) / 100,
        seconds,
      };
    case 7:
      return { kind: 'scale', service: 'web', count: dice.between(1, 8) };
    case 8:
      return { kind: 'update', service: 'web' };
    case 9:
      return dice.between(0, 1) === 0
        ? { kind: 'create', service: spare, count: dice.between(1, 4) }
        : { kind: 'remove', service: spare };
    default:
      return { kind: 'drain', node };
  }
}

/** The nodes in two groups that do not hear each other. */
function drawGroups(dice: Dice): number[][] {
  const nodes = dice.shuffled(Array.from({ length: NODES }, (_, at) => at + 1));
  const size = dice.between(1, NODES - 1);
  return [nodes.slice(0, size), nodes.slice(size)];
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
