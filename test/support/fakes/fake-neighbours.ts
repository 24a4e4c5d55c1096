import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { RootfsLayout } from '../../../storage/layers/rootfs.ts';
import { EngineError, internal, notFound } from '../../../daemon/base/errors.ts';
import type {
  HubTokens,
  ImageCatalog,
  LogKeeper,
  MountRunner,
  NetworkSandboxes,
  RootfsStore,
  VolumeBinder,
} from '../../../daemon/containers/ports.ts';
import type { ResolvedImage } from '../../../daemon/images/images.ts';
import type { Sandbox, SandboxRequest } from '../../../daemon/networks/sandbox/sandbox.ts';

/** What the container domain asks of its neighbours, in memory; each notes what it was asked and fails on request. */
export class FakeNeighbours {
  readonly calls: string[] = [];
  /** Names of calls that fail: `overlay`, `open`, `rootfs.remove`, ... */
  readonly failing = new Set<string>();
  /** Those that fail because others are away. */
  readonly unavailable = new Set<string>();
  readonly mounted = new Set<string>();
  readonly openSandboxes = new Set<string>();
  readonly volumeNames = new Set<string>();
  readonly rootfsIds = new Set<string>();
  readonly #root: string;

  readonly rootfs: RootfsStore;
  readonly mounts: MountRunner;
  readonly images: ImageCatalog;
  readonly networks: NetworkSandboxes;
  readonly volumes: VolumeBinder;
  readonly logs: LogKeeper;
  readonly hubTokens: HubTokens;
  /** Containers that have tokens of the hub. */
  readonly tokenHolders = new Set<string>();

  constructor(root: string) {
    this.#root = root;
    this.rootfs = this.#rootfs();
    this.mounts = this.#mounts();
    this.images = {
      resolve: resolveImage,
      descendants: (ref) => (ref === 'missing' ? [] : [resolveImage(ref).id]),
      displayName: (_id, createdFrom) => createdFrom,
      planCommit: () => ({ run: () => Promise.resolve('sha256:made') }),
      lostLayers: () => [],
      pin: () => ({ [Symbol.dispose]: () => undefined }),
      containerRemoved: () => Promise.resolve(),
    };
    this.networks = this.#networks();
    this.volumes = this.#volumes();
    this.logs = this.#logs();
    this.hubTokens = this.#hubTokens();
  }

  #called(name: string): void {
    this.calls.push(name);
    if (this.unavailable.has(name)) {
      throw new EngineError('unavailable', `${name} is unavailable`);
    }
    if (this.failing.has(name)) {
      throw internal(`${name} failed`);
    }
  }

  #layout(id: string): RootfsLayout {
    const directory = join(this.#root, 'containers', id);
    return {
      lowers: ['/layers/1'],
      upper: join(directory, 'upper'),
      work: join(directory, 'work'),
      merged: join(directory, 'merged'),
    };
  }

  #logs(): LogKeeper {
    return {
      open: async () => {
        this.#called('logs.open');
        return null;
      },
      ended: () => undefined,
      remove: () => Promise.resolve(),
      adopt: () => undefined,
      close: () => undefined,
    };
  }

  #hubTokens(): HubTokens {
    return {
      url: 'http://hub.test:5010',
      check: async () => this.#called('token.check'),
      mint: async (_request, id) => {
        this.#called('token.mint');
        this.tokenHolders.add(id);
        return 'bhw_secret';
      },
      revoke: async (id) => {
        this.#called('token.revoke');
        this.tokenHolders.delete(id);
      },
    };
  }

  #rootfs(): RootfsStore {
    return {
      create: async (id) => {
        this.#called('rootfs.create');
        mkdirSync(this.#layout(id).merged, { recursive: true });
        this.rootfsIds.add(id);
      },
      limit: async (_id, bytes) => this.#called(`rootfs.limit ${bytes}`),
      layout: (id) => this.#layout(id),
      lowers: () => [],
      isBare: () => false,
      draftInitLayer: () => undefined,
      scratchWork: () => ({ path: '', [Symbol.asyncDispose]: () => Promise.resolve() }),
      remove: async (id) => {
        this.#called('rootfs.remove');
        rmSync(join(this.#root, 'containers', id), { recursive: true, force: true });
        this.rootfsIds.delete(id);
      },
      markRemoved: () => undefined,
      isRemoved: () => false,
      forgetRemoved: () => undefined,
      clearOrphan: async (id) => {
        this.#called('rootfs.remove');
        rmSync(join(this.#root, 'containers', id), { recursive: true, force: true });
        this.rootfsIds.delete(id);
        return undefined;
      },
      sizeRw: async () => 10,
      sizeRootFs: () => 1000,
      list: async () => [...this.rootfsIds],
    };
  }

  #mounts(): MountRunner {
    return {
      overlay: async ({ merged }) => {
        this.#called('overlay');
        this.mounted.add(merged);
      },
      overlayView: async (_lowers, target) => {
        this.#called('overlayView');
        this.mounted.add(target);
      },
      tmpfs: async (target) => {
        this.#called('tmpfs');
        this.mounted.add(target);
      },
      secretTmpfs: async (target) => {
        this.#called('secretTmpfs');
        this.mounted.add(target);
      },
      bind: async (source, target) => {
        this.#called(`bind ${source.slice(this.#root.length)}`);
        this.mounted.add(target);
      },
      unmount: async (path) => {
        this.#called('unmount');
        this.mounted.delete(path);
      },
      below: () => [...this.mounted],
    };
  }

  #networks(): NetworkSandboxes {
    return {
      find: (ref) =>
        ['default', 'bridge', 'host', 'none'].includes(ref)
          ? { id: ref, name: ref === 'default' ? 'bridge' : ref }
          : undefined,
      driverOf: () => 'bridge',
      validate: () => this.#called('validate'),
      open: async (request) => {
        this.#called('open');
        this.openSandboxes.add(request.containerId);
        return sandboxOf(request);
      },
      close: async (id) => {
        this.#called('close');
        this.openSandboxes.delete(id);
      },
      connect: async (live) => {
        this.#called('connect');
        return live;
      },
      disconnect: async (live) => {
        this.#called('disconnect');
        return { sandbox: live, undo: () => undefined, finish: () => Promise.resolve() };
      },
      renamed: (live) => live,
      restore: async (live) => {
        this.#called(`restore ${live.length}`);
        this.openSandboxes.clear();
        live.forEach(({ containerId }) => this.openSandboxes.add(containerId));
      },
    };
  }

  #volumes(): VolumeBinder {
    return {
      ensure: async (name) => {
        this.#called('ensure');
        const created = !this.volumeNames.has(name);
        this.volumeNames.add(name);
        return { name, mountpoint: `/volumes/${name}`, driver: 'local', created };
      },
      reserveAnonymous: async (name) => {
        this.#called('reserveAnonymous');
        return {
          mountpoint: `/volumes/${name}`,
          store: () => void this.volumeNames.add(name),
          undo: async () => void this.volumeNames.delete(name),
        };
      },
      populate: async () => this.#called('populate'),
      driverOf: () => 'local',
      isLimited: () => false,
      acquire: async (name) => {
        this.#called('acquire');
        return `/volumes/${name}`;
      },
      release: async () => this.#called('release'),
      mounted: () => this.#called('mounted'),
      unmounted: () => this.#called('unmounted'),
      removeAnonymous: async (name) => {
        this.#called('removeAnonymous');
        this.volumeNames.delete(name);
      },
      remove: async (name) => {
        this.volumeNames.delete(name);
      },
    };
  }
}

function resolveImage(ref: string): ResolvedImage {
  if (ref === 'missing') {
    throw notFound('No such image: missing:latest');
  }
  return {
    id: `sha256:${'5'.repeat(64)}`,
    layerIds: [1],
    config: { Cmd: ['sh'] },
    os: 'linux',
    architecture: 'amd64',
  };
}

function sandboxOf({ containerId, networkMode, portBindings }: SandboxRequest): Sandbox {
  const network = networkMode === 'default' ? 'bridge' : networkMode;
  return {
    netnsPath: network === 'host' ? null : `/run/netns/${containerId}`,
    ownerId: containerId,
    endpoints: { [network]: { NetworkID: `id-of-${network}`, IPAddress: '172.17.0.2' } },
    ports: portBindings,
    hosts: '127.0.0.1\tlocalhost\n',
    resolvConf: 'nameserver 127.0.0.53\n',
  };
}
