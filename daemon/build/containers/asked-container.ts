import type { BuildWorker } from '../../../api/types/build/ports.ts';
import type { NewBuildContainer } from '../../../api/types/build/containers.ts';
import { errorText, invalidArgument, notImplemented } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { SANDBOX_HOSTNAME, type ExecMount, type ExecOp } from '../graph/op.ts';
import { mountMessage, type MountMessage } from '../llb/messages.ts';
import { readMount, rootOf, type MountInputs } from '../llb/mounts.ts';
import { readNetwork } from '../llb/sandbox.ts';

/** A mount in the order in which the client has named them. */
export type AskedMount = { kind: 'root' } | { kind: 'mount'; target: string };

/** What a container is made of. */
export interface AskedContainer extends Pick<
  ExecOp,
  'mounts' | 'network' | 'hostname' | 'extraHosts' | 'isRootReadonly'
> {
  /** References of results; the first is the root, and mounts count on from there. */
  results: readonly (string | undefined)[];
  places: readonly AskedMount[];
}

/** Throws invalid_argument, forbidden without an entitlement, and not_implemented by the field. Pure. */
export function readContainer(
  asked: NewBuildContainer,
  { entitlements, worker }: { entitlements: readonly string[]; worker: Pick<BuildWorker, 'platforms'> },
): AskedContainer {
  const { platform, constraints } = asked;
  if (asked.id === '') {
    throw invalidArgument('a container without ContainerID');
  }
  if (constraints.length > 0) {
    throw notImplemented(`constraints of a container are not supported: ${constraints.join(', ')}`);
  }
  refusePlatform(platform, worker);
  const mounts = readMounts(asked.mounts);
  const root = rootOf(mounts);
  if (root.resultId === '') {
    throw invalidArgument('mount / has no input');
  }
  const used = new UsedResults(root.resultId, mounts);
  const places: AskedMount[] = [];
  const all: ExecMount[] = [];
  for (const mount of mounts) {
    if (mount === root) {
      places.push({ kind: 'root' });
      continue;
    }
    const read = readMount(mount, used);
    all.push(read);
    places.push({ kind: 'mount', target: 'target' in read ? (read.target ?? '') : '' });
  }
  return {
    mounts: all,
    network: readNetwork(asked.network, entitlements),
    hostname: asked.hostname || SANDBOX_HOSTNAME,
    extraHosts: asked.extraHosts.map(({ host, ip }) => ({ name: host, address: ip })),
    ...(root.isReadonly && { isRootReadonly: true }),
    results: used.all,
    places,
  };
}

function readMounts(sent: readonly Buffer[]): MountMessage[] {
  if (sent.length > limits.llbMountsMax) {
    throw invalidArgument(`mounts: more than ${limits.llbMountsMax} of one container`);
  }
  return sent.map((bytes, input) => {
    try {
      // Nothing of a container becomes a result.
      return { ...mountMessage.decode(bytes), input, output: -1 };
    } catch (error) {
      throw invalidArgument(`mount ${input}: ${errorText(error)}`, { cause: error });
    }
  });
}

function refusePlatform(
  platform: NewBuildContainer['platform'],
  { platforms }: Pick<BuildWorker, 'platforms'>,
): void {
  const isHere = ({ os, architecture }: BuildWorker['platforms'][number]): boolean =>
    os === platform?.os && architecture === platform.architecture;
  if (platform !== undefined && !platforms.some(isHere)) {
    throw notImplemented(
      `platform ${platform.os}/${platform.architecture} of a container: this host cannot run it`,
    );
  }
}

/** Inputs of mounts are their positions. */
class UsedResults implements MountInputs {
  readonly all: (string | undefined)[];
  readonly #mounts: readonly MountMessage[];

  constructor(root: string, mounts: readonly MountMessage[]) {
    this.all = [root];
    this.#mounts = mounts;
  }

  isGiven(input: number): boolean {
    return this.#resultAt(input) !== undefined;
  }

  vertexAt(): undefined {
    return undefined;
  }

  positionOf(input: number): number {
    return this.all.push(this.#resultAt(input)) - 1;
  }

  #resultAt(input: number): string | undefined {
    return this.#mounts[input]?.resultId || undefined;
  }
}
