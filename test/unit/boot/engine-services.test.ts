import { expect, test } from 'vitest';
import type { ServiceInspect } from '../../../api/types/swarm/service.ts';
import { EngineServices } from '../../../daemon/boot/hub/engine-services.ts';
import { notFound } from '../../../daemon/base/errors.ts';

const DIGEST = `sha256:${'a'.repeat(64)}`;
const IMAGE = { repository: 'Acme/app', tag: 'v1', digest: DIGEST };

/** Services of which each runs an image, and what they were updated to. */
function engine(images: Record<string, string>) {
  const updates: unknown[] = [];
  const services = new EngineServices({
    hosts: ['127.0.0.1:5010', 'hub.test'],
    services: () => ({
      inspect: (name) => {
        const Image = images[name];
        if (Image === undefined) {
          return Promise.reject(notFound(`no such service: ${name}`));
        }
        const Spec = { Name: name, Labels: {}, TaskTemplate: { ContainerSpec: { Image, Env: ['A=b'] } } };
        // As much of a service as is asked for.
        return Promise.resolve({
          ID: `id of ${name}`,
          Version: { Index: 7 },
          Spec,
        } as unknown as ServiceInspect);
      },
      update: (id, spec, { version, registryAuthFrom }) => {
        updates.push([id, spec.TaskTemplate?.ContainerSpec, version, registryAuthFrom]);
        return Promise.resolve({});
      },
    }),
  });
  return { updates, push: (service: string) => services.redeploy({ service, ...IMAGE }) };
}

test.each([
  'hub.test/acme/app:v1',
  '127.0.0.1:5010/acme/app:v1',
  `hub.test/acme/app:v1@sha256:${'b'.repeat(64)}`,
])('a service that runs %s is updated by digest, and keeps the rest', async (image) => {
  const { updates, push } = engine({ web: image });
  expect(await push('web')).toContain('is updated');
  const next = `${image.split('@')[0]}@${DIGEST}`;
  expect(updates).toEqual([['id of web', { Image: next, Env: ['A=b'] }, 7, 'spec']]);
});

test.each([
  'hub.test/acme/app:v2',
  'hub.test/acme/other:v1',
  'docker.io/acme/app:v1',
  'evil.test/hub.test/acme/app:v1',
])('a service that runs %s is left alone', async (image) => {
  const { updates, push } = engine({ web: image });
  await expect(push('web')).rejects.toMatchObject({ code: 'conflict' });
  expect(updates).toEqual([]);
});

test('a service that runs it already is not updated; one that is not there is not found', async () => {
  const { updates, push } = engine({ web: `hub.test/acme/app:v1@${DIGEST}` });
  expect(await push('web')).toContain('already');
  await expect(push('other')).rejects.toMatchObject({ code: 'not_found' });
  expect(updates).toEqual([]);
});
