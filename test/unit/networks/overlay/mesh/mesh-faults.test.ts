import { expect, test } from 'vitest';
// First: `network.mesh.hold` and `network.mesh.set` are armed.
import { MESH_STEPS } from './arm-mesh-failpoints.ts';
import { MeshRig } from './mesh-rig.ts';

test('a port that cannot be held, and a kernel that refuses, are tried again', async () => {
  expect(MESH_STEPS).toEqual(['network.mesh.hold', 'network.mesh.set']);
  const rig = new MeshRig();
  rig.publish(8080, 9000);
  // The first port was not held; and nothing was set.
  expect([rig.held(), rig.set()]).toEqual([['9000'], []]);
  expect(rig.mesh.missing()).toEqual([
    'port 8080/tcp of service web is not answered on this node: failpoint network.mesh.hold: armed',
  ]);
  await rig.clock.advance(2_000);
  expect([rig.held(), rig.set(), rig.mesh.missing()]).toEqual([['8080', '9000'], ['8080', '9000'], []]);
  expect(rig.clock.pendingMs).toEqual([]);
});
