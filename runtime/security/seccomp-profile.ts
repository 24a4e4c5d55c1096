import type { OciSeccomp } from '../runc/spec-types.ts';

/**
 * A system call filter as people write it (the JSON of `--security-opt seccomp=FILE`): rules may depend on the
 * capabilities, the processor and the kernel. `compileSeccomp` turns it into what the runtime loads.
 */
export interface SeccompProfile {
  defaultAction: string;
  defaultErrnoRet?: number;
  architectures?: string[];
  archMap?: { architecture: string; subArchitectures?: string[] | null }[];
  flags?: string[];
  syscalls: SeccompRule[];
}

export interface SeccompRule {
  names: readonly string[];
  action: string;
  errnoRet?: number;
  args?: readonly SeccompArgument[];
  /** The rule counts only where all of this holds. */
  includes?: SeccompCondition;
  /** The rule does not count where any of this holds. */
  excludes?: SeccompCondition;
}

export interface SeccompArgument {
  index: number;
  value: number;
  valueTwo?: number;
  op: string;
}

export interface SeccompCondition {
  /** Capabilities in the bounding set. */
  caps?: readonly string[];
  /** Processors by GOARCH name. */
  arches?: readonly string[];
  /** `4.8` */
  minKernel?: string;
}

/** What a compiled filter depends on. */
export interface SeccompTarget {
  /** GOARCH: amd64, arm64, ... */
  architecture: string;
  kernelVersion: string;
  /** The container's bounding set. */
  capabilities: readonly string[];
}

/**
 * GOARCH -> the processor as libseccomp calls it, and the ones whose programs it also runs. Without x32: kernels have
 * it off, no distribution ships it, and runc takes 7 ms of every start to compile its part of the filter (of 34 in
 * all).
 */
const processors: Record<string, [string, ...string[]]> = {
  amd64: ['SCMP_ARCH_X86_64', 'SCMP_ARCH_X86'],
  arm64: ['SCMP_ARCH_AARCH64', 'SCMP_ARCH_ARM'],
  arm: ['SCMP_ARCH_ARM'],
  '386': ['SCMP_ARCH_X86'],
  riscv64: ['SCMP_ARCH_RISCV64'],
  s390x: ['SCMP_ARCH_S390X', 'SCMP_ARCH_S390'],
  ppc64le: ['SCMP_ARCH_PPC64LE'],
  loong64: ['SCMP_ARCH_LOONGARCH64'],
};

/** Names that profiles use for processors beside GOARCH. */
const aliases: Record<string, string> = { x86: '386', x32: 'amd64-x32', loongarch64: 'loong64' };

/** The processors a profile without a list of its own covers: the native one and its relatives. */
export function nativeArchitectures(architecture: string): string[] {
  return processors[architecture] ?? [];
}

/** Keeps the rules that hold on `target`. Pure. */
export function compileSeccomp(profile: SeccompProfile, target: SeccompTarget): OciSeccomp {
  const native = processors[target.architecture]?.[0];
  const mapped = profile.archMap?.find((entry) => entry.architecture === native);
  const architectures = [
    ...(profile.architectures ?? []),
    ...(mapped ? [mapped.architecture, ...(mapped.subArchitectures ?? [])] : []),
  ];
  return {
    defaultAction: profile.defaultAction,
    ...(profile.defaultErrnoRet !== undefined && { defaultErrnoRet: profile.defaultErrnoRet }),
    ...(architectures.length > 0 && { architectures }),
    ...(profile.flags && profile.flags.length > 0 && { flags: profile.flags }),
    syscalls: profile.syscalls
      .filter((rule) => applies(rule, target))
      .map(({ names, action, errnoRet, args }) => ({
        names: [...names],
        action,
        ...(errnoRet !== undefined && { errnoRet }),
        ...(args && args.length > 0 && { args: args.map((argument) => ({ ...argument })) }),
      })),
  };
}

function applies(rule: SeccompRule, target: SeccompTarget): boolean {
  const { includes = {}, excludes = {} } = rule;
  const isTarget = (name: string): boolean => (aliases[name] ?? name) === target.architecture;
  const has = (name: string): boolean => target.capabilities.includes(name);
  const included =
    (!includes.arches?.length || includes.arches.some(isTarget)) &&
    (includes.caps ?? []).every(has) &&
    (includes.minKernel === undefined || kernelAtLeast(target.kernelVersion, includes.minKernel));
  const excluded =
    (excludes.arches ?? []).some(isTarget) ||
    (excludes.caps ?? []).some(has) ||
    (excludes.minKernel !== undefined && kernelAtLeast(target.kernelVersion, excludes.minKernel));
  return included && !excluded;
}

/** Only kernel and major revision count: `4.8.0-2-amd64` is 4.8. */
function kernelAtLeast(kernel: string, floor: string): boolean {
  const [major = 0, minor = 0] = kernel.split('.').map((part) => Number.parseInt(part, 10));
  const [wantedMajor = 0, wantedMinor = 0] = floor.split('.').map(Number);
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
}

/** Reads a profile a client sent. Throws Error that says what is wrong with it. */
export function parseSeccompProfile(json: string): SeccompProfile {
  const value: unknown = JSON.parse(json);
  const profile = fields(value, 'profile');
  const architectures = optional(profile['architectures'], strings, 'architectures');
  const archMap = optional(profile['archMap'], archMapOf, 'archMap');
  if (architectures?.length && archMap?.length) {
    throw new Error(
      "both 'architectures' and 'archMap' are specified in the seccomp profile, " +
        "use either 'architectures' or 'archMap'",
    );
  }
  const errno = optional(profile['defaultErrnoRet'], whole, 'defaultErrnoRet');
  const flags = optional(profile['flags'], strings, 'flags');
  return {
    defaultAction: actionOf(profile['defaultAction'], 'defaultAction'),
    ...(errno !== undefined && { defaultErrnoRet: errno }),
    ...(architectures && { architectures }),
    ...(archMap && { archMap }),
    ...(flags && { flags }),
    syscalls: (optional(profile['syscalls'], list, 'syscalls') ?? []).map((rule, index) =>
      ruleOf(rule, `syscalls[${index}]`),
    ),
  };
}

function ruleOf(value: unknown, where: string): SeccompRule {
  const rule = fields(value, where);
  const name = optional(rule['name'], text, `${where}.name`);
  const names = optional(rule['names'], strings, `${where}.names`) ?? [];
  if (name && names.length > 0) {
    throw new Error(
      "both 'name' and 'names' are specified in the seccomp profile, use either 'name' or 'names'",
    );
  }
  const errno = optional(rule['errnoRet'], whole, `${where}.errnoRet`);
  const args = optional(rule['args'], list, `${where}.args`);
  const includes = optional(rule['includes'], conditionOf, `${where}.includes`);
  const excludes = optional(rule['excludes'], conditionOf, `${where}.excludes`);
  return {
    names: name ? [name] : names,
    action: actionOf(rule['action'], `${where}.action`),
    ...(errno !== undefined && { errnoRet: errno }),
    ...(args && { args: args.map((argument, index) => argumentOf(argument, `${where}.args[${index}]`)) }),
    ...(includes && { includes }),
    ...(excludes && { excludes }),
  };
}

function argumentOf(value: unknown, where: string): SeccompArgument {
  const argument = fields(value, where);
  const valueTwo = optional(argument['valueTwo'], whole, `${where}.valueTwo`);
  const op = text(argument['op'], `${where}.op`);
  if (!/^SCMP_CMP_(?:NE|LT|LE|EQ|GE|GT|MASKED_EQ)$/.test(op)) {
    throw new Error(`${where}.op: unknown operator ${op}`);
  }
  const index = whole(argument['index'], `${where}.index`);
  if (index > 5) {
    throw new Error(`${where}.index: a system call has arguments 0 to 5`);
  }
  return {
    index,
    value: whole(argument['value'], `${where}.value`),
    ...(valueTwo !== undefined && { valueTwo }),
    op,
  };
}

function conditionOf(value: unknown, where: string): SeccompCondition {
  const condition = fields(value, where);
  const caps = optional(condition['caps'], strings, `${where}.caps`);
  const arches = optional(condition['arches'], strings, `${where}.arches`);
  const minKernel = optional(condition['minKernel'], text, `${where}.minKernel`);
  if (minKernel && !/^\d{1,3}\.\d{1,3}$/.test(minKernel)) {
    throw new Error(`invalid kernel version: ${minKernel}, expected "<kernel>.<major>"`);
  }
  return { ...(caps && { caps }), ...(arches && { arches }), ...(minKernel && { minKernel }) };
}

function archMapOf(value: unknown, where: string): NonNullable<SeccompProfile['archMap']> {
  return list(value, where).map((item, index) => {
    const entry = fields(item, `${where}[${index}]`);
    return {
      architecture: text(entry['architecture'], `${where}[${index}].architecture`),
      subArchitectures:
        optional(entry['subArchitectures'], strings, `${where}[${index}].subArchitectures`) ?? [],
    };
  });
}

function actionOf(value: unknown, where: string): string {
  const action = text(value, where);
  // SCMP_ACT_NOTIFY needs a listener that this engine does not offer.
  if (!/^SCMP_ACT_(?:KILL|KILL_PROCESS|KILL_THREAD|TRAP|ERRNO|TRACE|ALLOW|LOG)$/.test(action)) {
    throw new Error(`${where}: unknown action ${action}`);
  }
  return action;
}

function optional<T>(
  value: unknown,
  read: (value: unknown, where: string) => T,
  where: string,
): T | undefined {
  return value === undefined || value === null ? undefined : read(value, where);
}

function fields(value: unknown, where: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error(`${where} must be an object`);
  }
  // Checked above: an object's fields can be read by any name.
  return value as Record<string, unknown>;
}

function list(value: unknown, where: string): unknown[] {
  if (!Array.isArray(value)) {
    throw new Error(`${where} must be an array`);
  }
  return value;
}

function text(value: unknown, where: string): string {
  if (typeof value !== 'string') {
    throw new Error(`${where} must be a string`);
  }
  return value;
}

function strings(value: unknown, where: string): string[] {
  return list(value, where).map((item, index) => text(item, `${where}[${index}]`));
}

function whole(value: unknown, where: string): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
    throw new Error(`${where} must be a whole number that is not negative`);
  }
  return value;
}
