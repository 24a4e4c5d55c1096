import type { EnginePorts } from '../../../api/types/ports.ts';
import type { TaskInspect } from '../../../api/types/swarm/task.ts';
import { isEngineError } from '../../base/errors.ts';
import type { TargetGroup } from '../../cluster/targets/groups/target-group.ts';
import type { GroupPlaces } from '../../cluster/targets/groups/groups.ts';
import type { Place, TargetPlaces } from '../../cluster/targets/health/places.ts';
import type { Target } from '../../cluster/targets/registrations/target.ts';

type Ports = Pick<EnginePorts, 'containers' | 'networks' | 'swarm'>;

/** The bridge by which this host reaches containers whose networks are all of the swarm. */
const OUTLET = 'docker_gwbridge';

/** Where containers, tasks, nodes and services are, as this host reaches them. */
export class EnginePlaces implements TargetPlaces, GroupPlaces {
  readonly #ports: Ports;

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  async find(group: TargetGroup, target: Target): Promise<Place | undefined> {
    if (group.type === 'ALB') {
      return await orNone(() => this.#service(target));
    }
    const network = group.config.vpcIdentifier;
    return (
      (await orNone(() => this.#container(target.id, network))) ??
      (await orNone(() => this.#ownTask(target.id, network))) ??
      (await orNone(() => this.#task(target))) ??
      (await orNone(() => this.#node(target.id)))
    );
  }

  /** A group whose network is not there cannot reach anything. */
  async problem({ config }: TargetGroup): Promise<{ code: string; message: string } | undefined> {
    const { vpcIdentifier } = config;
    return vpcIdentifier === undefined || (await this.#networkId(vpcIdentifier)) !== undefined
      ? undefined
      : { code: 'NetworkNotFound', message: `there is no network ${vpcIdentifier}` };
  }

  /** A name, an id, or `vpc-` with the first 17 characters of an id: strict clients send nothing else. */
  async #networkId(named: string): Promise<string | undefined> {
    const [, alias] = /^vpc-([0-9a-f]{17})$/.exec(named) ?? [];
    if (alias !== undefined) {
      const all = await this.#ports.networks.list(new Map());
      return all.find(({ Id }) => Id.startsWith(alias))?.Id;
    }
    return (await orNone(() => this.#ports.networks.inspect(named, {})))?.Id;
  }

  async #container(ref: string, network: string | undefined): Promise<Place | undefined> {
    const { Id, State, HostConfig, NetworkSettings } = await this.#ports.containers.inspect(ref, {
      size: false,
    });
    if (!State.Running) {
      return undefined;
    }
    if (HostConfig.NetworkMode === 'host') {
      return { host: '127.0.0.1' };
    }
    const id = network === undefined ? undefined : await this.#networkId(network);
    for (const { NetworkID, IPAddress } of Object.values(NetworkSettings.Networks)) {
      const isMeant = network === undefined || NetworkID === id;
      if (isMeant && IPAddress !== undefined && IPAddress !== '' && (await this.#isOfHost(NetworkID))) {
        return { host: IPAddress };
      }
    }
    const outlet = await orNone(() => this.#ports.networks.inspect(OUTLET, {}));
    const address = outlet?.Containers?.[Id]?.IPv4Address;
    return address === undefined ? undefined : { host: address.split('/')[0] ?? address };
  }

  /** Addresses of the swarm's networks are reached from within these only. */
  async #isOfHost(network: string | undefined): Promise<boolean> {
    const found = await orNone(() => this.#ports.networks.inspect(network ?? '', {}));
    return found?.Scope === 'local';
  }

  /** A task of this host, found by its container: managers do not call it running before it is healthy. */
  async #ownTask(id: string, network: string | undefined): Promise<Place | undefined> {
    const filters = new Map([['label', [`com.docker.swarm.task.id=${id}`]]]);
    const [found] = await this.#ports.containers.list({ all: false, limit: 0, size: false, filters });
    return found === undefined ? undefined : await this.#container(found.Id, network);
  }

  async #task({ id, port }: Target): Promise<Place | undefined> {
    const task = await this.#ports.swarm.tasks.inspect(id);
    return task.Status.State === 'running' ? await this.#elsewhere(task, port ?? 0) : undefined;
  }

  /** A task of another node is reached by a port that the node publishes for it. */
  async #elsewhere({ NodeID, Status }: TaskInspect, port: number): Promise<Place | undefined> {
    const published = Status.PortStatus.Ports?.find(({ TargetPort }) => TargetPort === port)?.PublishedPort;
    const node = published === undefined ? undefined : await this.#node(NodeID ?? '');
    return node === undefined || published === undefined ? undefined : { ...node, port: published };
  }

  async #node(id: string): Promise<Place | undefined> {
    const { Status } = await this.#ports.swarm.nodes.inspect(id);
    return Status?.Addr === undefined || Status.Addr === '' ? undefined : { host: Status.Addr };
  }

  /** The port by which every node takes requests for a service. */
  async #service({ id, port }: Target): Promise<Place | undefined> {
    const { Endpoint } = await this.#ports.swarm.services.inspect(id, { insertDefaults: false });
    const ports = Endpoint?.Ports ?? [];
    const found =
      ports.find(({ TargetPort }) => TargetPort === port) ??
      ports.find(({ PublishedPort }) => PublishedPort === port);
    return found?.PublishedPort === undefined ? undefined : { host: '127.0.0.1', port: found.PublishedPort };
  }
}

/** Undefined where there is none, where the swarm is not within reach, or where a name means several. */
async function orNone<T>(look: () => Promise<T>): Promise<T | undefined> {
  try {
    return await look();
  } catch (error) {
    if (isEngineError(error) && error.code !== 'internal') {
      return undefined;
    }
    throw error;
  }
}
