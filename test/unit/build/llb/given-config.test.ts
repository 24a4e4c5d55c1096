import { expect, test } from 'vitest';
import { givenConfig } from '../../../../daemon/build/llb/given-config.ts';
import { limits } from '../../../../daemon/base/limits.ts';

const HOST = { os: 'linux', architecture: 'amd64' };
const json = (value: object): Buffer => Buffer.from(JSON.stringify(value));

test('without a configuration there is the platform, and a history of what was made', () => {
  const found = givenConfig(undefined, HOST, { steps: 2, below: 1 });
  expect(found).toMatchObject({ os: 'linux', architecture: 'amd64', config: {} });
  expect(found.history.map(({ created, emptyLayer }) => [created !== undefined, emptyLayer])).toEqual([
    [true, false],
    [false, false],
    [false, false],
  ]);
});

test('systems that nothing here runs are taken: files may be for them', () => {
  const given = json({ os: 'darwin', architecture: 'arm64' });
  expect(givenConfig(given, HOST, { steps: 0, below: 0 })).toMatchObject({
    os: 'darwin',
    architecture: 'arm64',
  });
});

test('the history that a client gives is made to fit the layers', () => {
  const history = [
    { created: '2024-01-01T00:00:00Z', created_by: 'base' },
    { created: '2024-01-02T00:00:00Z', created_by: 'none', empty_layer: true },
    { created_by: 'RUN one' },
    { created_by: 'ENV', empty_layer: true },
    { created_by: 'RUN two' },
  ];
  const given = json({ os: 'linux', architecture: 'arm64', variant: 'v8', config: { Cmd: ['x'] }, history });
  const fits = givenConfig(given, HOST, { steps: 2, below: 1 });
  expect([fits.architecture, fits.variant, fits.config.Cmd]).toEqual(['arm64', 'v8', ['x']]);
  expect(fits.history.map(({ createdBy, emptyLayer }) => [createdBy, emptyLayer])).toEqual([
    ['base', false],
    ['none', true],
    ['RUN one', false],
    ['ENV', true],
    ['RUN two', false],
  ]);
  const fewer = givenConfig(given, HOST, { steps: 1, below: 0 });
  expect(fewer.history.filter(({ emptyLayer }) => !emptyLayer).map(({ createdBy }) => createdBy)).toEqual([
    'RUN one',
  ]);
  const more = givenConfig(given, HOST, { steps: 3, below: 2 });
  expect(more.history.filter(({ emptyLayer }) => !emptyLayer)).toHaveLength(5);
});

test('what is no configuration is refused by its field', () => {
  const layers = { steps: 0, below: 0 };
  expect(() => givenConfig(Buffer.from('{'), HOST, layers)).toThrow('containerimage.config');
  expect(() => givenConfig(json({ history: 'x' }), HOST, layers)).toThrow('containerimage.config.history');
  expect(() => givenConfig(json({ config: { Cmd: 5 } }), HOST, layers)).toThrow(
    'containerimage.config.config',
  );
  const large = Buffer.alloc(limits.imageConfigBytesMax + 1, ' ');
  expect(() => givenConfig(large, HOST, layers)).toThrow('is larger than');
});
