import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { systemClock } from '../../../daemon/base/clock.ts';
import { EtcdChannel } from '../../../swarm/store/etcd/channel.ts';
import { EtcdStore } from '../../../swarm/store/etcd/etcd-store.ts';
import { EtcdMembers } from '../../../swarm/store/etcd/members.ts';
import { calls } from '../../../swarm/store/etcd/messages.ts';
import { EtcdProcess } from '../../../swarm/store/etcd-process/etcd-process.ts';
import type { MemberSettings } from '../../../swarm/store/etcd-process/settings.ts';
import type { TestNetns } from '../engine/netns.ts';
import { persistent } from './stores.ts';

/** Debian 13 has 3.5: its program can be put in place of the machine's. */
const ETCD = process.env['BERTH_TEST_ETCD'] ?? '/usr/bin/etcd';

/** A member of a test's own: directories in /tmp, and a way to it. */
export class TestMember implements AsyncDisposable {
  readonly directory = mkdtempSync('/tmp/berth-test-etcd-');
  readonly settings: MemberSettings;
  #process: EtcdProcess | undefined;
  #channel: EtcdChannel | undefined;
  readonly #etcd: string;

  /** `network`: the network namespace that its peers are in; the socket of its clients is everywhere. */
  constructor(name: string, { port, network }: { port: number; network: TestNetns }) {
    const peerUrl = `http://127.0.0.1:${port}`;
    this.#etcd = path.join(this.directory, 'etcd');
    const command = network.enter(ETCD).join(' ');
    writeFileSync(this.#etcd, `#!/bin/sh\nexec ${command} "$@"\n`, { mode: 0o755 });
    this.settings = {
      name,
      dataDirectory: path.join(this.directory, 'data'),
      peerUrl,
      listenPeerUrl: peerUrl,
      raft: {},
      cluster: { state: 'new', token: 'test', peers: [{ name, peerUrl }] },
    };
  }

  get members(): EtcdMembers {
    return new EtcdMembers({ clock: systemClock, channel: this.channel });
  }

  get store(): EtcdStore {
    return new EtcdStore({ clock: systemClock, channel: this.channel });
  }

  get deps(): Parameters<typeof EtcdProcess.start>[0] {
    return { clock: systemClock, etcd: this.#etcd, runDirectory: path.join(this.directory, 'run') };
  }

  get process(): EtcdProcess {
    if (this.#process === undefined) {
      throw new Error('the member was not started');
    }
    return this.#process;
  }

  get channel(): EtcdChannel {
    this.#channel ??= new EtcdChannel(path.join(this.directory, 'run/etcd:1'));
    return this.#channel;
  }

  async start(settings: Partial<MemberSettings> = {}): Promise<void> {
    this.#process = await EtcdProcess.start(this.deps, { ...this.settings, ...settings });
  }

  /** Until it answers: it has a leader then. */
  async ready(): Promise<void> {
    const died = this.process.ended.then(async () => {
      throw new Error(await this.process.lastWords());
    });
    const answered = this.answers().catch(async (error: unknown) => {
      throw new Error(`${String(error)}\n${await this.process.lastWords()}`, { cause: error });
    });
    await Promise.race([died, answered]);
    // Its end is expected from here on.
    died.catch(() => undefined);
  }

  /** Until somebody answers at its socket. */
  async answers(): Promise<void> {
    await persistent(() => this.channel.ask(calls.range, { key: 'x' }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#channel?.[Symbol.dispose]();
    const process = this.#process ?? (await EtcdProcess.adopt(this.deps));
    await process?.kill();
    rmSync(this.directory, { recursive: true, force: true });
  }
}
