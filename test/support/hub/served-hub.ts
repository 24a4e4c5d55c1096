import type { HubPagesPort } from '../../../api/types/hub/pages.ts';
import type { RateRules } from '../../../daemon/hub/limits/rules.ts';
import { ManualClock } from '../fakes/manual-clock.ts';
import { peopledHub, type HubParts, type OpenHub } from './open-hub.ts';
import { serveHub, type ServedHub } from './serve-hub.ts';

/** A hub with people in it, behind its listener. */
export async function servedHub(
  rules: Partial<RateRules> = {},
  clock = new ManualClock(),
  pagesOf: (pages: HubPagesPort) => HubPagesPort = (pages) => pages,
  parts: HubParts = {},
): Promise<Omit<OpenHub, keyof Disposable> & ServedHub> {
  const open = await peopledHub(rules, clock, {}, 0, parts);
  const server = await serveHub(open, pagesOf(open.hub.pages));
  return {
    ...open,
    ...server,
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]();
      open[Symbol.dispose]();
    },
  };
}
