import type { ContainerConfig } from '../../../api/types/container.ts';

/**
 * The configuration of an image that is committed: what the client sends, completed by the container's, as moby's
 * `merge` (daemon/commit.go) does. Pure.
 */
export function mergeRunConfig(asked: ContainerConfig, container: ContainerConfig): ContainerConfig {
  const merged: ContainerConfig = {
    ...asked,
    User: asked.User || container.User || '',
    WorkingDir: asked.WorkingDir || container.WorkingDir || '',
    Env: mergeEnv(asked.Env ?? [], container.Env ?? []),
    Labels: { ...container.Labels, ...asked.Labels },
    Volumes: nullIfEmpty({ ...container.Volumes, ...asked.Volumes }),
    ...command(asked, container),
  };
  const ports = { ...container.ExposedPorts, ...asked.ExposedPorts };
  const health = healthcheck(asked.Healthcheck, container.Healthcheck);
  const stopSignal = asked.StopSignal || container.StopSignal;
  return {
    ...merged,
    ...(Object.keys(ports).length > 0 && { ExposedPorts: ports }),
    ...(health && { Healthcheck: health }),
    ...(stopSignal && { StopSignal: stopSignal }),
  };
}

/** A command of the container's only where the client gave neither command nor entrypoint. */
function command(
  asked: ContainerConfig,
  container: ContainerConfig,
): Pick<ContainerConfig, 'Cmd' | 'Entrypoint'> {
  const { Cmd = null, Entrypoint = null } = asked;
  if (Entrypoint !== null && Entrypoint.length > 0) {
    return { Cmd, Entrypoint };
  }
  return {
    Cmd: Cmd === null || Cmd.length === 0 ? (container.Cmd ?? null) : Cmd,
    Entrypoint: Entrypoint ?? container.Entrypoint ?? null,
  };
}

function nameOf(item: string): string {
  return item.replace(/=.*$/s, '');
}

function mergeEnv(asked: readonly string[], container: readonly string[]): string[] {
  const names = new Set(asked.map(nameOf));
  return [...asked, ...container.filter((item) => !names.has(nameOf(item)))];
}

function healthcheck(
  asked: ContainerConfig['Healthcheck'],
  container: ContainerConfig['Healthcheck'],
): ContainerConfig['Healthcheck'] {
  if (!asked || !container) {
    return asked ?? container;
  }
  return {
    Test: asked.Test && asked.Test.length > 0 ? asked.Test : (container.Test ?? []),
    ...pick(asked, container, 'Interval'),
    ...pick(asked, container, 'Timeout'),
    ...pick(asked, container, 'StartPeriod'),
    ...pick(asked, container, 'StartInterval'),
    ...pick(asked, container, 'Retries'),
  };
}

type Health = NonNullable<ContainerConfig['Healthcheck']>;

function pick(asked: Health, container: Health, key: Exclude<keyof Health, 'Test'>): Health {
  const value = asked[key] || container[key];
  return value ? { [key]: value } : {};
}

function nullIfEmpty<T extends object>(map: T): T | null {
  return Object.keys(map).length === 0 ? null : map;
}
