import type { ExecMount, Vertex } from '../graph/op.ts';
import { invalidArgument } from '../../base/errors.ts';

/** The image that looks through others: its platform is that of this host. */
export interface Scanner {
  /** With digest, where it has one. */
  reference: string;
  platform: string;
  config: {
    Entrypoint?: readonly string[] | null;
    Cmd?: readonly string[] | null;
    Env?: readonly string[] | null;
    WorkingDir?: string;
  };
}

/** What is looked through. */
export interface Scanned {
  /** As progress shows it. */
  title: string;
  core: Vertex;
  /** Besides, by name. */
  extras: ReadonlyMap<string, Vertex>;
  /** For the scanner, as `BUILDKIT_SCAN_NAME`. */
  parameters: ReadonlyMap<string, string>;
  isFresh: boolean;
}

/** What the scan of the result itself is called, and how those of others begin. */
export const CORE = 'sbom';
const SOURCES = '/run/src';
const DESTINATION = '/run/out';
const NUMBER = 1;

/**
 * The scan of a result by BuildKit's protocol (docs/attestations/sbom-protocol.md there): what the scanner has written,
 * one statement a file. Throws invalid_argument for a scanner without a command. Pure.
 */
export function scanVertex(
  { reference, platform, config }: Scanner,
  { title, core, extras, parameters, isFresh }: Scanned,
): Vertex {
  const argv = [...(config.Entrypoint ?? []), ...(config.Cmd ?? [])];
  if (argv.length === 0) {
    throw invalidArgument(`scanner ${reference} does not have cmd`);
  }
  const image: Vertex = {
    op: { kind: 'image', reference, platform, mode: 'local' },
    inputs: [],
    name: `[sbom] ${reference}`,
  };
  const inputs: (Vertex | undefined)[] = [image];
  const mounted = (tree: Vertex | undefined, target: string, more: object = {}): ExecMount => ({
    type: 'bind',
    from: inputs.push(tree) - 1,
    source: '/',
    target,
    isWritable: false,
    isWhole: true,
    ...more,
  });
  const mounts: ExecMount[] = [
    { type: 'tmpfs', target: '/tmp' },
    mounted(core, `${SOURCES}/core/${CORE}`),
    ...[...extras].map(([name, tree]) => mounted(tree, `${SOURCES}/extras/${CORE}-${name}`)),
    mounted(undefined, DESTINATION, { isWritable: true, result: NUMBER }),
  ];
  const env = [
    ...(config.Env ?? []),
    `BUILDKIT_SCAN_DESTINATION=${DESTINATION}/`,
    `BUILDKIT_SCAN_SOURCE=${SOURCES}/core/${CORE}`,
    ...(extras.size > 0 ? [`BUILDKIT_SCAN_SOURCE_EXTRAS=${SOURCES}/extras/`] : []),
    ...[...parameters].map(([name, value]) => `BUILDKIT_SCAN_${name}=${value}`),
  ];
  const name = `[${title}] generating sbom using ${reference}`;
  const command: Vertex = {
    op: {
      kind: 'exec',
      argv,
      env,
      quietEnv: [],
      directory: config.WorkingDir || '/',
      user: '',
      network: 'default',
      isPrivileged: false,
      hostname: '',
      extraHosts: [],
      ulimits: [],
      cgroupParent: '',
      mounts,
    },
    inputs,
    name,
    ...(isFresh && { isFresh }),
  };
  return { op: { kind: 'result', number: NUMBER }, inputs: [command], name };
}
