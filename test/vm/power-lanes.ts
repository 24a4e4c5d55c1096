import type { ContainerCreateResponse } from '../../api/types/container.ts';
import type { ProgressMessage } from '../../api/types/image.ts';
import { jsonLines, sleep, type HttpClient } from '../support/engine/http.ts';
import { busyboxImageTar } from '../support/images/images.ts';
import { tar } from '../support/images/tar.ts';
import { buildContext, FILLING, type Acknowledged } from './power-journal.ts';

/** Networks are quickly made: without a pause nearly all that a round acknowledges before its cut would be theirs. */
const NETWORK_PAUSE_MS = 2000;

/** Work that never ends of itself, each for one round of power-work.ts. `tell` is called for what was acknowledged. */
export class Lanes {
  readonly #http: HttpClient;
  readonly #round: string;
  readonly #tell: (what: Acknowledged) => void;

  constructor(deps: { http: HttpClient; round: string; tell: (what: Acknowledged) => void }) {
    this.#http = deps.http;
    this.#round = deps.round;
    this.#tell = deps.tell;
  }

  async imports(): Promise<never> {
    for (let count = 0; ; count += 1) {
      const name = `import-${this.#round}:${count}`;
      const root = tar([{ name: 'proof', content: `${name}\n`.repeat(20_000) }]);
      const query = `fromSrc=-&repo=import-${this.#round}&tag=${count}`;
      const answer = await this.#http.request('POST', `/images/create?${query}`, { body: root });
      this.#tell({ did: 'imported', name, id: /sha256:[0-9a-f]{64}/.exec(answer.text)?.[0] ?? answer.text });
    }
  }

  async commits(): Promise<never> {
    for (let count = 0; ; count += 1) {
      const name = `commit-${this.#round}:${count}`;
      const id = await this.#run(['sh', '-c', `yes ${name} | head -n 20000 >/f`]);
      const query = `container=${id}&repo=commit-${this.#round}&tag=${count}`;
      const { Id } = await this.#http.ok<{ Id: string }>('POST', `/commit?${query}`, {});
      this.#tell({ did: 'committed', name, id: Id });
      await this.#http.ok('DELETE', `/containers/${id}`);
    }
  }

  /** Each build twice: the second is all from the cache. */
  async builds(): Promise<never> {
    for (let count = 0; ; count += 1) {
      const name = `build-${this.#round}:${count}`;
      const id = await build(this.#http, name);
      this.#tell({ did: 'built', name, id });
      const again = await build(this.#http, name);
      if (again !== id) {
        throw new Error(`${name}: ${id} was not taken from the cache, the second build is ${again}`);
      }
    }
  }

  async networks(): Promise<never> {
    const member = `member-${this.#round}`;
    await this.#run(['sleep', '1000'], { HostConfig: { NetworkMode: 'bridge' } }, member);
    for (let count = 0; ; count += 1) {
      const name = `network-${this.#round}-${count}`;
      const { Id } = await this.#http.ok<{ Id: string }>('POST', '/networks/create', { Name: name });
      this.#tell({ did: 'network', name, id: Id });
      await this.#http.ok('POST', `/networks/${name}/connect`, { Container: member });
      this.#tell({ did: 'connected', name: member, network: name });
      if (count % 2 === 1) {
        this.#tell({ did: 'removing', name, id: Id });
        await this.#http.ok('POST', `/networks/${name}/disconnect`, { Container: member });
        await this.#http.ok('DELETE', `/networks/${name}`);
        this.#tell({ did: 'removed', name, id: Id });
      }
      await sleep(NETWORK_PAUSE_MS);
    }
  }

  /** Volumes that an image fills, and that a container writes into. */
  async contents(): Promise<never> {
    const image = `filling-${this.#round}:1`;
    const layer = Object.entries(FILLING).map(([file, content]) => ({ name: `data/${file}`, content }));
    const body = busyboxImageTar({ tags: [image], extraLayers: [[{ name: 'data/', type: '5' }, ...layer]] });
    await this.#http.ok('POST', '/images/load?quiet=1', body);
    for (let count = 0; ; count += 1) {
      const filled = `filled-${this.#round}-${count}`;
      const Binds = [`${filled}:/data`];
      await this.#http.ok(
        'DELETE',
        `/containers/${await this.#run(['true'], { Image: image, HostConfig: { Binds } })}`,
      );
      this.#tell({ did: 'filled', name: filled });
      const written = `written-${this.#round}-${count}`;
      const write = ['sh', '-c', `echo ${written} >/data/f && fsync /data/f`];
      await this.#run(write, { HostConfig: { Binds: [`${written}:/data`] } });
      this.#tell({ did: 'written', name: written });
    }
  }

  /** Runs a container, to its end when it has no name. */
  async #run(Cmd: string[], more: object = {}, name?: string): Promise<string> {
    const { Id } = await this.#http.ok<ContainerCreateResponse>(
      'POST',
      `/containers/create${name === undefined ? '' : `?name=${name}`}`,
      { Image: 'busybox:latest', Cmd, HostConfig: { NetworkMode: 'none' }, ...more },
    );
    await this.#http.ok('POST', `/containers/${Id}/start`);
    if (name === undefined) {
      const { StatusCode } = await this.#http.ok<{ StatusCode: number }>('POST', `/containers/${Id}/wait`);
      if (StatusCode !== 0) {
        throw new Error(`${Cmd.join(' ')} ended with ${StatusCode}`);
      }
    }
    return Id;
  }
}

/** Builds the context of this name; answers the image's id. */
export async function build(http: HttpClient, name: string): Promise<string> {
  const answer = await http.request('POST', `/build?t=${name}`, {
    body: tar(buildContext(name)),
    headers: { 'Content-Type': 'application/x-tar' },
  });
  const messages = jsonLines(answer.text) as (ProgressMessage & { aux?: { ID?: string } })[];
  const id = messages.flatMap(({ aux }) => aux?.ID ?? []).at(-1);
  if (id === undefined) {
    throw new Error(`${name} was not built: ${answer.text}`);
  }
  return id;
}
