import { detectCgroups } from '../../../runtime/cgroups/detect.ts';
import type { CgroupLayout } from '../../../runtime/cgroups/detect.ts';
import { readHostFacts } from '../../../runtime/host/read-facts.ts';
import type { HostFacts } from '../../../runtime/host/facts.ts';
import { liveHost } from '../../../runtime/host/source.ts';
import { EngineError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { checkCgroupParent } from '../../containers/request/limits/cgroup-parent.ts';
import type { Config } from '../config/settings.ts';
import type { Instance } from '../instance.ts';
import { realHost } from './preflight.ts';

/** What this machine is, and which of its programs and cgroups this daemon uses. */
export interface Host {
  facts: HostFacts;
  cgroupLayout: CgroupLayout;
  cgroupParent: string;
  runcPath: string;
  /** Runtimes besides runc, by name; without a path where the program is not there. */
  runtimes: ReadonlyMap<string, { path: string | undefined; args: readonly string[] }>;
  conmonPath: string;
}

/** Looks at the machine and logs what it lacks. Throws unavailable when runc or conmon cannot be used. */
export async function readHost(config: Config, instance: Instance, log: Logger): Promise<Host> {
  const detected = detectCgroups();
  if (detected.layout.unified === null && detected.layout.controllers.size === 0) {
    throw new EngineError(
      'unavailable',
      'no cgroups are mounted in this mount namespace (/sys/fs/cgroup); ' +
        'ip netns exec hides them: enter a network namespace with nsenter --net=/run/netns/NAME',
    );
  }
  const driver = instance.cgroupDriver ?? detected.driver;
  const runc = config.runtimes['runc']?.path;
  const paths = { ...(runc && { runc }), ...(config.initPath !== '' && { init: config.initPath }) };
  const facts = await readHostFacts(liveHost(), { cgroupDriver: driver, paths });
  for (const warning of facts.warnings) {
    log.warn({ warning }, 'host');
  }
  const { runc: runcFound, conmon } = facts.components;
  if (runcFound === null || conmon === null) {
    throw new EngineError('unavailable', 'runc and conmon are there but do not tell their versions');
  }
  return {
    facts,
    runtimes: findRuntimes(config, log),
    cgroupLayout: detected.layout,
    cgroupParent: checkCgroupParent(instance.cgroupParent(driver), driver, 'cgroup-parent'),
    runcPath: runcFound.path,
    conmonPath: conmon.path,
  };
}

/** A runtime that is not there fails the containers that ask for it, not the daemon that has others. */
function findRuntimes({ runtimes }: Config, log: Logger): Host['runtimes'] {
  const source = liveHost();
  const others = Object.entries(runtimes).filter(([name]) => name !== 'runc');
  return new Map(
    others.map(([name, { path, runtimeArgs }]) => {
      const found = path.startsWith('/') ? existing(path) : source.find(path);
      if (found === undefined) {
        log.warn({ runtime: name, path }, 'the program of a runtime is not there or cannot be executed');
      }
      return [name, { path: found, args: runtimeArgs }];
    }),
  );
}

function existing(path: string): string | undefined {
  return realHost.isProgram(path) ? path : undefined;
}
