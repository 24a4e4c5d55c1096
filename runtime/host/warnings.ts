import type { HostFacts } from './facts.ts';
import { isAtLeast } from './version.ts';

type Facts = Omit<HostFacts, 'warnings'>;

interface Check {
  isMissing: (facts: Facts) => boolean;
  warning: string;
}

/** Texts as dockerd has them where it has them: monitoring greps for them. */
const checks: Check[] = [
  { isMissing: (facts) => !facts.cgroup.memoryLimit, warning: 'WARNING: No memory limit support' },
  { isMissing: (facts) => !facts.cgroup.swapLimit, warning: 'WARNING: No swap limit support' },
  {
    isMissing: (facts) => facts.cgroup.version === 1 && !facts.cgroup.oomKillDisable,
    warning: 'WARNING: No oom kill disable support',
  },
  { isMissing: (facts) => !facts.cgroup.cpuCfs, warning: 'WARNING: No cpu cfs quota support' },
  { isMissing: (facts) => !facts.cgroup.cpuCfs, warning: 'WARNING: No cpu cfs period support' },
  { isMissing: (facts) => !facts.cgroup.cpuShares, warning: 'WARNING: No cpu shares support' },
  { isMissing: (facts) => !facts.cgroup.cpuset, warning: 'WARNING: No cpuset support' },
  { isMissing: (facts) => !facts.cgroup.pidsLimit, warning: 'WARNING: No pids limit support' },
  { isMissing: (facts) => !facts.ipv4Forwarding, warning: 'WARNING: IPv4 forwarding is disabled' },
  {
    isMissing: (facts) => !facts.seccomp,
    warning: 'WARNING: No seccomp support: containers run without the default profile',
  },
  {
    isMissing: (facts) => !facts.overlay,
    warning: 'WARNING: No overlay file system: containers cannot be started (modprobe overlay)',
  },
  {
    isMissing: (facts) => !isAtLeast(facts.kernelVersion, '5.12'),
    warning: 'WARNING: Linux is older than 5.12: read-only binds are not read-only in mounts below them',
  },
];

/** Oldest runc of each release line without a known escape to the host. */
const runcFloors: Record<string, string> = { '1.3': '1.3.6', '1.4': '1.4.3' };
const RUNC_FLOOR = '1.5.0';

/** What this machine lacks, one sentence each. Pure. */
export function hostWarnings(facts: Facts): string[] {
  return [
    ...checks.filter((check) => check.isMissing(facts)).map((check) => check.warning),
    ...componentWarnings(facts),
  ];
}

function componentWarnings(facts: Facts): string[] {
  const { runc, conmon, init } = facts.components;
  const warnings: string[] = [];
  if (runc === null) {
    warnings.push('WARNING: runc was not found: containers cannot be started');
  } else {
    const line = /^\d+\.\d+/.exec(runc.version)?.[0] ?? '';
    const floor = runcFloors[line] ?? RUNC_FLOOR;
    if (!isAtLeast(runc.version, floor)) {
      // Distributions back-port fixes without touching the upstream number: only their changelog knows.
      warnings.push(
        `WARNING: runc ${runc.version} is older than ${line in runcFloors ? floor : '1.3.6'}: unless your ` +
          'distribution back-ported the fixes of CVE-2025-31133, CVE-2025-52565 and CVE-2025-52881 ' +
          '(see its changelog), ' +
          'a malicious image can escape to the host',
      );
    }
  }
  if (conmon === null) {
    warnings.push('WARNING: conmon was not found: containers cannot be started');
  }
  if (init === null) {
    warnings.push('WARNING: No init binary (docker-init or tini) was found: Init is refused');
  }
  return warnings;
}
