import { constants } from 'node:os';
import { expect } from 'vitest';
import type { ContainerInspect, ContainerSummary } from '../../api/types/container.ts';
import type { ImageSummary } from '../../api/types/image.ts';
import type { HttpClient } from '../support/engine/http.ts';
import { WAIT_MS } from '../support/patience.ts';
import { untilCatching } from '../support/process.ts';

/** The one container that verbs work on. */
export const NAME = 'victim';
/** Everything a container can hold on to: address, port, shared memory, named and anonymous volume. */
export const BODY = {
  Image: 'busybox:latest',
  Cmd: ['sh', '-c', 'trap "exit 0" TERM; while :; do sleep 0.05; done'],
  ExposedPorts: { '80/tcp': {} },
  Volumes: { '/anonymous': {} },
  HostConfig: {
    NetworkMode: 'bridge',
    IpcMode: 'shareable',
    Binds: ['named:/named'],
    PortBindings: { '80/tcp': [{ HostPort: '8400' }] },
  },
};

/** Longer than any verb takes, stop with its timeout included: who has no answer by then hangs. */
const ANSWER_TIMEOUT_MS = WAIT_MS;

export async function accept(
  http: HttpClient,
  method: string,
  path: string,
  statuses: number[],
  body?: unknown,
): Promise<void> {
  const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS);
  const answer = await http.request(method, path, { signal, ...(body === undefined ? {} : { body }) });
  if (!statuses.includes(answer.status) || answer.text.includes('errorDetail')) {
    throw new Error(`${method} ${path}: ${answer.status} ${answer.text.slice(0, 300)}`);
  }
}

export function inspect(http: HttpClient): Promise<ContainerInspect> {
  return http.ok('GET', `/containers/${NAME}/json`);
}

export async function expectState(http: HttpClient, ...statuses: string[]): Promise<void> {
  const { State } = await inspect(http);
  expect(statuses).toContain(State.Status);
}

export async function createVictim(http: HttpClient, more: object = {}): Promise<void> {
  await accept(http, 'POST', `/containers/create?name=${NAME}`, [201], { ...BODY, ...more });
}

export async function startVictim(http: HttpClient): Promise<void> {
  await createVictim(http);
  await accept(http, 'POST', `/containers/${NAME}/start`, [204]);
}

export async function pauseVictim(http: HttpClient): Promise<void> {
  await startVictim(http);
  const { State } = await inspect(http);
  // Frozen before its shell has set the trap, it would not take a stop signal.
  await untilCatching(State.Pid, constants.signals.SIGTERM);
  await accept(http, 'POST', `/containers/${NAME}/pause`, [204]);
}

export async function removeVictim(http: HttpClient): Promise<void> {
  await accept(http, 'DELETE', `/containers/${NAME}?force=1&v=1`, [204, 404]);
  await accept(http, 'DELETE', '/volumes/named?force=1', [204, 404]);
}

/** A second attempt may find that the first one got as far as its effect. */
export async function acceptOrAlready(http: HttpClient, path: string, already: string): Promise<void> {
  const answer = await http.request('POST', path, { signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) });
  if (answer.status !== 204 && !(answer.status === 409 && answer.text.includes(already))) {
    throw new Error(`POST ${path}: ${answer.status} ${answer.text.slice(0, 300)}`);
  }
}

export async function unchanged(http: HttpClient, before: PublicView): Promise<void> {
  expect(await publicView(http)).toEqual(before);
}

export async function nothing(): Promise<void> {
  // Nothing to prepare, or nothing to check.
}

/** What a user sees: which containers in which state, volumes, images. */
export type PublicView = Record<'containers' | 'volumes' | 'images', string[]>;

export async function publicView(http: HttpClient): Promise<PublicView> {
  const containers = await http.ok<ContainerSummary[]>('GET', '/containers/json?all=1');
  const { Volumes } = await http.ok<{ Volumes: { Name: string }[] | null }>('GET', '/volumes');
  const images = await http.ok<ImageSummary[]>('GET', '/images/json?all=1');
  return {
    containers: containers.map(({ Names, State }) => `${Names.join(' ')} ${State}`).toSorted(),
    volumes: (Volumes ?? []).map(({ Name }) => Name).toSorted(),
    images: images.flatMap(({ Id, RepoTags }) => [Id, ...RepoTags]).toSorted(),
  };
}
