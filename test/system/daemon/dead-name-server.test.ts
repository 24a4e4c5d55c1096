/** A host whose name server never answers: the C library alone would keep clients waiting for 10 seconds and more. */
import { beforeAll, expect, test } from 'vitest';
import { describeEngine, onReference } from '../../support/engine/engine.ts';

const UPLINK = 87;
const HOST = 'registry.berth.test';
const LOST = `dial tcp: lookup ${HOST}: i/o timeout`;
const HUB_LOST = 'dial tcp: lookup index.docker.io: i/o timeout';
const AUTH = { serveraddress: HOST, username: 'a', password: 'b' };

describeEngine(
  'dead name server',
  (engine) => {
    beforeAll(async () => {
      // A route to a neighbour that is none: queries leave, and nothing ever comes back.
      const { netns } = engine.daemon;
      await netns.run('ip', 'neigh', 'add', `10.${UPLINK}.0.9`, 'lladdr', '02:00:00:00:00:01', 'dev', 'eth0');
      await netns.run('ip', 'route', 'replace', 'default', 'via', `10.${UPLINK}.0.9`);
    });

    test.skipIf(onReference).each([
      ['login', 'POST', '/auth', AUTH, `Get "https://${HOST}/v2/": ${LOST}`],
      [
        'distribution',
        'GET',
        `/distribution/${HOST}/app/json`,
        undefined,
        `Get "https://${HOST}/v2/": ${LOST}`,
      ],
      ['search', 'GET', `/images/search?term=${HOST}/app`, undefined, `Get "https://${HOST}/v2/": ${LOST}`],
      ['search of Docker Hub', 'GET', '/images/search?term=app', undefined, HUB_LOST],
      [
        'distribution of Docker Hub',
        'GET',
        '/distribution/app/json',
        undefined,
        'registry-1.docker.io: i/o timeout',
      ],
    ])('%s: answers within a second, and names the host', async (_, method, path, body, message) => {
      const since = performance.now();
      const answer = await engine.http.request(method, path, { body });
      expect((answer.json as { message: string }).message).toContain(message);
      expect(answer.status).toBe(500);
      // A busy machine adds to it; the C library alone would take longer than this.
      expect(performance.now() - since).toBeLessThan(5_000);
    });
  },
  { uplink: UPLINK },
);
