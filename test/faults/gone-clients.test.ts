import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { describeEngine, onReference } from '../support/engine/engine.ts';
import type { Engine } from '../support/engine/engine.ts';
import { until } from '../support/engine/http.ts';
import { busyboxImageTar } from '../support/images/images.ts';
import { tar } from '../support/images/tar.ts';
import { descriptorGrowth, differences, restingDescriptors } from '../support/engine/oracle.ts';

const REPETITIONS = 50;
const IMAGE = busyboxImageTar({ tags: ['unfinished:1'], extraLayers: [[{ name: 'proof', content: 'x' }]] });
const READER = { Image: 'busybox:latest', Cmd: ['cat'], OpenStdin: true, StdinOnce: true };

const COPIED = tar([
  { name: 'one', content: '1' },
  { name: 'two', content: Buffer.alloc(300_000) },
]);

interface Departure {
  title: string;
  /** One client comes and goes. `id` is a running container. */
  visit: (engine: Engine, id: string) => Promise<void>;
}

const departures: readonly Departure[] = [
  { title: 'in the middle of load', visit: (engine) => sendHalf(engine, '/images/load') },
  {
    title: 'in the middle of import',
    visit: (engine) => sendHalf(engine, '/images/create?fromSrc=-&repo=unfinished'),
  },
  { title: 'from save', visit: (engine) => leave(engine, 'GET', '/images/busybox/get') },
  {
    title: 'in the middle of a tar that is copied into a container, which then has nothing of it',
    visit: async (engine, id) => {
      const socket = await open(engine);
      const path = `/containers/${id}/archive?path=/tmp`;
      socket.write(head('PUT', path, { type: 'application/x-tar', length: COPIED.length }));
      await new Promise((resolve) => {
        socket.write(COPIED.subarray(0, COPIED.length - 2000), resolve);
      });
      socket.destroy();
      expect((await engine.exec(id, ['ls', '/tmp'])).stdout).toBe('');
    },
  },
  {
    title: 'from a tar of everything that a container has',
    visit: (engine, id) => leave(engine, 'GET', `/containers/${id}/archive?path=/`),
  },
  { title: 'from export', visit: (engine, id) => leave(engine, 'GET', `/containers/${id}/export`) },
  {
    title: 'right after asking for a container',
    visit: async (engine) => {
      const body = JSON.stringify({ Image: 'busybox:latest', Volumes: { '/v': {} } });
      const socket = await open(engine);
      const request = head('POST', '/containers/create?name=hasty', {
        type: 'application/json',
        length: body.length,
      });
      await new Promise((resolve) => {
        socket.write(request + body, resolve);
      });
      socket.destroy();
      // It may have been made before anyone could notice; the name is free when it is not, or gone.
      await until('the name to be free', async () => {
        const { status } = await engine.http.request('DELETE', '/containers/hasty?v=1');
        const made = await engine.http.request('POST', '/containers/create?name=hasty', {
          body: { Image: 'busybox:latest' },
        });
        await engine.http.request('DELETE', '/containers/hasty?v=1');
        return [204, 404].includes(status) && made.status === 201;
      });
    },
  },
  {
    title: 'from a container that was run attached, which ends with its input',
    visit: async (engine) => {
      const body = { ...READER, HostConfig: { NetworkMode: 'none', AutoRemove: true } };
      const { Id } = await engine.http.ok<{ Id: string }>('POST', '/containers/create', body);
      const stream = await engine.http.hijack(`/containers/${Id}/attach?stream=1&stdin=1&stdout=1&stderr=1`);
      await engine.http.ok('POST', `/containers/${Id}/start`);
      stream.socket.write('hello\n');
      await stream.waitFor('hello');
      stream.socket.destroy();
      await until(
        'its removal',
        async () => (await engine.http.request('GET', `/containers/${Id}/json`)).status === 404,
      );
    },
  },
  {
    title: 'from logs -f',
    visit: (engine, id) => leave(engine, 'GET', `/containers/${id}/logs?follow=1&stdout=1`),
  },
  { title: 'from events', visit: (engine) => leave(engine, 'GET', '/events') },
  { title: 'from wait', visit: (engine, id) => leave(engine, 'POST', `/containers/${id}/wait`) },
];

describeEngine('a client that leaves', (engine) => {
  test.runIf(!onReference).each(departures)('$title, leaves nothing behind', async ({ visit }) => {
    const id = await engine.start(['sh', '-c', 'echo up; exec sleep 600']);
    // The first ones make what stays: worker threads, kept connections, code that is loaded late.
    for (let warmUp = 0; warmUp < 3; warmUp += 1) {
      await visit(engine, id);
    }
    await expect.poll(() => differences(engine.daemon)).toEqual([]);
    const before = await restingDescriptors(engine.daemon);
    const images = await engine.http.ok('GET', '/images/json');
    for (let repetition = 0; repetition < REPETITIONS; repetition += 1) {
      await visit(engine, id);
    }
    await expect.poll(() => descriptorGrowth(before, engine.daemon)).toEqual({});
    await expect.poll(() => differences(engine.daemon)).toEqual([]);
    expect(await engine.http.ok('GET', '/images/json')).toEqual(images);
    expect((await engine.list()).map(({ Id }) => Id)).toEqual([id]);
  });
});

/** Goes after half of a tarball. */
async function sendHalf(engine: Engine, path: string): Promise<void> {
  const socket = await open(engine);
  socket.write(head('POST', path, { type: 'application/x-tar', length: IMAGE.length }));
  await new Promise((resolve) => {
    socket.write(IMAGE.subarray(0, IMAGE.length / 2), resolve);
  });
  socket.destroy();
}

/** Asks, waits until the answer has begun, and goes. */
async function leave(engine: Engine, method: string, path: string): Promise<void> {
  const socket = await open(engine);
  let answer = '';
  socket.on('data', (chunk: Buffer) => {
    answer += chunk.toString();
  });
  socket.write(head(method, path, { length: 0 }));
  await until(`${path} to answer`, () => answer.includes('\r\n\r\n'));
  expect(answer).toMatch(/^HTTP\/1\.1 200 /);
  socket.destroy();
}

async function open(engine: Engine): Promise<Socket> {
  const socket = connect(engine.daemon.paths.socket);
  socket.on('error', () => {
    // It leaves first; what the daemon still says meets nobody.
  });
  await new Promise((resolve) => {
    socket.once('connect', resolve);
  });
  return socket;
}

function head(method: string, path: string, body: { type?: string; length: number }): string {
  const type = body.type === undefined ? '' : `Content-Type: ${body.type}\r\n`;
  return `${method} /v1.43${path} HTTP/1.1\r\nHost: berth\r\n${type}Content-Length: ${body.length}\r\n\r\n`;
}
