import { describe, expect, test } from 'vitest';
import type { ContainerCreateRequest } from '../../../../api/types/container.ts';
import type { HostConfig } from '../../../../api/types/host-config.ts';
import { containerCreateSchema } from '../../../../api/schemas/container-create.ts';
import { containerUpdateSchema, execCreateSchema, execStartSchema } from '../../../../api/schemas/others.ts';
import type { Schema } from '../../../../api/schemas/schema.ts';
import { describeEngine, onReference } from '../../../support/engine/engine.ts';
import { differences } from '../../../support/engine/oracle.ts';
import { wrongConfigs, wrongHosts } from '../../../unit/containers/request/wrong-requests.ts';
import { leavesOf } from './schema-leaves.ts';

/** Of no type but the wrong one. */
function wrongValues({ type }: Schema): unknown[] {
  switch (type) {
    case 'string':
      return [{ wrong: 1 }, ['a', 'b'], true];
    case 'integer':
      return ['a lot', {}, 1.5, true, 2 ** 53 + 2, 1e300];
    case 'number':
      return ['a lot', {}, true];
    case 'boolean':
      return ['maybe', 7, {}];
    case 'array':
      return [7, true, [{ a: 1 }], { a: 1 }];
    case 'object':
    default:
      return [7, 'text', true];
  }
}

const LONG = 'x'.repeat(100_000);
const HOSTILE = [
  '__proto__',
  'constructor',
  'toString',
  '4294967296',
  '-1',
  '0x10',
  '../../etc',
  'a\0b',
  LONG,
  '🐋',
  '\n',
  ' ',
];

describe.skipIf(onReference)('wrong values over HTTP', () => {
  describeEngine('wrong values', (engine) => {
    const post = async (path: string, body: unknown): Promise<{ status: number; text: string }> => {
      const { status, text } = await engine.http.request('POST', path, { body });
      return { status, text };
    };
    const create = (body: object): ReturnType<typeof post> =>
      post('/containers/create?name=victim', { Image: 'busybox:latest', Cmd: ['true'], ...body });
    const nothingLeft = async (): Promise<void> => {
      expect(await engine.list()).toEqual([]);
      // Files of removed containers are deleted behind the answer.
      await expect.poll(() => differences(engine.daemon)).toEqual([]);
    };

    test('create: every field of a wrong type is a 400 that names field and value', async () => {
      const wrong: string[] = [];
      for (const { path, schema, wrap } of leavesOf(containerCreateSchema)) {
        for (const value of wrongValues(schema)) {
          const { status, text } = await create(wrap(value) as object);
          const name = path.split('.').at(-1) ?? path;
          const isNamed = text.includes(name) && text.includes(' got ');
          if (status !== 400 || !isNamed) {
            wrong.push(`${path} = ${JSON.stringify(value)}: ${status} ${text.slice(0, 200)}`);
          }
        }
      }
      expect(wrong).toEqual([]);
      await nothingLeft();
    });

    test('exec: every field of a wrong type is a 400 that names field and value', async () => {
      const id = await engine.start(['sleep', '1000']);
      const wrong: string[] = [];
      for (const { path, schema, wrap } of leavesOf(execCreateSchema)) {
        for (const value of wrongValues(schema)) {
          const body = { Cmd: ['true'], ...(wrap(value) as object) };
          const { status, text } = await post(`/containers/${id}/exec`, body);
          if (status !== 400 || !text.includes(path)) {
            wrong.push(`${path} = ${JSON.stringify(value)}: ${status} ${text.slice(0, 200)}`);
          }
        }
      }
      const { Id } = await engine.http.ok<{ Id: string }>('POST', `/containers/${id}/exec`, {
        Cmd: ['true'],
      });
      for (const { path, schema, wrap } of leavesOf(execStartSchema)) {
        for (const value of wrongValues(schema)) {
          const { status, text } = await post(`/exec/${Id}/start`, wrap(value));
          if (status !== 400 || !text.includes(path)) {
            wrong.push(`start.${path} = ${JSON.stringify(value)}: ${status} ${text.slice(0, 200)}`);
          }
        }
      }
      expect(wrong).toEqual([]);
    });

    test('update: every field of a wrong type or value is a 400 that names field and value', async () => {
      const id = await engine.create(['true'], {}, {}, 'subject');
      const before = (await engine.inspect(id)).HostConfig;
      const bodies: [string, unknown][] = leavesOf(containerUpdateSchema).flatMap(({ path, schema, wrap }) =>
        wrongValues(schema).map((value): [string, unknown] => [path.split('.').at(-1) ?? path, wrap(value)]),
      );
      for (const [host] of wrongHosts) {
        const names = Object.keys(host);
        if (names.every((name) => Object.hasOwn(containerUpdateSchema.properties ?? {}, name))) {
          bodies.push([names[0] ?? '', host]);
        }
      }
      const wrong: string[] = [];
      for (const [name, body] of bodies) {
        const { status, text } = await post(`/containers/${id}/update`, body);
        const isDropped = status === 200 && !text.includes('"Warnings":[]');
        if (!isDropped && (status !== 400 || !text.includes(name))) {
          wrong.push(`${JSON.stringify(body).slice(0, 200)}: ${status} ${text.slice(0, 200)}`);
        }
      }
      expect(wrong).toEqual([]);
      expect((await engine.inspect(id)).HostConfig).toEqual(before);
      await engine.remove(id);
    });

    test('create: every wrong value is a 400 that names a field of it', async () => {
      const neighbour = await engine.create(['true'], {}, {}, 'neighbour');
      const wrong: string[] = [];
      const requests = [
        ...wrongConfigs.map(([body]) => body),
        ...wrongHosts.map(([HostConfig]) => ({ HostConfig })),
      ];
      for (const body of requests) {
        const { status, text } = await create(body);
        const names = Object.entries(body).flatMap(([name, value]) =>
          name === 'HostConfig' ? Object.keys(value ?? {}) : [name],
        );
        // What this kernel does not have is dropped with a warning, and created.
        const isDropped = status === 201 && !text.includes('"Warnings":[]');
        if (status === 201) {
          await engine.remove('victim');
        }
        if (!isDropped && (status !== 400 || !names.some((name) => text.includes(name)))) {
          wrong.push(`${JSON.stringify(body).slice(0, 200)}: ${status} ${text.slice(0, 200)}`);
        }
      }
      expect(wrong).toEqual([]);
      await engine.remove(neighbour);
      await nothingLeft();
    });

    test.each<[string, ContainerCreateRequest, HostConfig]>([
      ['a:b:c', { User: 'a:b:c' }, {}],
      ['99999999999', { User: '99999999999' }, {}],
      ['nogroup9', { User: '0:nogroup9' }, {}],
      ['nope9', {}, { GroupAdd: ['nope9'] }],
      ['/nope', { Cmd: ['/nope'] }, {}],
      ['/nope', {}, { Devices: [{ PathOnHost: '/nope' }] }],
      ['net/core/nope', {}, { Sysctls: { 'net.core.nope': '1' } }],
      ['net/core/somaxconn', {}, { Sysctls: { 'net.core.somaxconn': 'many' } }],
      ['/etc/passwd', {}, { Binds: ['/etc/passwd:/bin'] }],
      ['/nope', {}, { BlkioDeviceReadBps: [{ Path: '/nope', Rate: 1 }] }],
      ['/dev/null', {}, { BlkioDeviceReadBps: [{ Path: '/dev/null', Rate: 1 }] }],
    ])(
      'start: names %s, which only it can judge, and leaves the container as it was',
      async (name, more, host) => {
        const id = await engine.create(['sleep', '1000'], host, more);
        const { BlkioDeviceReadBps: limits } = (await engine.inspect(id)).HostConfig;
        if (limits?.length === 0 && host.BlkioDeviceReadBps !== undefined) {
          // Dropped with a warning: this kernel limits no disks.
          return;
        }
        const { status, text } = await post(`/containers/${id}/start`, undefined);
        expect([status, text]).toEqual([400, expect.stringContaining(name)]);
        expect((await engine.inspect(id)).State.Status).toBe('created');
      },
    );

    test('create: hostile text in any field is refused or taken literally, and never a 500', async () => {
      const wrong: string[] = [];
      for (const { path, schema, wrap } of leavesOf(containerCreateSchema)) {
        for (const text of HOSTILE) {
          const value = hostile(schema, text);
          if (value === undefined) {
            continue;
          }
          const answer = await create(wrap(value) as object);
          if (answer.status === 201) {
            await engine.remove('victim');
          } else if (answer.status !== 400 && answer.status !== 404) {
            wrong.push(
              `${path} = ${JSON.stringify(value).slice(0, 50)}: ${answer.status} ${answer.text.slice(0, 200)}`,
            );
          }
        }
      }
      expect(wrong).toEqual([]);
      await engine.removeAll();
      await nothingLeft();
    });

    test('create: numbers at the edge of what a field holds are refused or taken, and never a 500', async () => {
      const wrong: string[] = [];
      const numbers = [-1, 0, 1, 65_536, 2 ** 31, 2 ** 32, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER];
      for (const { path, schema, wrap } of leavesOf(containerCreateSchema)) {
        for (const value of schema.type === 'integer' ? numbers : []) {
          const answer = await create(wrap(value) as object);
          if (answer.status === 201) {
            await engine.remove('victim');
          } else if (answer.status !== 400) {
            wrong.push(`${path} = ${value}: ${answer.status} ${answer.text.slice(0, 200)}`);
          }
        }
      }
      expect(wrong).toEqual([]);
      await nothingLeft();
    });

    test.each(['__proto__', 'constructor', '4294967296', 'a\0b', LONG, '../x', 'ä'])(
      'create: name %# harms nobody',
      async (name) => {
        const path = `/containers/create?name=${encodeURIComponent(name)}`;
        const { status, text } = await post(path, { Image: 'busybox', Cmd: ['true'] });
        // 431 is the HTTP parser's, for an address that is too long.
        expect([201, 400, 431], text).toContain(status);
        await engine.removeAll();
        await nothingLeft();
      },
    );
  });
});

/** The text where the field takes any: as itself, in a list, as key and value of a map. */
function hostile({ type, items, additionalProperties: values }: Schema, text: string): unknown {
  if (type === 'string') {
    return text;
  }
  if (type === 'array') {
    return items?.type === 'string' ? [text] : undefined;
  }
  return type === 'object'
    ? JSON.parse(`{${JSON.stringify(text)}: ${values?.type === 'string' ? '"x"' : '{}'}}`)
    : undefined;
}
