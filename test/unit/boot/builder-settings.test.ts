import { expect, test } from 'vitest';
import { loadConfig, type Config } from '../../../daemon/boot/config/config.ts';
import { readFlags } from '../../../daemon/boot/config/flags.ts';

const GIB = 1024 ** 3;

function load(builder: unknown, args: readonly string[] = []): Config {
  return loadConfig({
    commandLine: readFlags(args),
    environment: {},
    readFile: () => (builder === undefined ? undefined : JSON.stringify({ builder })),
  });
}

test('without settings: dockerd 28 policy, and builds may ask for the network of the host alone', () => {
  const { gc, entitlements } = load(undefined).builder;
  expect(gc).toMatchObject({ isEnabled: true, rules: undefined });
  expect([...entitlements]).toEqual(['network.host', 'device']);
});

test.each([
  [
    { gc: { enabled: false, defaultKeepStorage: '20GB' } },
    { isEnabled: false, defaults: { reservedBytes: 20 * GIB, usedBytesMax: 0, freeBytesMin: 0 } },
  ],
  [
    { gc: { defaultReservedSpace: '1GB', defaultMaxUsedSpace: '2GB', defaultMinFreeSpace: '3GB' } },
    {
      isEnabled: true,
      defaults: { reservedBytes: GIB, usedBytesMax: 2 * GIB, freeBytesMin: 3 * GIB },
      rules: undefined,
    },
  ],
  [
    {
      gc: {
        policy: [
          { keepStorage: '512MB', filter: ['unused-for=48h'] },
          { reservedSpace: '1GB', maxUsedSpace: '2GB', minFreeSpace: '3GB', all: true },
        ],
      },
    },
    {
      rules: [
        {
          reservedBytes: GIB / 2,
          usedBytesMax: 0,
          freeBytesMin: 0,
          isAll: false,
          filters: ['unused-for=48h'],
        },
        { reservedBytes: GIB, usedBytesMax: 2 * GIB, freeBytesMin: 3 * GIB, isAll: true, filters: [] },
      ],
    },
  ],
  // As Go's programs write it.
  [
    { GC: { Enabled: true, Policy: [{ All: true, KeepStorage: '1GB', Filter: [] }] } },
    { rules: [{ isAll: true, reservedBytes: GIB }] },
  ],
])('gc of daemon.json: %j', (builder, expected) => {
  expect(load(builder).builder.gc).toMatchObject(expected);
});

test('the same by a flag, and what builds may ask for', () => {
  const { builder } = load(undefined, [
    '--builder',
    '{"entitlements":{"network-host":false,"device":false}}',
  ]);
  expect([...builder.entitlements]).toEqual([]);
  const insecure = load({ entitlements: { 'security-insecure': true } });
  expect([...insecure.builder.entitlements]).toEqual(['network.host', 'security.insecure', 'device']);
});

test.each([
  [undefined, 50, 48 * 3600],
  [{}, 50, 48 * 3600],
  [{ maxAge: '90m', maxEntries: 3 }, 3, 5400],
  [{ maxAge: 60 }, 50, 60],
  [{ maxAge: '60' }, 50, 60],
])('history of daemon.json: %j keeps %d builds, or those of %d seconds', (history, entriesMin, seconds) => {
  expect(load({ history }).builder.history).toEqual({ entriesMin, ageMs: seconds * 1000 });
});

test.each([
  [{ gc: { keepStorage: '1GB' } }, 'must NOT have additional properties'],
  [{ gc: { defaultKeepStorage: 'much' } }, 'defaultKeepStorage'],
  [{ gc: { policy: [{ filters: [] }] } }, 'gc.policy.0'],
  [{ gc: { policy: [{ filter: ['colour=red'] }] } }, "builder.gc.policy: invalid filter 'colour'"],
  [
    { gc: { policy: [{ keepStorage: '1GB', reservedSpace: '1GB' }] } },
    'keepStorage is the older name of reservedSpace',
  ],
  [{ entitlements: { devices: true } }, 'must NOT have additional properties'],
  [{ history: { maxAge: 'old' } }, 'builder.history: maxAge old is no duration'],
  [{ history: { maxEntries: -1 } }, 'history.maxEntries'],
  [{ history: { size: 1 } }, 'must NOT have additional properties'],
])('a builder of daemon.json is refused: %j', (builder, problem) => {
  expect(() => load(builder)).toThrow(problem);
});
