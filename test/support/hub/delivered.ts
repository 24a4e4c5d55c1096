import { expect } from 'vitest';
import { limits } from '../../../daemon/base/limits.ts';
import { INTENTS } from '../../../daemon/hub/deliveries/intent.ts';
import type { OpenHub } from './open-hub.ts';
import type { Receiver } from './receiver.ts';

/** Once so many deliveries have come, and all of them are written down, which they are before their intents go. */
export async function delivered(
  { clock, records }: Pick<OpenHub, 'clock' | 'records'>,
  target: Receiver,
  count: number,
): Promise<void> {
  await expect.poll(() => target.received.length).toBe(count);
  await expect
    .poll(async () => {
      await clock.advance(limits.hubDeliveriesKeptMs);
      return (await records.list(INTENTS)).records;
    })
    .toEqual([]);
}
