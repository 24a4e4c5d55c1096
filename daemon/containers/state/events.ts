import type { EndpointSettings } from '../../../api/types/endpoint.ts';
import type { EventDraft } from '../../events/journal-types.ts';
import type { Sandbox } from '../../networks/sandbox/sandbox.ts';
import type { NetworkSandboxes } from '../ports.ts';
import { shownEndpoints } from './shown-endpoints.ts';
import type { ContainerSpec } from '../request/container-spec.ts';

/** What an event says of its container. */
export interface EventSubject {
  readonly id: string;
  readonly name: string;
  readonly spec: ContainerSpec;
}

/** An event of this container with dockerd's attributes: its labels, image, name, and what the action adds. */
export function containerEvent(
  subject: EventSubject,
  action: string,
  attributes: Record<string, string> = {},
): EventDraft {
  return {
    type: 'container',
    action,
    actorId: subject.id,
    attributes: {
      ...subject.spec.config.Labels,
      image: subject.spec.createdFrom,
      name: subject.name,
      ...attributes,
    },
  };
}

/** `connect` or `disconnect` of each network the sandbox is in. */
export function networkEvents(
  networks: Pick<NetworkSandboxes, 'driverOf'>,
  subject: EventSubject,
  sandbox: Pick<Sandbox, 'endpoints' | 'outlet'>,
  action: 'connect' | 'disconnect',
): EventDraft[] {
  return Object.entries(shownEndpoints(sandbox)).map(([name, endpoint]) =>
    endpointEvent(networks, subject, { name, endpoint }, action),
  );
}

/** The same of one network. */
export function endpointEvent(
  networks: Pick<NetworkSandboxes, 'driverOf'>,
  subject: Pick<EventSubject, 'id'>,
  { name, endpoint }: { name: string; endpoint: EndpointSettings | undefined },
  action: 'connect' | 'disconnect',
): EventDraft {
  return {
    type: 'network',
    action,
    actorId: endpoint?.NetworkID ?? name,
    attributes: { container: subject.id, name, type: networks.driverOf(name) },
  };
}
