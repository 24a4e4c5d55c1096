import type { ServicePort } from '../../../api/types/swarm/ports.ts';
import { conflict } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { PushedImage, ServicesPort } from '../../hub/deliveries/services.ts';

interface Deps {
  /** Of the swarm. Throws when this host manages none. */
  services(): Pick<ServicePort, 'inspect' | 'update'>;
  /** By which images of the hub are named: `127.0.0.1:5010`. */
  hosts: readonly string[];
}

/** Has services of the swarm run what was pushed into the hub, as `docker service update --image` by digest. */
export class EngineServices implements ServicesPort {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  async redeploy({ service, ...image }: PushedImage & { service: string }): Promise<string> {
    const services = this.#deps.services();
    const { ID, Version, Spec } = await services.inspect(service, { insertDefaults: false });
    const container = Spec.TaskTemplate?.ContainerSpec;
    const [current = ''] = (container?.Image ?? '').split('@');
    if (!this.#namesOf(image).includes(current)) {
      throw conflict(
        `service ${service} runs ${current}, no image ${image.repository}:${image.tag} of this hub`,
      );
    }
    const next = `${current}@${image.digest}`;
    if (container?.Image === next) {
      return `service ${service} runs ${next} already`;
    }
    await services.update(
      ID,
      { ...Spec, TaskTemplate: { ...Spec.TaskTemplate, ContainerSpec: { ...container, Image: next } } },
      {
        version: Version.Index ?? 0,
        registryAuthFrom: 'spec',
        rollback: '',
        pinImage: false,
        signal: AbortSignal.timeout(limits.hubDeliveryMs),
      },
    );
    return `service ${service} is updated to ${next}`;
  }

  #namesOf({ repository, tag }: PushedImage): string[] {
    return this.#deps.hosts.map((host) => `${host}/${repository.toLowerCase()}:${tag}`);
  }
}
