import { networkInterfaces } from 'node:os';
import type { ContainerSummary } from '../../../api/types/container.ts';
import type { ServiceInspect, ServiceSpec } from '../../../api/types/swarm/service.ts';
import type { TaskInspect } from '../../../api/types/swarm/task.ts';
import { sleep, UnexpectedStatus, until, type HttpClient } from '../../support/engine/http.ts';
import { ServiceDaemon } from '../../support/engine/service.ts';

/** Port that every host answers at, and what answers there: a page with the task's host name. */
export const PAGE_PORT = 8080;
/** Port behind which each line comes back. */
export const ECHO_PORT = 7007;
export const TASKS = 2;
const SECOND = 1_000_000_000;

/** What tasks run: a page at 80, and echo at 7. The shell is there for the signal that ends it. */
const PROGRAM = `mkdir -p /www; hostname >/www/index.html; nc -ll -p 7 -e cat & httpd -p 80 -h /www
trap exit TERM; sleep 1000000 & wait $!`;

/** `web` has a virtual address in `shop` and answers at two ports of the host; `pool` is addresses without one. */
export function serviceSpec(name: 'web' | 'pool'): ServiceSpec {
  return {
    Name: name,
    TaskTemplate: {
      ContainerSpec: {
        Image: 'busybox:latest',
        Command: ['sh', '-c', PROGRAM],
        StopGracePeriod: SECOND,
      },
      Networks: [{ Target: 'shop' }],
    },
    Mode: { Replicated: { Replicas: TASKS } },
    EndpointSpec:
      name === 'pool'
        ? { Mode: 'dnsrr' }
        : {
            Ports: [
              { Protocol: 'tcp', TargetPort: 80, PublishedPort: PAGE_PORT },
              { Protocol: 'tcp', TargetPort: 7, PublishedPort: ECHO_PORT },
            ],
          },
  };
}

/** An emulated daemon has better to do than to answer a test. */
const LOOK_MS = 500;

/** As `until`, looking twice a second. A manager that is not ready yet, or has no leader, makes nobody wait in vain. */
export function soon(what: string, holds: () => Promise<boolean>): Promise<void> {
  return until(what, async () => {
    const isSo = await holds().catch((error: unknown) => {
      if (error instanceof UnexpectedStatus && error.answer.status === 503) {
        return false;
      }
      throw error;
    });
    return isSo || (await sleep(LOOK_MS).then(() => false));
  });
}

/** The swarm of one that the service of this guest is, and what its tests look at. */
export class HostSwarm {
  readonly daemon: ServiceDaemon;

  constructor(daemon: ServiceDaemon = ServiceDaemon.found()) {
    this.daemon = daemon;
  }

  get http(): HttpClient {
    return this.daemon.http;
  }

  /** The address at which other hosts would find this one. */
  get address(): string {
    const own = Object.entries(networkInterfaces()).flatMap(([name, found]) =>
      name.startsWith('en') ? (found ?? []) : [],
    );
    return own.find(({ family }) => family === 'IPv4')?.address ?? '127.0.0.1';
  }

  /**
   * Again when the time is over that a client waits for a swarm to begin: an emulated daemon that does it for the first
   * time may need longer, and then nothing of it is left.
   */
  async init(): Promise<void> {
    const body = { ListenAddr: '0.0.0.0:2377', AdvertiseAddr: this.address };
    await soon('a swarm to begin', async () => {
      const { status, text } = await this.http.request('POST', '/swarm/init', { body });
      if (status !== 200 && !text.includes('is being prepared')) {
        throw new Error(text);
      }
      return status === 200;
    });
  }

  network(Name: string): Promise<unknown> {
    return this.http.ok('POST', '/networks/create', { Name, Driver: 'overlay', Attachable: true });
  }

  /** A container of `docker run --network shop` that comes back after each boot. */
  async client(): Promise<void> {
    await this.http.ok('POST', '/containers/create?name=client', {
      Image: 'busybox:latest',
      Cmd: ['sleep', '1000000'],
      HostConfig: { NetworkMode: 'shop', RestartPolicy: { Name: 'always' } },
    });
    await this.http.ok('POST', '/containers/client/start');
  }

  /** Standard output of a program in the client's container. */
  async inClient(...Cmd: string[]): Promise<string> {
    const { Id } = await this.http.ok<{ Id: string }>('POST', '/containers/client/exec', {
      AttachStdout: true,
      AttachStderr: true,
      Cmd,
    });
    const stream = await this.http.hijack(`/exec/${Id}/start`, { body: { Detach: false, Tty: false } });
    return (await stream.output()).stdout.trim();
  }

  /** What a URL answers in the client's network; empty when nothing does. A static busybox's own wget dies of names. */
  async fromClient(url: string): Promise<string> {
    const { State } = await this.http.ok<{ State: { Pid: number } }>('GET', '/containers/client/json');
    const curl = ['curl', '--silent', '--fail', '--max-time', '5', url];
    const argv = ['nsenter', `--target=${State.Pid}`, '--net', '--', ...curl];
    return this.daemon.netns.run(...argv).then(
      (page) => page.trim(),
      () => '',
    );
  }

  service(name: string): Promise<ServiceInspect> {
    return this.http.ok('GET', `/services/${name}`);
  }

  async vip(name: string): Promise<string> {
    const { Endpoint } = await this.service(name);
    const shop = await this.http.ok<{ Id: string }>('GET', '/networks/shop');
    const found = Endpoint?.VirtualIPs?.find(({ NetworkID }) => NetworkID === shop.Id);
    return found?.Addr?.split('/')[0] ?? 'none';
  }

  tasks(service: string, desired = 'running'): Promise<TaskInspect[]> {
    const filters = JSON.stringify({ service: [service], 'desired-state': [desired] });
    return this.http.ok('GET', `/tasks?filters=${encodeURIComponent(filters)}`);
  }

  /** Running containers of a service, by id in order. */
  async containers(service: string): Promise<string[]> {
    const filters = JSON.stringify({ label: [`com.docker.swarm.service.name=${service}`] });
    const found = await this.http.ok<ContainerSummary[]>(
      'GET',
      `/containers/json?filters=${encodeURIComponent(filters)}`,
    );
    return found.map(({ Id }) => Id).toSorted();
  }

  /** Resolves once all tasks of a service run. */
  running(service: string): Promise<void> {
    return soon(`${TASKS} tasks of ${service}`, async () => {
      const states = (await this.tasks(service)).map(({ Status }) => Status?.State);
      return states.length === TASKS && states.every((state) => state === 'running');
    });
  }

  /** Host names that answer at a URL from this host, in order; waits until as many do as there are tasks. */
  async pages(host: string): Promise<string[]> {
    const names = new Set<string>();
    await soon(`${TASKS} tasks to answer at ${host}:${PAGE_PORT}`, async () => {
      const name = (await this.daemon.fetch(`http://${host}:${PAGE_PORT}/`)).trim();
      return name !== '' && names.add(name).size >= TASKS;
    });
    return [...names].toSorted();
  }

  /** IPv4 addresses of a name as the client's resolver has them, in order. */
  async addresses(name: string): Promise<string[]> {
    const answer = await this.inClient('nslookup', name);
    return [...answer.matchAll(/^Address: (\d+\.\d+\.\d+\.\d+)$/gm)]
      .map(([, address = '']) => address)
      .toSorted();
  }
}
