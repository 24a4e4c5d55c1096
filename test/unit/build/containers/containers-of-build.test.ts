import { expect, test } from 'vitest';
import { ContainersOfBuild } from '../../../../daemon/build/containers/containers-of-build.ts';
import type { GatewayContainer } from '../../../../daemon/build/containers/gateway-container.ts';

const { signal } = new AbortController();

/** One that waits for something for ever: a cache that another build has, say. */
function waiting(released: AbortSignal): Promise<GatewayContainer> {
  return new Promise((_resolve, reject) => {
    // Of ours.
    released.addEventListener('abort', () => reject(released.reason as Error));
  });
}

test('a container that is not made yet holds up neither its release nor the end of its build', async () => {
  const containers = new ContainersOfBuild();
  const first = containers.add('a', waiting, signal);
  await Promise.all([expect(first).rejects.toThrow('the container is released'), containers.release('a')]);
  const second = containers.add('a', waiting, signal);
  await Promise.all([expect(second).rejects.toThrow('the container is released'), containers.end()]);
});

test('who does not wait until it is made any more leaves its name', async () => {
  const containers = new ContainersOfBuild();
  const stop = new AbortController();
  const given = containers.add('a', waiting, stop.signal);
  stop.abort(new Error('the client has gone'));
  await expect(given).rejects.toThrow('the client has gone');
  const again = containers.add('a', waiting, signal);
  await Promise.all([expect(again).rejects.toThrow('the container is released'), containers.end()]);
});
