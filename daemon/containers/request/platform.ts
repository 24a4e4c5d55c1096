import { invalidArgument, notFound } from '../../base/errors.ts';
import type { ResolvedImage } from '../../images/images.ts';

/** What is not asked for fits any. */
export interface WantedPlatform {
  os?: string;
  architecture?: string;
  variant?: string;
}

const OPERATING_SYSTEMS: ReadonlySet<string> = new Set(['linux', 'windows', 'darwin', 'freebsd']);
const ARCHITECTURES: ReadonlySet<string> = new Set([
  'amd64',
  '386',
  'arm64',
  'arm',
  'ppc64le',
  's390x',
  'riscv64',
  'loong64',
  'mips64le',
]);
/** What uname(1) and people call them. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  x86_64: 'amd64',
  'x86-64': 'amd64',
  i386: '386',
  aarch64: 'arm64',
  armhf: 'arm',
  armel: 'arm',
};

/**
 * The `platform` parameter of create: `os`, `architecture`, or `os/architecture[/variant]`; undefined = none is asked
 * for. Throws invalid_argument for what is none of these. Pure.
 */
export function wantedPlatform(platform: string | undefined): WantedPlatform | undefined {
  return platform ? parsePlatform(platform) : undefined;
}

/** Throws dockerd's not_found where the image is for another platform than the client has written. Pure. */
export function refuseOtherPlatform(
  image: ResolvedImage,
  ref: string,
  platform: string | undefined,
  wanted: WantedPlatform | undefined,
): void {
  const { os = image.os, architecture = image.architecture } = wanted ?? {};
  if (os !== image.os || architecture !== image.architecture) {
    throw notFound(
      `image with reference ${ref} was found but does not match the specified platform: ` +
        `wanted ${platform ?? ''}, actual: ${image.os}/${image.architecture}`,
    );
  }
}

/** The texts are those of containerd, whose parser dockerd uses. */
function parsePlatform(platform: string): WantedPlatform {
  const shown = JSON.stringify(platform);
  const [first = '', second, ...rest] = platform.toLowerCase().split('/');
  if (rest.length > 1) {
    throw invalidArgument(`platform ${shown}: cannot parse platform specifier: invalid argument`);
  }
  const wrong = [first, second ?? first, ...rest].find((part) => !/^[a-z0-9_.-]+$/.test(part));
  if (wrong !== undefined) {
    throw invalidArgument(`platform ${shown}: ${JSON.stringify(wrong)} is an invalid component of ${shown}`);
  }
  if (second !== undefined) {
    const [variant] = rest;
    return { os: first, architecture: architectureOf(second), ...(variant !== undefined && { variant }) };
  }
  if (OPERATING_SYSTEMS.has(first)) {
    return { os: first };
  }
  const architecture = architectureOf(first);
  if (!ARCHITECTURES.has(architecture)) {
    throw invalidArgument(`platform ${shown}: unknown operating system or architecture: invalid argument`);
  }
  return { architecture };
}

function architectureOf(name: string): string {
  return Object.hasOwn(OTHER_NAMES, name) ? (OTHER_NAMES[name] ?? name) : name;
}
