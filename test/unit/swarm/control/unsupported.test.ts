import { expect, test } from 'vitest';
import { refuseUnsupported } from '../../../../swarm/control/services/unsupported.ts';

test('what no node can put in force is refused by its field; ports of both modes are not', () => {
  const Ports = (['ingress', 'host'] as const).map((PublishMode) => ({ TargetPort: 80, PublishMode }));
  expect(() => refuseUnsupported({ EndpointSpec: { Ports } })).not.toThrow();
  const TaskTemplate = { ContainerSpec: { Isolation: 'hyperv' } };
  expect(() => refuseUnsupported({ TaskTemplate })).toThrow(
    'ContainerSpec.Isolation hyperv is for Windows containers only',
  );
});
