import { unreachable } from '../../../daemon/base/errors.ts';
import { until } from '../../support/engine/http.ts';
import { SERVICE_MOUNTS, pages } from '../../support/swarm/hosts/pages.ts';
import type { TestSwarm } from '../../support/swarm/hosts/test-swarm.ts';
import { BOXES, MANAGERS, SPARE_SERVICES, type Step } from './steps.ts';

/** Services whose tasks serve a page. */
export const PAGES = ['web', ...SPARE_SERVICES];
/** Its tasks answer datagrams. */
export const ECHO = 'echo';
export const ECHO_PORT = 8090;
const ECHO_COUNT = 2;
/** The overlay network of all services. */
export const NETWORK = 'shop';
/** A second one, with IPv6, of `ECHO` alone. */
export const NETWORK_6 = 'deep';
/** A lost leader, a lost node and a store without a majority have to be over in this time, beside load. */
export const HEALED_MS = 120_000;
const PAGE = ['sh', '-c', 'mkdir -p /www; hostname >/www/index.html; exec httpd -f -p 80 -h /www'];

/** Published by every node. */
export function portOf(service: string): number {
  return 8080 + PAGES.indexOf(service);
}

type Asked = (...words: string[]) => Promise<boolean>;
/** Steps that change what users want. */
export type Wish = Extract<
  Step,
  { kind: 'scale' | 'update' | 'create' | 'remove' | 'rotate-secret' | 'box' | 'unbox' }
>;

/** What users want, so that the swarm's own word is not taken for it; it is asked for until a manager takes it. */
export class Wishes {
  readonly services = new Map<string, number>();
  /** Containers in `NETWORK`: the node of each. */
  readonly boxes = new Map<string, number>();
  #secret = 0;
  readonly #swarm: TestSwarm;
  readonly #tried: Asked;

  /** `tried` lets some manager do it. */
  constructor(swarm: TestSwarm, tried: Asked) {
    this.#swarm = swarm;
    this.#tried = tried;
  }

  /** What tasks of `web` find in their secret. */
  get secret(): string {
    return `secret-${this.#secret}`;
  }

  async start(): Promise<void> {
    await this.#swarm.must(1, 'network', 'create', '--driver', 'overlay', '--attachable', NETWORK);
    const subnets = ['--subnet', '10.66.0.0/24', '--subnet', 'fd66::/64'];
    await this.#swarm.must(1, 'network', 'create', '--driver', 'overlay', '--ipv6', ...subnets, NETWORK_6);
    this.services.set('web', 4).set(ECHO, ECHO_COUNT);
    await this.repeat();
  }

  /** The wish counts, whatever became of the call: it is repeated when everything is healed. */
  async want(step: Wish): Promise<void> {
    switch (step.kind) {
      case 'rotate-secret':
        this.#secret += 1;
        await this.#giveSecret();
        return;
      case 'box':
        if (!this.boxes.has(step.name)) {
          this.boxes.set(step.name, step.node);
          await this.#run(step.name, step.node);
        }
        return;
      case 'unbox': {
        const node = this.boxes.get(step.name);
        this.boxes.delete(step.name);
        if (node !== undefined) {
          await this.#swarm.docker(node, 'rm', '--force', step.name);
        }
        return;
      }
      case 'create':
      case 'remove':
      case 'scale':
      case 'update':
        await this.#wantService(step);
        return;
      default:
        unreachable(step);
    }
  }

  /** A node without a disk, or one that leaves, has no containers in networks of the swarm. */
  forget(node: number): void {
    for (const [name, at] of this.boxes) {
      if (at === node) {
        this.boxes.delete(name);
      }
    }
  }

  /** Until managers and nodes have taken all that was wished. */
  async repeat(): Promise<void> {
    for (const service of [...PAGES, ECHO]) {
      const count = this.services.get(service);
      await soon(`${service} to be wanted ${count ?? 0} times`, async () =>
        count === undefined
          ? await this.#tried('service', 'rm', service)
          : (await this.#create(service, count)) &&
            (await this.#tried('service', 'scale', '--detach', `${service}=${count}`)),
      );
    }
    await soon(`web to have ${this.secret}`, () => this.#giveSecret());
    for (const name of BOXES) {
      await soon(`${name} to be where it is wanted`, () => this.#placed(name));
    }
  }

  async #wantService(step: Extract<Wish, { service: string }>): Promise<void> {
    const { kind, service } = step;
    const isThere = this.services.has(service);
    if (kind === 'create' && !isThere) {
      this.services.set(service, step.count);
      await this.#create(service, step.count);
    } else if (kind === 'remove' && isThere) {
      this.services.delete(service);
      await this.#tried('service', 'rm', service);
    } else if (kind === 'scale' && isThere) {
      this.services.set(service, step.count);
      await this.#tried('service', 'scale', '--detach', `${service}=${step.count}`);
    } else if (kind === 'update' && isThere) {
      await this.#tried('service', 'update', '--detach', '--force', '--update-parallelism', '2', service);
    }
  }

  #create(service: string, count: number): Promise<boolean> {
    const words = ['--name', service, '--detach', '--replicas', String(count), '--network', NETWORK];
    const haste = ['--stop-grace-period', '1s', '--restart-delay', '100ms'];
    if (service === ECHO) {
      const port = ['--network', NETWORK_6, '--publish', `${ECHO_PORT}:53/udp`];
      const served = [...SERVICE_MOUNTS, 'busybox', ...pages('echo', '53')];
      return this.#tried('service', 'create', ...words, ...haste, ...port, ...served);
    }
    const port = ['--publish', `${portOf(service)}:80`];
    return this.#tried('service', 'create', ...words, ...haste, ...port, 'busybox', ...PAGE);
  }

  /** Whether tasks of `web` are to have the present secret. */
  async #giveSecret(): Promise<boolean> {
    const Name = this.secret;
    for (const manager of MANAGERS) {
      const { daemon } = this.#swarm.node(manager);
      const Data = Buffer.from(Name).toString('base64');
      const made = daemon.isRunning()
        ? await daemon.http
            .request('POST', '/secrets/create', { body: { Name, Data } })
            // The daemon may be down: its round looks at it later.
            .catch(() => undefined)
        : undefined;
      if (made?.status === 201 || made?.status === 409) {
        const format = '{{range .Spec.TaskTemplate.ContainerSpec.Secrets}}{{.SecretName}} {{end}}';
        const { out } = await this.#swarm.docker(manager, 'service', 'inspect', '--format', format, 'web');
        const held = out.trim();
        const gone = held === '' ? [] : ['--secret-rm', held];
        const given = ['--secret-add', `source=${Name},target=key`];
        return (
          held === Name || (await this.#tried('service', 'update', '--detach', ...gone, ...given, 'web'))
        );
      }
    }
    return false;
  }

  async #run(name: string, node: number): Promise<boolean> {
    const words = [
      '--detach',
      '--restart',
      'always',
      '--network',
      NETWORK,
      '--name',
      name,
      '--hostname',
      name,
    ];
    return (await this.#swarm.docker(node, 'run', ...words, 'busybox', ...PAGE)).code === 0;
  }

  /** Whether a container runs on its node and on no other one. */
  async #placed(name: string): Promise<boolean> {
    const node = this.boxes.get(name);
    for (let other = 1; other <= this.#swarm.nodes.length; other += 1) {
      if (other !== node) {
        const { code, err } = await this.#swarm.docker(other, 'rm', '--force', name);
        if (code !== 0 && !err.includes('No such container')) {
          return false;
        }
      }
    }
    if (node === undefined) {
      return true;
    }
    const { out } = await this.#swarm.docker(node, 'inspect', '--format', '{{.State.Running}}', name);
    if (out.trim() !== 'true') {
      await this.#swarm.docker(node, 'rm', '--force', name);
      return await this.#run(name, node);
    }
    return true;
  }
}

function soon(what: string, wish: () => Promise<boolean>): Promise<void> {
  return until(what, wish, HEALED_MS);
}
