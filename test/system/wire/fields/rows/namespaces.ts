import type { HostConfig } from '../../../../../api/types/host-config.ts';
import type { FieldRow, Look } from '../table.ts';

function own(field: string, HostConfig: HostConfig, namespace: string, expected: boolean): FieldRow {
  return {
    field: `HostConfig.${field}`,
    what: `${JSON.stringify(Object.values(HostConfig)[0])} ${expected ? 'is one of its own' : 'is the host’s'}`,
    ask: { HostConfig },
    observe: (look) => look.hasOwn(namespace),
    expected,
  };
}

function joined(field: 'PidMode' | 'IpcMode' | 'NetworkMode', namespace: string): FieldRow {
  return {
    field: `HostConfig.${field}`,
    what: 'container: is the other container’s',
    ask: async (world) => {
      await world.neighbour({ IpcMode: 'shareable' });
      return { HostConfig: { [field]: 'container:neighbour' } };
    },
    observe: async (look) => {
      const other = new (look.constructor as typeof Look)(look.engine, 'neighbour', []);
      return [
        await look.hasOwn(namespace),
        (await look.namespace(namespace)) === (await other.namespace(namespace)),
      ];
    },
    expected: [true, true],
  };
}

export const namespaceRows: readonly FieldRow[] = [
  own('PidMode', { PidMode: '' }, 'pid', true),
  own('PidMode', { PidMode: 'host' }, 'pid', false),
  joined('PidMode', 'pid'),
  own('IpcMode', { IpcMode: 'private' }, 'ipc', true),
  own('IpcMode', { IpcMode: 'shareable' }, 'ipc', true),
  own('IpcMode', { IpcMode: 'none' }, 'ipc', true),
  own('IpcMode', { IpcMode: 'host' }, 'ipc', false),
  joined('IpcMode', 'ipc'),
  {
    field: 'HostConfig.IpcMode',
    what: 'none has no /dev/shm',
    ask: { HostConfig: { IpcMode: 'none' } },
    observe: (look) => look.mount('/dev/shm'),
    expected: undefined,
  },
  own('UTSMode', { UTSMode: '' }, 'uts', true),
  own('UTSMode', { UTSMode: 'host' }, 'uts', false),
  own('UsernsMode', { UsernsMode: 'host' }, 'user', false),
  own('CgroupnsMode', { CgroupnsMode: 'private' }, 'cgroup', true),
  own('CgroupnsMode', { CgroupnsMode: 'host' }, 'cgroup', false),
  own('NetworkMode', { NetworkMode: 'none' }, 'net', true),
  own('NetworkMode', { NetworkMode: 'bridge' }, 'net', true),
  own('NetworkMode', { NetworkMode: 'host' }, 'net', false),
  joined('NetworkMode', 'net'),
];
