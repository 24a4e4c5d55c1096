import { copyFileSync, existsSync, mkdtempSync, readFileSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { mustRunCommand } from '../../../daemon/base/command.ts';
import { SealedBinary } from '../../../runtime/runc/sealed-binary.ts';

const log = pino({ level: 'silent' });

function pathOf(binary: SealedBinary): string {
  using lease = binary.lease();
  return lease.path;
}

it('sealed binary: runs, cannot be written to, and follows the program when that is replaced', async () => {
  const program = path.join(mkdtempSync(path.join(tmpdir(), 'berth-sealed-')), 'program');
  copyFileSync('/bin/true', program);
  using binary = new SealedBinary(program, log);
  const first = pathOf(binary);
  expect(first).toMatch(/^\/proc\/\d+\/fd\/\d+$/);
  expect(pathOf(binary)).toBe(first);
  await mustRunCommand([first]);
  expect(() => copyFileSync('/bin/false', first)).toThrow(/EPERM|ETXTBSY/);

  copyFileSync('/bin/echo', program);
  utimesSync(program, 1, 1);
  expect((await mustRunCommand([pathOf(binary), 'new'])).stdout).toBe('new\n');
});

it('sealed binary: a program that does not run from memory is run from its file', () => {
  const program = path.join(mkdtempSync(path.join(tmpdir(), 'berth-sealed-')), 'program');
  copyFileSync('/etc/hostname', program);
  using binary = new SealedBinary(program, log);
  expect(pathOf(binary)).toBe(program);
  expect(readFileSync(program, 'utf8')).not.toBe('');
});

it('sealed binary: the old copy stays for who was given it, and goes with the last of them', async () => {
  const program = path.join(mkdtempSync(path.join(tmpdir(), 'berth-sealed-')), 'program');
  copyFileSync('/bin/echo', program);
  const binary = new SealedBinary(program, log);
  const leases = [binary.lease(), binary.lease()] as const;
  copyFileSync('/bin/true', program);
  utimesSync(program, 1, 1);
  const newer = binary.lease();
  expect(newer.path).not.toBe(leases[0].path);
  leases[0][Symbol.dispose]();
  leases[0][Symbol.dispose]();
  expect((await mustRunCommand([leases[1].path, 'old'])).stdout).toBe('old\n');
  leases[1][Symbol.dispose]();
  expect(existsSync(leases[1].path)).toBe(false);
  binary[Symbol.dispose]();
  expect(existsSync(newer.path)).toBe(true);
  newer[Symbol.dispose]();
  expect(existsSync(newer.path)).toBe(false);
});
