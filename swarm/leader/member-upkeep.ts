import type { Clock } from '../../daemon/base/clock.ts';
import { pause } from '../../daemon/base/concurrency/pause.ts';
import { errorText } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import { isWorthDefragmenting } from '../store/upkeep.ts';

/** Each manager has its own of these intervals, so that never two members are deaf at a time. */
const TURN_MS = 60_000;
const TURNS_MIN = 5;

/** This manager's own member of the store. */
export interface StoreMember {
  sizes(): Promise<{ fileBytes: number; usedBytes: number }>;
  /** Whether it takes no writes for want of room. */
  isFull(): Promise<boolean>;
  /** The member is deaf meanwhile: 0.4 s for 20 MB, 2.9 s for 227 MB. */
  defragment(): Promise<void>;
  /** Writes are taken again. */
  disarm(): Promise<void>;
}

interface Deps {
  clock: Clock;
  logger: Logger;
  member: StoreMember;
  /** This manager's place among all of them, from 0, and how many there are. */
  turn(): { place: number; of: number };
}

/** Gives freed room of the own member's file back to the disk, when much of it is free or none is left. */
export function startMemberUpkeep(deps: Deps): AsyncDisposable {
  const ended = new AbortController();
  const loop = run(deps, ended.signal);
  return {
    [Symbol.asyncDispose]: async () => {
      ended.abort();
      await loop;
    },
  };
}

/** Never rejects. */
async function run(deps: Deps, signal: AbortSignal): Promise<void> {
  const { clock, logger, member } = deps;
  while (!signal.aborted) {
    await pause(clock, untilTurnMs(clock, deps.turn()), signal);
    if (signal.aborted) {
      return;
    }
    try {
      await keepUp(member);
    } catch (error) {
      logger.warn({ error: errorText(error) }, 'the own member of the store could not be defragmented');
    }
  }
}

async function keepUp(member: StoreMember): Promise<void> {
  const isFull = await member.isFull();
  if (isFull || isWorthDefragmenting(await member.sizes())) {
    failpoint('swarm.store.defragment');
    await member.defragment();
  }
  if (isFull) {
    await member.disarm();
  }
}

/** By the wall clock, which managers share well enough. The middle of the own interval. */
function untilTurnMs(clock: Clock, { place, of }: { place: number; of: number }): number {
  const round = Math.max(of, TURNS_MIN) * TURN_MS;
  const at = (place + 0.5) * TURN_MS;
  const now = Number(clock.nowNano() / 1_000_000n) % round;
  return now < at ? at - now : round - now + at;
}
