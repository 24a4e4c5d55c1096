import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/engine/http.ts';
import { TestNetns } from '../../support/engine/netns.ts';
import { FaultyLan } from '../../support/swarm/hosts/faulty-lan.ts';

const PAGES = path.resolve(import.meta.dirname, '../../support/swarm/hosts/pages.py');

const lan = new FaultyLan('1');
const hosts = [new TestNetns(`btn${process.pid}-a`), new TestNetns(`btn${process.pid}-b`)] as const;
const [asking, answering] = hosts;
let addr = '';
const servers = ['echo', 'serve'].map((verb) => {
  const [file, ...args] = answering.enter('python3', PAGES, verb, '7000');
  return spawn(file, args, { stdio: 'ignore' });
});

beforeAll(async () => {
  await lan.attach(asking);
  addr = await lan.attach(answering);
  await until('the servers to listen', async () => {
    const answers = await Promise.all([
      ask('shout', addr, '7000', '1'),
      ask('ask', `http://${addr}:7000/`, '1'),
    ]);
    return answers.every((answer) => failed(answer) === 0);
  });
});

afterAll(async () => {
  for (const server of servers) {
    const ended = once(server, 'close');
    server.kill('SIGKILL');
    await ended;
  }
  await lan[Symbol.asyncDispose]();
  hosts.forEach((host) => host[Symbol.dispose]());
});

const ask = async (...words: string[]): Promise<string> =>
  (await asking.run('python3', PAGES, ...words)).trim();
const failed = (text: string): number => text.split('\n').filter((line) => line.startsWith('failed')).length;

test('the switch of fault tests: passes everything when nothing was said', async () => {
  expect(failed(await ask('shout', addr, '7000', '50'))).toBe(0);
  expect(failed(await ask('ask', `http://${addr}:7000/`, '20'))).toBe(0);
});

test('the switch of fault tests: TCP gets through loss, doubles and a delay', async () => {
  await lan.set({ loss: 0.05, double: 0.1, delay: 0.02 });
  expect(failed(await ask('ask', `http://${addr}:7000/`, '5'))).toBe(0);
  await lan.heal();
});

test('the switch of fault tests: loses datagrams, and keeps hosts apart one way', async () => {
  await lan.set({ loss: 1 });
  expect(failed(await ask('shout', addr, '7000', '1'))).toBe(1);
  await lan.heal();
  await lan.set({ cut: [[2, 1]] });
  expect(failed(await ask('shout', addr, '7000', '1'))).toBe(1);
  await lan.heal();
  expect(failed(await ask('shout', addr, '7000', '5'))).toBe(0);
});
