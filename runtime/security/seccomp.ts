import { constants } from 'node:os';
import type { OciSeccomp } from '../runc/spec-types.ts';
import { withoutProjectChanges } from './project-filter.ts';
import { compileSeccomp, nativeArchitectures } from './seccomp-profile.ts';
import type { SeccompRule, SeccompTarget } from './seccomp-profile.ts';
import { ORDINARY_CALLS } from './syscalls.ts';

/**
 * The default filter: ordinary programs notice nothing, what reaches for the kernel itself gets EPERM. It lists what
 * is allowed, so a call of tomorrow's kernel is refused until it was reviewed. Names that the machine's
 * libseccomp does not know are skipped by the runtime; they then fall to the default action like unknown ones.
 *
 * Refused on purpose, whatever the capabilities: io_uring_* (a second, unfiltered way into the kernel), userfaultfd,
 * keyctl and friends (keyrings are not namespaced), kexec_*, swapon, pivot_root, nfsservctl.
 *
 * `keepsProjects`: for a container with a quota.
 */
export function defaultSeccomp(
  target: SeccompTarget,
  { keepsProjects = false }: { keepsProjects?: boolean } = {},
): OciSeccomp {
  const syscalls = keepsProjects ? withoutProjectChanges(RULES) : RULES;
  return {
    ...compileSeccomp(
      { defaultAction: 'SCMP_ACT_ERRNO', defaultErrnoRet: constants.errno.EPERM, syscalls },
      target,
    ),
    architectures: nativeArchitectures(target.architecture),
  };
}

const ALLOW = 'SCMP_ACT_ALLOW';

/** From linux/sched.h: mount, cgroup, uts, ipc, user, pid and network namespaces. */
const CLONE_NEW_NAMESPACES = 0x7e020000;

/** From linux/socket.h. Both reach parts of the kernel that no container needs (CVE-2026-31431, hypervisor hosts). */
const AF_ALG = 38;
const AF_VSOCK = 40;

/** Values of personality(2): Linux, Linux 32 bit, UNAME26, both, and "tell me the current one". */
const PERSONALITIES = [0x0, 0x0008, 0x20000, 0x20008, 0xffffffff];

const S390 = ['s390', 's390x'];

function allow(names: string, condition: Pick<SeccompRule, 'includes' | 'excludes'> = {}): SeccompRule {
  return { names: names.split(' '), action: ALLOW, ...condition };
}

function allowWith(capability: string, names: string): SeccompRule {
  return allow(names, { includes: { caps: [capability] } });
}

function allowOn(arches: readonly string[], names: string): SeccompRule {
  return allow(names, { includes: { arches } });
}

/** Allows a call for one range or value of an argument. */
function allowArgument(
  name: string,
  args: NonNullable<SeccompRule['args']>,
  condition: Pick<SeccompRule, 'includes' | 'excludes'> = {},
): SeccompRule {
  return { names: [name], action: ALLOW, args, ...condition };
}

/** clone(2) without new namespaces; its flags are the first argument, on s390 the second. */
function plainClone(flagsIndex: number): NonNullable<SeccompRule['args']> {
  return [{ index: flagsIndex, value: CLONE_NEW_NAMESPACES, valueTwo: 0, op: 'SCMP_CMP_MASKED_EQ' }];
}

const RULES: SeccompRule[] = [
  { names: ORDINARY_CALLS, action: ALLOW },
  // Before 4.8 a tracer could change a call after the filter had seen it.
  allow('ptrace process_vm_readv process_vm_writev', { includes: { minKernel: '4.8' } }),

  // Three ranges that leave two gaps: two "not equal" on one argument would each allow what the other forbids.
  allowArgument('socket', [{ index: 0, value: AF_ALG, op: 'SCMP_CMP_LT' }]),
  allowArgument('socket', [{ index: 0, value: AF_ALG + 1, op: 'SCMP_CMP_EQ' }]),
  allowArgument('socket', [{ index: 0, value: AF_VSOCK, op: 'SCMP_CMP_GT' }]),
  ...PERSONALITIES.map((value) => allowArgument('personality', [{ index: 0, value, op: 'SCMP_CMP_EQ' }])),

  allowArgument('clone', plainClone(0), { excludes: { caps: ['CAP_SYS_ADMIN'], arches: S390 } }),
  allowArgument('clone', plainClone(1), {
    includes: { arches: S390 },
    excludes: { caps: ['CAP_SYS_ADMIN'] },
  }),
  {
    // Its flags are behind a pointer, out of the filter's sight: ENOSYS makes C libraries fall back to clone.
    names: ['clone3'],
    action: 'SCMP_ACT_ERRNO',
    errnoRet: constants.errno.ENOSYS,
    excludes: { caps: ['CAP_SYS_ADMIN'] },
  },

  allowWith(
    'CAP_SYS_ADMIN',
    'bpf clone clone3 unshare setns mount umount umount2 mount_setattr move_mount open_tree fsopen fsconfig fsmount ' +
      'fspick fanotify_init lookup_dcookie lsm_get_self_attr lsm_list_modules lsm_set_self_attr perf_event_open ' +
      'quotactl quotactl_fd setdomainname sethostname syslog',
  ),
  allowWith('CAP_DAC_READ_SEARCH', 'open_by_handle_at'),
  allowWith('CAP_SYS_BOOT', 'reboot'),
  allowWith('CAP_SYS_CHROOT', 'chroot'),
  allowWith('CAP_SYS_MODULE', 'init_module finit_module delete_module'),
  allowWith('CAP_SYS_PACCT', 'acct'),
  allowWith('CAP_SYS_PTRACE', 'ptrace process_vm_readv process_vm_writev process_madvise pidfd_getfd kcmp'),
  allowWith('CAP_SYS_RAWIO', 'iopl ioperm'),
  allowWith('CAP_SYS_TIME', 'settimeofday stime clock_settime clock_settime64'),
  allowWith('CAP_SYS_TTY_CONFIG', 'vhangup'),
  allowWith('CAP_SYS_NICE', 'get_mempolicy set_mempolicy set_mempolicy_home_node mbind'),
  allowWith('CAP_SYSLOG', 'syslog'),
  allowWith('CAP_BPF', 'bpf'),
  allowWith('CAP_PERFMON', 'perf_event_open'),

  allowOn(['amd64'], 'arch_prctl'),
  allowOn(['amd64', '386'], 'modify_ldt'),
  allowOn(
    ['arm', 'arm64'],
    'arm_fadvise64_64 arm_sync_file_range sync_file_range2 breakpoint cacheflush set_tls',
  ),
  allowOn(['ppc64le'], 'sync_file_range2 swapcontext'),
  allowOn(S390, 's390_pci_mmio_read s390_pci_mmio_write s390_runtime_instr'),
  allowOn(['riscv64'], 'riscv_flush_icache riscv_hwprobe'),
];
