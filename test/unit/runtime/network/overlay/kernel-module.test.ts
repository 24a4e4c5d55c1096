import { armHere } from '../../../../support/fakes/failpoints.ts';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from '../../../../../daemon/base/logger.ts';
import { KernelModule } from '../../../../../runtime/network/overlay/kernel-module.ts';

let folder: string;
let now: number;

beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'berth-module-'));
  now = 1000;
});
afterEach(() => {
  armHere('');
  rmSync(folder, { recursive: true });
});

const calls = (): string =>
  existsSync(path.join(folder, 'calls')) ? readFileSync(path.join(folder, 'calls'), 'utf8') : '';

/** A module of a kernel whose modprobe(8) is this shell script. */
function moduleOf(script: string): KernelModule {
  const program = path.join(folder, 'modprobe');
  writeFileSync(program, `#!/bin/sh\necho "$@" >>${folder}/calls\n${script}\n`, { mode: 0o755 });
  return new KernelModule('br_netfilter', { log: silentLogger, program, now: () => now });
}

describe('a module of the kernel', () => {
  it('is loaded by its name', () => {
    expect([moduleOf('exit 0').load(), calls()]).toEqual([true, 'br_netfilter\n']);
  });

  it('that cannot be loaded is tried again, but not within a minute', () => {
    const module = moduleOf('echo "FATAL: Module not found" >&2; exit 1');
    expect([module.load(), module.load(), calls()]).toEqual([false, false, 'br_netfilter\n']);
    now += 60_000;
    expect([module.load(), calls()]).toEqual([false, 'br_netfilter\nbr_netfilter\n']);
  });

  it('on a host without modprobe: is not there', () => {
    const program = path.join(folder, 'none');
    expect(new KernelModule('br_netfilter', { log: silentLogger, program }).load()).toBe(false);
  });

  it('an attempt that was cut off does not count', () => {
    const module = moduleOf('exit 0');
    armHere('overlay.open.module=error(armed)');
    expect(() => module.load()).toThrow('armed');
    armHere('');
    expect(module.load()).toBe(true);
  });
});
