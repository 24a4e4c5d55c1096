import { invalidArgument } from '../../daemon/base/errors.ts';

/** The kind of machine an image is for, in the words of the OCI image specification (Go's GOOS and GOARCH). */
export interface Platform {
  os: string;
  architecture: string;
  variant?: string;
}

const ARCHITECTURES: Readonly<Record<string, string>> = {
  x64: 'amd64',
  ia32: '386',
  arm64: 'arm64',
  arm: 'arm',
  ppc64: 'ppc64le',
  s390x: 's390x',
  riscv64: 'riscv64',
  loong64: 'loong64',
};

/** The platform of this process. */
export function hostPlatform(): Platform {
  return { os: 'linux', architecture: ARCHITECTURES[process.arch] ?? process.arch };
}

/** Other names of the same architecture, those of `uname -m` among them. */
const ALIASES: Readonly<Record<string, string>> = {
  x86_64: 'amd64',
  'x86-64': 'amd64',
  aarch64: 'arm64',
  i386: '386',
  i686: '386',
  armhf: 'arm',
};

const COMPONENT = /^[A-Za-z0-9_.-]+$/;

/**
 * `os[/architecture[/variant]]`; empty = this host. `what` begins error messages. `anySystem`: of files that nobody
 * runs here. Throws invalid_argument.
 */
export function parsePlatform(
  text: string,
  what: string,
  { anySystem }: { anySystem: boolean } = { anySystem: false },
): Platform {
  const host = hostPlatform();
  if (text === '') {
    return host;
  }
  const [os, architecture, variant, ...rest] = text.toLowerCase().split('/');
  if (rest.length > 0) {
    throw invalidArgument(`${what}: ${JSON.stringify(text)}: cannot parse platform specifier`);
  }
  const wrong = [os, architecture, variant].find((part) => part !== undefined && !COMPONENT.test(part));
  if (wrong !== undefined) {
    throw invalidArgument(
      `${what}: ${JSON.stringify(wrong)} is an invalid component of ${JSON.stringify(text)}: ` +
        `platform specifier component must match "${COMPONENT.source}"`,
    );
  }
  if (os === undefined || (os !== 'linux' && !anySystem)) {
    throw invalidArgument(
      `${what}: operating system ${JSON.stringify(os)} is not supported on this platform`,
    );
  }
  return {
    os,
    architecture: architecture === undefined ? host.architecture : (ALIASES[architecture] ?? architecture),
    ...(variant === undefined ? {} : { variant }),
  };
}

/** `linux/arm64/v8` */
export function formatPlatform(platform: Platform): string {
  const { os, architecture, variant } = platform;
  return [os, architecture, ...(variant === undefined ? [] : [variant])].join('/');
}

/**
 * The best of several images for a host: same system and architecture, then same variant; the first of equals.
 * Undefined when none fits. An image without a platform fits only when it is the only one.
 */
export function choosePlatform<T extends { platform: Platform | undefined }>(
  candidates: readonly T[],
  host: Platform,
): T | undefined {
  const fitting = candidates.filter(
    ({ platform }) => platform?.os === host.os && platform.architecture === host.architecture,
  );
  const exact = fitting.find(({ platform }) => platform?.variant === host.variant);
  const only = candidates.length === 1 && candidates[0]?.platform === undefined ? candidates[0] : undefined;
  return exact ?? fitting[0] ?? only;
}
