import { join } from 'node:path';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { OPEN_STEPS } from './arm-open-failpoints.ts';
import { systemClock } from '../../../daemon/base/clock.ts';
import { newId } from '../../../daemon/base/ids.ts';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { FakeOverlayKernel } from '../../support/fakes/overlay-kernel.ts';
import { noSwarm } from '../../support/fakes/no-swarm.ts';
import { hostFiles } from '../../../daemon/networks/files/host-files.ts';
import { assembleNetworks } from '../../../daemon/networks/assemble.ts';
import { defaultNetworkOptions } from '../../../daemon/networks/options.ts';
import type { Sandboxes } from '../../../daemon/networks/sandbox/sandboxes.ts';
import { KernelNetwork } from '../../../runtime/network/kernel-network.ts';
import { needs } from '../../support/needs.ts';
import { ThrowAwayHost, command } from './host-namespace.ts';

needs(
  'root',
  'netns',
  'nft',
  'ip',
)('open() that fails', () => {
  let host: ThrowAwayHost;
  let sandboxes: Sandboxes;

  beforeAll(async () => {
    host = new ThrowAwayHost();
    const kernel = new KernelNetwork({
      settings: {
        namespaceDirectory: path.join(host.directory, 'netns'),
        overlayDirectory: path.join(host.directory, 'overlays'),
        interfacePrefix: 'btf',
        table: 'berthfault',
        ipForward: false,
      },
      log: silentLogger,
      clock: systemClock,
    });
    const meta = new Map<string, string>();
    const metaTable = {
      get: (key: string) => meta.get(key),
      set: (key: string, value: string) => void meta.set(key, value),
    };
    const options = {
      ...defaultNetworkOptions,
      bridge: 'bthfault0',
      bip: '10.78.0.1/24',
      interfacePrefix: 'btf',
    };
    ({ sandboxes } = assembleNetworks({
      kernel,
      meta: metaTable,
      table: { insert: () => undefined, remove: () => undefined, all: () => [] },
      journal: {
        commit: (change) => change(() => undefined),
        note: () => undefined,
        settle: () => undefined,
        tell: () => undefined,
      },
      options,
      files: hostFiles(),
      overlayKernel: new FakeOverlayKernel(),
      swarm: noSwarm,
      overlayFiles: mkdtempSync(join(tmpdir(), 'berth-test-overlays-')),
      containerName: () => 'web',
      isWanted: () => false,
      clock: systemClock,
      log: silentLogger,
    }));
    await sandboxes.restore([]);
  });

  afterAll(() => {
    host[Symbol.dispose]();
  });

  function open() {
    return sandboxes.open({
      containerId: newId(),
      containerName: 'web',
      hostname: 'web',
      domainname: '',
      networkMode: 'bridge',
      endpoints: {},
      exposedPorts: [],
      portBindings: { '80/tcp': [{ HostIp: '', HostPort: '8080' }] },
      publishAllPorts: false,
      dns: [],
      dnsSearch: [],
      dnsOptions: [],
      extraHosts: [],
    });
  }

  it('at any of its steps leaves no namespace, interface, element, port or address behind', async () => {
    const failedAt: string[] = [];
    for (let attempt = 0; attempt < 40; attempt += 1) {
      const outcome = await open().catch((error: unknown) =>
        error instanceof Error ? error : new Error(String(error)),
      );
      if (!(outcome instanceof Error)) {
        await sandboxes.close(outcome.ownerId, outcome);
        continue;
      }
      failedAt.push(...OPEN_STEPS.filter((step) => outcome.message.includes(step)));
    }
    expect(failedAt.toSorted()).toEqual(OPEN_STEPS.toSorted());

    const sandbox = await open();
    expect(sandbox.endpoints['bridge']?.IPAddress).toBe('10.78.0.2');
    await sandboxes.close(sandbox.ownerId, sandbox);
    const directory = path.join(host.directory, 'netns');
    const left = () => ({
      namespaces: existsSync(directory) ? readdirSync(directory) : [],
      links: command('ip', '-o', 'link').match(/btf[0-9a-f]{10}/g) ?? [],
      elements: command('nft', 'list', 'map', 'ip', 'berthfault', 'published_any').match(/elements/g) ?? [],
    });
    await expect.poll(left).toEqual({ namespaces: [], links: [], elements: [] });
  });
});
