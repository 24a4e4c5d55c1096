/**
 * Work to cut the power in: `tsx test/vm/power-work.ts ROUND` creates, starts, enters, stops and removes containers,
 * loads, imports, commits, builds and removes images, makes networks and volumes, several at a time, for ever. Each
 * thing that the daemon has acknowledged is a line of JSON on standard output: whoever reads it outlives the machine.
 */
import type { ContainerCreateResponse } from '../../api/types/container.ts';
import { UnexpectedStatus } from '../support/engine/http.ts';
import { busyboxImageTar } from '../support/images/images.ts';
import { ServiceDaemon } from '../support/engine/service.ts';
import type { Acknowledged } from './power-journal.ts';
import { Lanes } from './power-lanes.ts';

const round = process.argv[2] ?? '0';
const { http } = ServiceDaemon.found();

function tell(what: Acknowledged): void {
  process.stdout.write(`${JSON.stringify(what)}\n`);
}

async function makeKeepers(): Promise<void> {
  const policies = { always: 'always', stubborn: 'unless-stopped', plain: 'no' };
  for (const [kind, Name] of Object.entries(policies)) {
    const name = `keeper-${round}-${kind}`;
    const { Id } = await http.ok<ContainerCreateResponse>('POST', `/containers/create?name=${name}`, {
      Image: 'busybox:latest',
      Cmd: ['sh', '-c', 'i=0; while :; do i=$((i+1)); echo $i; sleep 0.2; done'],
      ExposedPorts: { '80/tcp': {} },
      HostConfig: {
        NetworkMode: 'bridge',
        PortBindings: { '80/tcp': [{}] },
        Binds: [`keeper-${round}:/data`],
        RestartPolicy: { Name },
      },
    });
    await http.ok('POST', `/containers/${Id}/start`);
    tell({ did: 'started', name, id: Id, policy: Name });
  }
}

async function containers(lane: number): Promise<void> {
  for (let count = 0; ; count += 1) {
    const name = `work-${round}-${lane}-${count}`;
    const { Id: id } = await http.ok<ContainerCreateResponse>('POST', `/containers/create?name=${name}`, {
      Image: 'busybox:latest',
      Cmd: ['sh', '-c', 'echo $$; sleep 1000'],
      Volumes: { '/anonymous': {} },
      HostConfig: { NetworkMode: lane % 2 === 0 ? 'bridge' : 'none', IpcMode: 'shareable' },
    });
    tell({ did: 'created', name, id });
    await http.ok('POST', `/containers/${id}/start`);
    tell({ did: 'started', name, id, policy: 'no' });
    const exec = await http.ok<{ Id: string }>('POST', `/containers/${id}/exec`, {
      Cmd: ['sh', '-c', 'echo x >/f'],
    });
    await http.ok('POST', `/exec/${exec.Id}/start`, { Detach: true });
    await http.ok('POST', `/containers/${id}/stop?t=0`);
    if (count % 3 !== 0) {
      tell({ did: 'removing', name, id });
      await http.ok('DELETE', `/containers/${id}?v=1&force=1`);
      tell({ did: 'removed', name, id });
    }
  }
}

async function images(): Promise<void> {
  for (let count = 0; ; count += 1) {
    const name = `image-${round}:${count}`;
    const content = Buffer.alloc(300_000, `${name} `);
    await http.ok(
      'POST',
      '/images/load?quiet=1',
      busyboxImageTar({ tags: [name], extraLayers: [[{ name: 'data', content }]] }),
    );
    tell({ did: 'loaded', name });
    if (count % 2 === 1) {
      const old = `image-${round}:${count - 1}`;
      tell({ did: 'removing', name: old, id: '' });
      await http.ok('DELETE', `/images/${old}`);
      tell({ did: 'removed', name: old, id: '' });
    }
  }
}

async function volumes(): Promise<void> {
  for (let count = 0; ; count += 1) {
    const name = `volume-${round}-${count}`;
    await http.ok('POST', '/volumes/create', { Name: name });
    tell({ did: 'volume', name });
    if (count % 2 === 1) {
      await http.ok('DELETE', `/volumes/${name}`);
    }
  }
}

try {
  await http.ok('POST', '/images/load?quiet=1', busyboxImageTar());
  await makeKeepers();
  const lanes = new Lanes({ http, round, tell });
  await Promise.all([
    containers(0),
    containers(1),
    containers(2),
    images(),
    volumes(),
    lanes.imports(),
    lanes.commits(),
    lanes.builds(),
    lanes.networks(),
    lanes.contents(),
  ]);
} catch (error) {
  // Shown by scripts/vm: work ends only with the power.
  console.error(error instanceof UnexpectedStatus ? error.message : error);
  process.exitCode = 1;
}
