import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { ContainerCreateRequest } from '../../../api/types/container.ts';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { Containers } from '../../../daemon/containers/containers.ts';
import { engineDefaults } from '../../../daemon/containers/request/engine-defaults.ts';
import { Execs } from '../../../daemon/execs/execs.ts';
import { capableHost } from '../../unit/containers/request/host-facts.ts';
import { FakeNeighbours } from './fake-neighbours.ts';
import { FakeRuntime } from './fake-runtime.ts';
import { FakeContainerTable, FakeJournal } from './fake-store.ts';
import { ManualClock, settled } from './manual-clock.ts';
import { waitFor } from '../wait-for.ts';

function unused(): never {
  throw new Error('these containers have no files');
}

/** Walking files needs a kernel: the system tests do that. */
const noFiles = {
  hiddenView: unused,
  hiddenOverlay: unused,
  scratchOverlay: unused,
  hiddenCopy: unused,
  extract: unused,
  tar: unused,
  changes: unused,
  sizes: unused,
  spool: unused,
  ofChanges: unused,
};

/** The container domain over fakes. `reboot` is a new daemon over the same fakes. */
export class ContainerRig implements Disposable {
  readonly directory = mkdtempSync(join(tmpdir(), 'berth-containers-'));
  readonly clock = new ManualClock();
  readonly journal = new FakeJournal();
  readonly table = new FakeContainerTable();
  readonly runtime = new FakeRuntime();
  readonly world = new FakeNeighbours(this.directory);
  containers: Containers;
  execs: Execs;

  constructor() {
    this.runtime.nowNano = () => this.clock.nowNano();
    [this.containers, this.execs] = this.#daemon('boot-1');
  }

  /** Ready to serve, on an empty data root. */
  static async make(): Promise<ContainerRig> {
    const rig = new ContainerRig();
    await rig.containers.restore();
    rig.world.calls.length = 0;
    return rig;
  }

  /** The daemon dies and another one starts, in this boot of the host or the next. */
  async restartDaemon(bootId = 'boot-1'): Promise<void> {
    this.containers.close();
    this.journal.die();
    [this.containers, this.execs] = this.#daemon(bootId);
    this.world.calls.length = 0;
    await this.containers.restore();
    await settled();
  }

  async create(request: ContainerCreateRequest = {}, name?: string): Promise<string> {
    const { Id } = await this.containers.create(
      name,
      { Image: 'busybox', HostConfig: { NetworkMode: 'none' }, ...request },
      { signal: new AbortController().signal },
    );
    return Id;
  }

  /** A running container; the events of its making are forgotten. */
  async run(request: ContainerCreateRequest = {}, name?: string): Promise<string> {
    const id = await this.create(request, name);
    await this.containers.start(id, {});
    this.journal.events.length = 0;
    return id;
  }

  /** Ends a container from inside and lets the engine settle it. */
  async exit(id: string, exitCode: number, details: { oomKilled?: boolean } = {}): Promise<void> {
    this.runtime.exit(id, exitCode, details);
    await settled();
  }

  async status(id: string): Promise<string> {
    const { State } = await this.containers.inspect(id, { size: false });
    return `${State.Status} ${State.ExitCode}${State.Error === '' ? '' : `: ${State.Error}`}`;
  }

  /** Waits until the container is in this state: for what goes on in the background. */
  async until(id: string, expected: string): Promise<void> {
    await waitFor(async () => expect(await this.status(id)).toBe(expected));
  }

  [Symbol.dispose](): void {
    this.containers.close();
    rmSync(this.directory, { recursive: true, force: true });
  }

  #daemon(bootId: string): [Containers, Execs] {
    const { clock, journal, table, runtime, world } = this;
    const containers = new Containers({
      journal,
      table,
      runtime,
      rootfs: world.rootfs,
      mounts: { ...world.mounts, ...noFiles },
      archives: noFiles,
      tarSpools: noFiles,
      images: world.images,
      networks: world.networks,
      volumes: world.volumes,
      logs: world.logs,
      hubTokens: world.hubTokens,
      describedDevices: { names: () => [], edits: () => [] },
      clock,
      log: silentLogger,
      facts: capableHost,
      defaults: engineDefaults,
      dataRoot: this.directory,
      storageDriver: 'overlay2',
      cgroupParent: '/berth-test',
      bootId,
      isAlive: (process) => runtime.isAlive(process),
    });
    return [containers, new Execs({ targets: containers, runtime, clock, log: silentLogger })];
  }
}
