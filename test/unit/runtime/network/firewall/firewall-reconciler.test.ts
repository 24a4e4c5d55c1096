import { describe, expect, it } from 'vitest';
import { silentLogger } from '../../../../../daemon/base/logger.ts';
import { FirewallReconciler } from '../../../../../runtime/network/firewall/firewall-reconciler.ts';
import { ManualClock } from '../../../../support/fakes/manual-clock.ts';

/** A kernel that tells of changes as it does, and a clock on which a look takes `lookMs`. */
function rig(options: { lookMs?: number; deaf?: boolean; mend?: () => void } = {}) {
  const clock = new ManualClock();
  const looks: number[] = [];
  let time = 0;
  let isListening = false;
  let hasNews = false;
  let tell: (() => void) | undefined;
  const hear = (): void => {
    if (isListening && hasNews) {
      isListening = false;
      hasNews = false;
      tell?.();
    }
  };
  const keeper = new FirewallReconciler({
    mend: () => {
      looks.push(clock.monotonicMs());
      time += options.lookMs ?? 0;
      options.mend?.();
    },
    watch: (changed) => {
      if (options.deaf === true) {
        throw new Error('no such group');
      }
      tell = changed;
      return {
        listen: () => {
          isListening = true;
          hear();
        },
        [Symbol.dispose]: () => {
          isListening = false;
        },
      };
    },
    clock: {
      nowNano: () => clock.nowNano(),
      monotonicMs: () => clock.monotonicMs() + time,
      setTimeout: (callback, delayMs) => clock.setTimeout(callback, delayMs),
    },
    log: silentLogger,
  });
  const change = (): void => {
    hasNews = true;
    hear();
  };
  return { keeper, clock, looks, change };
}

describe('FirewallKeeper', () => {
  it('looks at once after a quiet time', () => {
    const { looks, change } = rig();
    change();
    expect(looks).toEqual([0]);
  });

  it('looks at changes that come while it rests once, when it has rested', async () => {
    const { clock, looks, change } = rig();
    for (let count = 0; count < 100; count += 1) {
      change();
    }
    await clock.advance(1000);
    expect(looks).toEqual([0, 10]);
  });

  it.each([
    [0, 101],
    [4, 28],
    [40, 3],
    [1000, 3],
  ])(
    'under an endless stream of changes looks that take %i ms come %i times a second',
    async (lookMs, most) => {
      const { clock, looks, change } = rig({ lookMs });
      for (let at = 0; at < 1000; at += 1) {
        change();
        await clock.advance(1);
      }
      expect(looks.length).toBe(most);
    },
  );

  it('looks by itself when it hears nothing', async () => {
    const { clock, looks } = rig();
    await clock.advance(10_000);
    expect(looks).toEqual([5000, 10_000]);
  });

  it('looks twice a second where the kernel does not tell, and after a look that failed', async () => {
    const deaf = rig({ deaf: true });
    await deaf.clock.advance(1000);
    expect(deaf.looks).toEqual([500, 1000]);
    let failures = 2;
    const failing = rig({
      mend: () => {
        if (failures > 0) {
          failures -= 1;
          throw new Error('EBUSY');
        }
      },
    });
    failing.change();
    await failing.clock.advance(6000);
    expect(failing.looks).toEqual([0, 500, 1000, 6000]);
  });

  it('is silent once it is disposed of', async () => {
    const { keeper, clock, looks, change } = rig();
    change();
    keeper[Symbol.dispose]();
    change();
    await clock.advance(10_000);
    expect(looks).toEqual([0]);
  });
});
