import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { beforeAll, expect, test } from 'vitest';
import { until } from '../support/engine/http.ts';
import { needs } from '../support/needs.ts';
import { ServiceDaemon, SERVICE, systemctl } from '../support/engine/service.ts';
import { ECHO_PORT, HostSwarm, serviceSpec } from './swarm/host-swarm.ts';
import { expectAllServed, MEMORY, remembered } from './swarm/what-works.ts';

/**
 * The guest becomes a swarm of one, and stays it: `swarm-after-boot.test.ts` comes after the guest was switched off.
 */
needs('guest', 'etcd')('a swarm on the systemd service', () => {
  let swarm: HostSwarm;

  beforeAll(async () => {
    swarm = new HostSwarm(await ServiceDaemon.start());
    await swarm.daemon.loadBusybox();
  });

  test('begins, with services on the routing mesh and in an attachable network', async () => {
    await swarm.init();
    await swarm.network('shop');
    await swarm.client();
    await swarm.http.ok('POST', '/services/create', serviceSpec('web'));
    await swarm.http.ok('POST', '/services/create', serviceSpec('pool'));
    await expectAllServed(swarm);
  });

  test('systemctl restart: tasks and open connections go on', async () => {
    const before = [await swarm.containers('web'), await swarm.containers('pool')];
    const lines = [await EchoLine.open(swarm.address), await EchoLine.open('127.0.0.1')];
    await systemctl('reset-failed', SERVICE);
    const restarting = systemctl('restart', SERVICE);
    for (const line of lines) {
      await line.echoes('while it restarts');
    }
    await restarting;
    await swarm.daemon.up();
    await expectAllServed(swarm);
    for (const line of lines) {
      await line.echoes('afterwards');
      line.close();
    }
    expect([await swarm.containers('web'), await swarm.containers('pool')]).toEqual(before);
  });

  test('nft flush ruleset: ports and names are back, tasks are the same', async () => {
    const before = await swarm.containers('web');
    await swarm.daemon.netns.run('nft', 'flush', 'ruleset');
    await expectAllServed(swarm);
    expect(await swarm.containers('web')).toEqual(before);
  });

  test('is remembered for the next boot', async () => {
    const file = openSync(MEMORY, 'w');
    writeSync(file, JSON.stringify(await remembered(swarm)));
    fsyncSync(file);
    closeSync(file);
  });
});

/** A connection through the routing mesh to a task that sends back what it gets. */
class EchoLine {
  readonly #socket: Socket;
  #got = '';

  static async open(host: string): Promise<EchoLine> {
    const line = new EchoLine(connect(ECHO_PORT, host));
    await line.echoes('first');
    return line;
  }

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setEncoding('utf8');
    socket.on('data', (text: string) => (this.#got += text));
    socket.on('error', (error) => (this.#got += `broken: ${error.message}`));
  }

  async echoes(text: string): Promise<void> {
    this.#got = '';
    this.#socket.write(`${text}\n`);
    await until(`"${text}" to come back`, () => this.#got !== '');
    expect(this.#got).toBe(`${text}\n`);
  }

  close(): void {
    this.#socket.destroy();
  }
}
