import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { systemClock } from '../../../daemon/base/clock.ts';
import { EtcdChannel } from '../../../swarm/store/etcd/channel.ts';
import { EtcdStore } from '../../../swarm/store/etcd/etcd-store.ts';
import type { Store } from '../../../swarm/store/port.ts';
import { TestNetns } from '../../support/engine/netns.ts';
import { needs } from '../../support/needs.ts';
import { AnswerGate } from '../../support/swarm/answer-gate.ts';
import { TestMember } from '../../support/swarm/etcd-member.ts';
import { storeContract } from './store-contract.ts';

needs(
  'root',
  'etcd',
  'ip',
  'netns',
)('the store in etcd', () => {
  let network: TestNetns;
  let member: TestMember;
  let opened: { store: Store; channel: EtcdChannel; gate: AnswerGate }[] = [];

  beforeAll(async () => {
    network = new TestNetns(`bt${process.pid}s`);
    member = new TestMember('one', { port: 2380, network });
    await member.start();
    await member.ready();
  });

  afterEach(async () => {
    for (const { store, channel, gate } of opened) {
      await store[Symbol.asyncDispose]();
      channel[Symbol.dispose]();
      gate[Symbol.dispose]();
    }
    opened = [];
  });

  afterAll(async () => {
    await member[Symbol.asyncDispose]();
    network[Symbol.dispose]();
  });

  storeContract('etcd', () => ({
    clock: systemClock,
    pass: (ms) => sleep(ms),
    ttlMs: 2_000,
    open: async (clock = systemClock) => {
      const gate = await AnswerGate.open(member.process.socket);
      const channel = new EtcdChannel(gate.socket);
      const store = new EtcdStore({ clock, channel });
      opened.push({ store, channel, gate });
      return store;
    },
    loseNextAnswer: (store) => opened.find((one) => one.store === store)?.gate.loseNextAnswer(),
    interrupt: async () => {
      await member.process.kill();
      await member.start();
      await member.ready();
    },
  }));
});
