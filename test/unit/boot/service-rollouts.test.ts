import { expect, test } from 'vitest';
import { ServiceRollouts } from '../../../daemon/boot/hub/service-rollouts.ts';

const DIGEST = `sha256:${'a'.repeat(64)}`;
const ROLLOUT = {
  service: 's1',
  name: 'web',
  template: 1,
  isRollback: false,
  state: 'pending',
  message: '',
} as const;

test.each([
  ['hub.test:5010/acme/app:v1', { tag: 'v1', digest: null }],
  [`127.0.0.1:5010/acme/app@${DIGEST}`, { tag: null, digest: DIGEST }],
  [`127.0.0.1:5010/acme/app:v1@${DIGEST}`, { tag: 'v1', digest: DIGEST }],
  ['hub.test:5010/acme/app/more:v1', undefined],
  ['hub.test:5010/app:v1', undefined],
  ['elsewhere/acme/app', undefined],
  ['busybox', undefined],
  ['', undefined],
])('a service of image %s is told to the hub with %j', async (image, named) => {
  const told: unknown[] = [];
  const rollouts = new ServiceRollouts();
  await rollouts.tell([{ ...ROLLOUT, image }]);
  expect(rollouts.wants(image)).toBe(false);
  rollouts.open({
    hosts: ['hub.test:5010', '127.0.0.1:5010'],
    deployments: { tell: (services) => Promise.resolve(void told.push(...services)) },
  });
  expect(rollouts.wants(image)).toBe(named !== undefined);
  await rollouts.tell([{ ...ROLLOUT, image }]);
  expect(told).toEqual(
    named === undefined ? [] : [{ ...ROLLOUT, owner: 'acme', repository: 'app', ...named }],
  );
});
