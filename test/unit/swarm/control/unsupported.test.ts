import { expect, test } from 'vitest';
import { refuseUnsupported } from '../../../../swarm/control/services/unsupported.ts';

const published = (PublishMode: 'ingress' | 'host'): Parameters<typeof refuseUnsupported>[0] => ({
  EndpointSpec: { Ports: [{ TargetPort: 80, PublishedPort: 8080, PublishMode }] },
});

test('a port of the routing mesh is refused by an engine without overlay networks, one of the host is not', () => {
  expect(() => refuseUnsupported(published('ingress'), { hasOverlays: false })).toThrow(
    'EndpointSpec.Ports: publishing a port in ingress mode is not supported yet; PublishMode host is',
  );
  expect(() => refuseUnsupported(published('host'), { hasOverlays: false })).not.toThrow();
  expect(() => refuseUnsupported(published('ingress'), { hasOverlays: true })).not.toThrow();
});
