import type { NetworkEndpoint, NetworkService } from '../../../api/types/swarm/overlay.ts';
import type { NetworkServices } from '../../../api/types/system.ts';
import type { NetworkState } from './network-state.ts';

/** Services of a network with the tasks that take calls, as managers show them: for `inspect?verbose=true`. Pure. */
export function servicesIn(state: NetworkState): NetworkServices {
  return Object.fromEntries(
    [...state.services.values()].map((service) => [
      service.name,
      {
        VIP: service.vips[0] ?? '',
        Ports: service.ports.map(({ target, published }) => `Target: ${target}, Publish: ${published}`),
        LocalLBIndex: 0,
        Tasks: state.readyOf(service.id).map((endpoint) => taskOf(service, endpoint)),
      },
    ]),
  );
}

function taskOf(
  { name }: NetworkService,
  { id, names: [first = ''], addresses, nodeAddr }: NetworkEndpoint,
): NetworkServices[string]['Tasks'][number] {
  // Names are told in lower case; the service's own is as its user wrote it.
  const isOfService = first.startsWith(`${name.toLowerCase()}.`);
  return {
    Name: isOfService ? `${name}${first.slice(name.length)}` : first,
    EndpointID: id,
    EndpointIP: addresses[0] ?? '',
    Info: { 'Host IP': nodeAddr },
  };
}
