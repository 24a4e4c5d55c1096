import { describe, expect, it } from 'vitest';
import { planPorts } from '../../../../../daemon/networks/sandbox/port-plan.ts';
import { MeshRig } from './mesh-rig.ts';

function bindings(hostPort: string) {
  const portBindings = { '80/tcp': [{ HostIp: '127.0.0.1', HostPort: hostPort }] };
  return planPorts({ exposedPorts: [], portBindings, publishAllPorts: false }, '0.0.0.0').bindings;
}

function begun(...published: number[]): MeshRig {
  const rig = new MeshRig();
  rig.publish(...published);
  return rig;
}

describe('ports of the mesh', () => {
  it('are held before the kernel leads anybody there, and released after', () => {
    const rig = begun(8080);
    rig.publish(9000);
    expect(rig.done).toEqual(['hold 8080', 'set 8080', 'hold 9000', 'set 9000', 'release 8080']);
  });

  it('a container gets none of them, in dockerd’s words, and gets it when it is free', () => {
    const rig = begun(8080);
    const take = () => rig.allocator.allocate(bindings('8080'), [1], 'web');
    expect(take).toThrow('Bind for 127.0.0.1:8080 failed: port is already allocated');
    rig.publish();
    expect(take()[0]?.hostPort).toBe(8080);
  });

  it('one that a container has stays its own, and is answered when the container is gone', async () => {
    const rig = new MeshRig();
    const taken = rig.allocator.allocate(bindings('8080'), [1], 'web');
    rig.publish(8080, 9000);
    expect([rig.set(), rig.mesh.missing()]).toEqual([
      ['9000'],
      [
        'port 8080/tcp of service web is not answered on this node: ' +
          'Bind for 0.0.0.0:8080 failed: port is already allocated',
      ],
    ]);
    rig.allocator.release(taken);
    await rig.clock.advance(2_000);
    expect([rig.set(), rig.mesh.missing(), rig.clock.pendingMs]).toEqual([['8080', '9000'], [], []]);
  });

  it('one that a program has is tried again until it is free', async () => {
    const rig = new MeshRig();
    rig.foreign.add(8080);
    rig.publish(8080);
    await rig.clock.advance(10_000);
    expect([rig.set(), rig.mesh.missing()]).toEqual([
      [],
      [
        'port 8080/tcp of service web is not answered on this node: ' +
          'failed to bind host port 0.0.0.0:8080/tcp: address already in use',
      ],
    ]);
    rig.foreign.clear();
    await rig.clock.advance(2_000);
    expect([rig.set(), rig.mesh.missing()]).toEqual([['8080'], []]);
  });

  it('one that is no longer published is not missing', () => {
    const rig = new MeshRig();
    rig.foreign.add(8080);
    rig.publish(8080);
    rig.publish();
    expect([rig.mesh.missing(), rig.clock.pendingMs]).toEqual([[], []]);
  });

  it('stay held while the kernel still leads somebody there', async () => {
    const rig = begun(8080);
    rig.refuses = true;
    rig.publish();
    expect([rig.set(), rig.held()]).toEqual([['8080'], ['8080']]);
    rig.refuses = false;
    await rig.clock.advance(2_000);
    expect([rig.set(), rig.held()]).toEqual([[], []]);
  });

  it('are free when the ingress network is gone, and held again with the next', () => {
    const rig = begun(8080);
    rig.mesh.close();
    rig.mesh.close();
    expect([rig.held(), rig.mesh.missing(), rig.clock.pendingMs]).toEqual([[], [], []]);
    rig.publish(8080);
    expect(rig.held()).toEqual(['8080']);
  });

  it('no timer is left when the daemon ends, and the kernel goes on', () => {
    const rig = new MeshRig();
    rig.foreign.add(8080);
    rig.publish(8080, 9000);
    rig.mesh[Symbol.dispose]();
    expect([rig.clock.pendingMs, rig.set()]).toEqual([[], ['9000']]);
  });
});
