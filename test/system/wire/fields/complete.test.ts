import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { containerCreateSchema } from '../../../../api/schemas/container-create.ts';
import { execCreateSchema, execStartSchema } from '../../../../api/schemas/others.ts';
import type { Schema } from '../../../../api/schemas/schema.ts';
import { createRows } from './rows/index.ts';
import { execRows } from './rows/exec.ts';
import { leavesOf } from './schema-leaves.ts';

/** Fields whose observation stands in a test of their own. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  'NetworkingConfig.EndpointsConfig.IPAMConfig.IPv4Address': 'test/system/wire/fields/endpoints.test.ts',
  'NetworkingConfig.EndpointsConfig.IPAMConfig.IPv6Address': 'test/system/wire/fields/endpoints.test.ts',
  'NetworkingConfig.EndpointsConfig.IPAMConfig.LinkLocalIPs': 'test/system/wire/fields/endpoints.test.ts',
  'NetworkingConfig.EndpointsConfig.DriverOpts': 'test/system/wire/fields/endpoints.test.ts',
  'NetworkingConfig.EndpointsConfig.GwPriority': 'test/system/wire/fields/endpoints.test.ts',
  'NetworkingConfig.EndpointsConfig.Aliases': 'test/system/networks/name-service.test.ts',
  'NetworkingConfig.EndpointsConfig.Links': 'test/system/networks/name-service.test.ts',
  'Healthcheck.Test': 'test/system/containers/health.test.ts',
  'Healthcheck.Interval': 'test/system/containers/health.test.ts',
  'Healthcheck.Timeout': 'test/system/containers/health.test.ts',
  'Healthcheck.StartPeriod': 'test/system/containers/health.test.ts',
  'Healthcheck.StartInterval': 'test/system/containers/health.test.ts',
  'Healthcheck.Retries': 'test/system/containers/health.test.ts',
  // Of clients before 1.52.
  MacAddress: 'test/system/wire/versions-today.test.ts',
  'HostConfig.Links': 'test/system/wire/fields/links.test.ts',
  'HostConfig.DeviceRequests.Driver': 'test/system/containers/described-devices.test.ts',
  'HostConfig.DeviceRequests.Count': 'test/system/containers/described-devices.test.ts',
  'HostConfig.DeviceRequests.DeviceIDs': 'test/system/containers/described-devices.test.ts',
  'HostConfig.DeviceRequests.Capabilities': 'test/system/containers/described-devices.test.ts',
  'HostConfig.CgroupParent': 'test/system/limits/cgroup-parent.test.ts',
};

const ANSWER = 'an answer of the engine, which clients send back and which is made anew at each start';
const WINDOWS = 'of Windows; refused as dockerd does: a promise about disks that is not kept';

/** Fields without a row: refused with a 400 that names them, or nothing that could have an effect. */
const WITHOUT_ROW: Readonly<Record<string, string>> = {
  'HostConfig.Cgroup': 'refused: dockerd takes it and does nothing with it',
  'HostConfig.DeviceRequests.Options': 'refused: no device here takes options',
  'HostConfig.IOMaximumIOps': WINDOWS,
  'HostConfig.IOMaximumBandwidth': WINDOWS,
  'HostConfig.StorageOpt': 'needs project quotas: test/vm/quotas.test.ts; refused without',
  'NetworkingConfig.EndpointsConfig.NetworkID': ANSWER,
  'NetworkingConfig.EndpointsConfig.EndpointID': ANSWER,
  'NetworkingConfig.EndpointsConfig.Gateway': ANSWER,
  'NetworkingConfig.EndpointsConfig.IPAddress': ANSWER,
  'NetworkingConfig.EndpointsConfig.IPPrefixLen': ANSWER,
  'NetworkingConfig.EndpointsConfig.IPv6Gateway': ANSWER,
  'NetworkingConfig.EndpointsConfig.GlobalIPv6Address': ANSWER,
  'NetworkingConfig.EndpointsConfig.GlobalIPv6PrefixLen': ANSWER,
  'NetworkingConfig.EndpointsConfig.DNSNames': ANSWER,
};

function leaves(schema: Schema): string[] {
  return leavesOf(schema).map(({ path }) => path);
}

function shown(rows: readonly { field: string | readonly string[] }[]): string[] {
  return rows.flatMap(({ field }) => field);
}

test('every field of create has a row, or a reason why not', () => {
  const known = new Set([...shown(createRows), ...Object.keys(ELSEWHERE), ...Object.keys(WITHOUT_ROW)]);
  expect(leaves(containerCreateSchema).filter((field) => !known.has(field))).toEqual([]);
});

test('no row and no reason is about a field that there is not', () => {
  const fields = new Set(leaves(containerCreateSchema));
  const known = [...shown(createRows), ...Object.keys(ELSEWHERE), ...Object.keys(WITHOUT_ROW)];
  expect(known.filter((field) => !fields.has(field))).toEqual([]);
});

test('no field has both a row and a reason why it has none', () => {
  expect(shown(createRows).filter((field) => field in ELSEWHERE || field in WITHOUT_ROW)).toEqual([]);
});

test('the tests that show fields elsewhere exist', () => {
  expect(Object.values(ELSEWHERE).filter((file) => !existsSync(file))).toEqual([]);
});

test('every field of exec has a row', () => {
  const fields = [...leaves(execCreateSchema), ...leaves(execStartSchema).map((field) => `start.${field}`)];
  expect(fields.toSorted()).toEqual([...new Set(shown(execRows))].toSorted());
});
