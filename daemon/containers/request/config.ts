import type { ContainerConfig, ContainerCreateRequest } from '../../../api/types/container.ts';
import type { EmptyObjectMap, StringMap } from '../../../api/types/maps.ts';
import type { HostFacts } from '../../../runtime/host/facts.ts';
import { shortId } from '../../base/ids.ts';
import { invalidArgument } from '../../base/errors.ts';
import { parseSignal } from '../../base/signals.ts';
import type { ResolvedImage } from '../../images/images.ts';
import { cleanPath } from './container-path.ts';
import { mergeHealthcheck } from './healthcheck.ts';
import { normalisePort, refuseBadMac } from './networking.ts';
import { problemOfLength, wholeNumber } from './refuse.ts';

/** HOST_NAME_MAX of Linux (uapi/linux/limits.h). */
const HOSTNAME_LENGTH_MAX = 64;
/** RFC 1123 labels, and underscores: real clients name hosts `my_service` and dockerd lets them. */
const HOSTNAME = /^[a-z0-9](?:[a-z0-9_-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9_-]{0,61}[a-z0-9])?)*\.?$/i;
/** A process that starts in one of these keeps a directory of the process that set it up (CVE-2024-21626). */
const MAGIC_DIRECTORY = /^\/proc\/(?:self|thread-self|\d+)\/(?:task\/\d+\/)?(?:fd|cwd|root)(?:\/|$)/;

export interface Identity {
  id: string;
  /** Of the namespace the container joins, where it does. */
  hostname?: string;
  domainname?: string;
}

/**
 * Config as `docker inspect` shows it: the request, completed by the image. Pure.
 * Throws invalid_argument; what the image asks for and the engine cannot do is a warning.
 */
export function mergeConfig(
  request: ContainerCreateRequest,
  image: ContainerConfig,
  identity: Identity,
): { config: ContainerConfig; warnings: string[] } {
  const { healthcheck, warnings } = mergeHealthcheck(request.Healthcheck, image.Healthcheck);
  const stopSignal = request.StopSignal || image.StopSignal;
  const stopTimeout = request.StopTimeout ?? undefined;
  const macAddress = request.MacAddress ?? '';
  const exposed = mergePorts(request.ExposedPorts, image.ExposedPorts);
  const config: ContainerConfig = {
    Hostname: checkHostname(request.Hostname || identity.hostname || shortId(identity.id)),
    Domainname: checkDomainname(request.Domainname || identity.domainname || ''),
    User: request.User || image.User || '',
    AttachStdin: request.AttachStdin ?? false,
    AttachStdout: request.AttachStdout ?? false,
    AttachStderr: request.AttachStderr ?? false,
    ...(Object.keys(exposed).length > 0 && { ExposedPorts: exposed }),
    Tty: request.Tty ?? false,
    OpenStdin: request.OpenStdin ?? false,
    StdinOnce: request.StdinOnce ?? false,
    Env: mergeEnv(request.Env, image.Env),
    ...mergeCommand(request, image),
    ...(healthcheck && { Healthcheck: healthcheck }),
    // Of Windows images; harmless, and shown again because some Linux images carry it.
    ...(request.ArgsEscaped && { ArgsEscaped: true }),
    Image: request.Image ?? '',
    Volumes: mergeVolumes(request.Volumes, image.Volumes),
    WorkingDir: checkWorkingDirectory(request.WorkingDir || image.WorkingDir || ''),
    ...(request.NetworkDisabled && { NetworkDisabled: true }),
    ...(macAddress !== '' && { MacAddress: refuseBadMac(macAddress) }),
    OnBuild: request.OnBuild ?? null,
    Labels: mergeLabels(request.Labels, image.Labels),
    ...(stopSignal && { StopSignal: checkSignal(stopSignal) }),
    ...(stopTimeout !== undefined && { StopTimeout: wholeNumber('StopTimeout', stopTimeout) }),
    ...(request.Shell && request.Shell.length > 0 && { Shell: request.Shell }),
  };
  return { config, warnings };
}

/**
 * Warns when an image is for another kind of processor and nobody has asked for that; throws invalid_argument for
 * another operating system.
 */
export function platformWarnings(image: ResolvedImage, facts: HostFacts, isAsked: boolean): string[] {
  if (image.os !== '' && image.os !== 'linux') {
    throw invalidArgument(`image operating system "${image.os}" cannot be used on this platform`);
  }
  const { architecture } = image;
  if (isAsked || architecture === '' || runsNatively(architecture, facts.imageArchitecture)) {
    return [];
  }
  return [
    `The requested image's platform (linux/${architecture}) does not match the detected host platform ` +
      `(linux/${facts.imageArchitecture}) and no specific platform was requested`,
  ];
}

/** 64-bit processors of these kinds run their 32-bit ancestors' programs. */
function runsNatively(image: string, host: string): boolean {
  return image === host || (host === 'amd64' && image === '386') || (host === 'arm64' && image === 'arm');
}

/**
 * A working directory in normal form. Throws invalid_argument when it is relative or leads out of the container
 * through a descriptor.
 */
export function checkWorkingDirectory(directory: string): string {
  if (directory === '') {
    return '';
  }
  if (!directory.startsWith('/')) {
    throw invalidArgument(`the working directory '${directory}' is invalid, it needs to be an absolute path`);
  }
  const tooLong = problemOfLength(directory);
  if (tooLong !== undefined) {
    throw invalidArgument(`the working directory is invalid: ${tooLong}`);
  }
  const clean = cleanPath(directory);
  if (MAGIC_DIRECTORY.test(clean)) {
    throw invalidArgument(
      `the working directory '${directory}' is invalid, it names an open file of a process`,
    );
  }
  return clean;
}

/** Throws invalid_argument unless each entry has a name before its first `=`. */
export function checkEnv(entries: readonly string[]): void {
  const wrong = entries.findIndex((entry) => entry === '' || entry.startsWith('='));
  if (wrong !== -1) {
    // dockerd repeats the entry, which may be a password.
    throw invalidArgument(`invalid environment variable: entry ${wrong} has no name before its '='`);
  }
}

/** The name of an environment entry: what stands before its first `=`. */
export function envName(entry: string): string {
  return entry.split('=', 1)[0] ?? entry;
}

function mergeEnv(request: string[] | null | undefined, image: string[] | null | undefined): string[] {
  const own = request ?? [];
  checkEnv(own);
  const names = new Set(own.map(envName));
  return [...own, ...(image ?? []).filter((entry) => !names.has(envName(entry)))];
}

/** An entrypoint of one's own drops the command of the image: it was written for the image's entrypoint. */
function mergeCommand(
  request: ContainerConfig,
  image: ContainerConfig,
): { Cmd: string[] | null; Entrypoint: string[] | null } {
  let entrypoint = request.Entrypoint ?? null;
  let command = request.Cmd ?? null;
  if (entrypoint === null || entrypoint.length === 0) {
    if (command === null || command.length === 0) {
      command = image.Cmd ?? null;
    }
    entrypoint ??= image.Entrypoint ?? null;
  }
  // `--entrypoint ""`: clients send one empty word to clear the image's.
  if (entrypoint !== null && (entrypoint.length === 0 || (entrypoint.length === 1 && entrypoint[0] === ''))) {
    entrypoint = null;
  }
  if (entrypoint === null && (command === null || command.length === 0)) {
    throw invalidArgument('No command specified');
  }
  return { Cmd: command, Entrypoint: entrypoint };
}

function mergePorts(
  request: EmptyObjectMap | null | undefined,
  image: EmptyObjectMap | null | undefined,
): EmptyObjectMap {
  const ports = [...Object.keys(request ?? {}), ...Object.keys(image ?? {})].map(normalisePort);
  return Object.fromEntries(ports.map((port) => [port, {}]));
}

function mergeVolumes(
  request: EmptyObjectMap | null | undefined,
  image: EmptyObjectMap | null | undefined,
): EmptyObjectMap | null {
  const paths = [...Object.keys(request ?? {}), ...Object.keys(image ?? {})];
  return paths.length === 0 ? null : Object.fromEntries(paths.map((path) => [path, {}]));
}

function mergeLabels(request: StringMap | null | undefined, image: StringMap | null | undefined): StringMap {
  // Spreading defines properties, so a label called __proto__ stays a label.
  return { ...image, ...request };
}

function checkHostname(hostname: string): string {
  if (hostname.length > HOSTNAME_LENGTH_MAX) {
    throw invalidArgument(`hostname "${hostname}" is too long (maximum ${HOSTNAME_LENGTH_MAX} bytes)`);
  }
  if (!HOSTNAME.test(hostname)) {
    throw invalidArgument(`invalid hostname format: ${hostname}`);
  }
  return hostname;
}

function checkDomainname(domainname: string): string {
  if (domainname !== '' && (domainname.length > HOSTNAME_LENGTH_MAX || !HOSTNAME.test(domainname))) {
    throw invalidArgument(`invalid domainname format: ${domainname}`);
  }
  return domainname;
}

function checkSignal(signal: string): string {
  parseSignal(signal);
  return signal;
}
