import { detectCgroups } from '../../runtime/cgroups/detect.ts';
import type { CgroupLayout } from '../../runtime/cgroups/detect.ts';
import { readHostFacts } from '../../runtime/host/facts.ts';
import type { HostFacts } from '../../runtime/host/facts.ts';
import { liveHost } from '../../runtime/host/source.ts';
import { EngineError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { checkCgroupParent } from '../containers/spec/cgroup-parent.ts';
import type { Config } from './config/settings.ts';
import type { Instance } from './instance.ts';

/** What this machine is, and which of its programs and cgroups this daemon uses. */
export interface Host {
  facts: HostFacts;
  cgroupLayout: CgroupLayout;
  cgroupParent: string;
  runcPath: string;
  conmonPath: string;
}

/** Looks at the machine and logs what it lacks. Throws unavailable when runc or conmon cannot be used. */
export async function readHost(config: Config, instance: Instance, log: Logger): Promise<Host> {
  const detected = detectCgroups();
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
    cgroupLayout: detected.layout,
    cgroupParent: checkCgroupParent(instance.cgroupParent(driver), driver, 'cgroup-parent'),
    runcPath: runcFound.path,
    conmonPath: conmon.path,
  };
}
