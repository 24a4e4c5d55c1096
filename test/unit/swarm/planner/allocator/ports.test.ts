import { describe, expect, test } from 'vitest';
import type { PortConfig } from '../../../../../api/types/swarm/service.ts';
import { put, remove, type Write } from '../../../../../swarm/objects/parts.ts';
import { networkWrite, nodeWrites, serviceWrites } from '../../../../support/swarm/builders.ts';
import { PlannedCluster } from '../../../../support/swarm/planned-cluster.ts';

const ingress = networkWrite('ingress');
const service = (id: string, ports: PortConfig[], template = 1): Write[] =>
  serviceWrites(
    id,
    { EndpointSpec: { Ports: ports }, Mode: { Replicated: { Replicas: 1 } } },
    { template, templatesIssued: template },
  );
const published = (cluster: PlannedCluster, id: string): (number | undefined)[] | undefined =>
  cluster.state.services.get(id)?.run?.ports?.map(({ PublishedPort }) => PublishedPort);
const refusals = (cluster: PlannedCluster, id: string): (string | undefined)[] =>
  cluster.wanted(id).map(({ record }) => record.refusal?.error);

describe('ports', () => {
  test('83: named and free ones, each protocol by itself, host mode as asked', () => {
    const cluster = new PlannedCluster(
      [ingress],
      nodeWrites('n'),
      service('a', [
        { TargetPort: 80 },
        { TargetPort: 53, Protocol: 'tcp', PublishedPort: 53 },
        { TargetPort: 53, Protocol: 'udp', PublishedPort: 53 },
        { TargetPort: 81, Protocol: 'udp' },
        { TargetPort: 90, PublishMode: 'host' },
      ]),
      service('b', [{ TargetPort: 80 }, { TargetPort: 81 }]),
    );
    expect(published(cluster, 'a')).toEqual([30000, 53, 53, 30000, undefined]);
    expect(published(cluster, 'b')).toEqual([30001, 30002]);
    expect(cluster.settle().running('b')).toEqual(['1@n']);
  });

  test('84: none is free: the task says so, and runs when one is', () => {
    const all = Array.from({ length: 2768 }, (_, index) => ({ TargetPort: index + 1 }));
    const cluster = new PlannedCluster([ingress], nodeWrites('n'), service('a', all));
    cluster.change(...service('b', [{ TargetPort: 80 }]));
    expect(refusals(cluster, 'b')).toEqual(['no ingress port is free between 30000 and 32767']);
    expect(cluster.settle().running('b')).toEqual([]);
    cluster.change(remove('service', 'a'));
    expect([published(cluster, 'b'), refusals(cluster, 'b')]).toEqual([[30000], [undefined]]);
    expect(cluster.settle().running('b')).toEqual(['1@n']);
  });

  test('as many as there are: what is looked at grows with their number, not with its square', () => {
    let looks = 0;
    const all = Array.from({ length: 2768 }, (_, index) => ({
      get TargetPort() {
        looks += 1;
        return index + 1;
      },
    }));
    const cluster = new PlannedCluster([ingress], nodeWrites('n'));
    cluster.change(...service('a', all));
    expect(published(cluster, 'a')?.at(-1)).toBe(32_767);
    cluster.change(...service('a', all.toReversed(), 2));
    // Each has kept its own.
    expect(published(cluster, 'a')?.[0]).toBe(32_767);
    cluster.change(...service('a', [...all, { TargetPort: 4000 }], 3));
    expect(looks).toBeLessThan(30 * all.length);
  });

  test('a port of another service: the task says whose, and runs when it is given up', () => {
    const port = [{ TargetPort: 80, PublishedPort: 8080 }];
    const cluster = new PlannedCluster([ingress], nodeWrites('n'), service('a', port), service('b', port));
    expect(refusals(cluster, 'b')).toEqual([
      "port '8080' is already in use by service 'a' (a) as an ingress port",
    ]);
    cluster.change(...service('a', [], 2));
    expect([published(cluster, 'a'), published(cluster, 'b')]).toEqual([undefined, [8080]]);
    expect(cluster.settle().running('b')).toEqual(['1@n']);
  });

  test("88: a port is nobody else's before it was given up, between any two writes", () => {
    const port = [{ TargetPort: 80, PublishedPort: 8080 }];
    const cluster = new PlannedCluster([ingress], nodeWrites('n'), service('a', port));
    cluster.change(...service('b', port));
    cluster.settle();
    const owners = new Set(['a']);
    // The update of `a` begins in the same pass, after `b` has got what `a` gives up.
    for (const write of cluster.change(...service('a', [], 2), ...service('b', port, 2))) {
      if (write.part === 'serviceRun') {
        owners.delete(write.id);
        (write.value?.ports ?? []).forEach(() => owners.add(write.id));
      }
      expect(owners.size).toBeLessThan(2);
    }
    expect([...owners]).toEqual(['b']);
  });

  test('85: an update keeps the port that was given, whatever else comes and goes', () => {
    const cluster = new PlannedCluster(
      [ingress],
      nodeWrites('n'),
      service('a', [{ TargetPort: 80 }]),
      service('b', [{ TargetPort: 80 }]),
    );
    cluster.change(remove('service', 'a'));
    cluster.change(...service('b', [{ TargetPort: 443 }, { TargetPort: 80 }], 2));
    expect(published(cluster, 'b')).toEqual([30000, 30001]);
  });

  test('88: a new leader gives no port twice', () => {
    const cluster = new PlannedCluster([ingress], nodeWrites('n'), service('a', [{ TargetPort: 80 }]));
    cluster.lead();
    cluster.change(
      ...service('b', [{ TargetPort: 80 }]),
      put('serviceRun', { id: 'c', ports: [{ PublishedPort: 30001 }] }),
    );
    expect([published(cluster, 'a'), published(cluster, 'b')]).toEqual([[30000], [30002]]);
  });
});
