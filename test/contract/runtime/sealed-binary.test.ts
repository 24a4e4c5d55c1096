import { copyFileSync, mkdtempSync, readFileSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { mustRunCommand } from '../../../daemon/base/command.ts';
import { SealedBinary } from '../../../runtime/runc/sealed-binary.ts';

const log = pino({ level: 'silent' });

it('sealed binary: runs, cannot be written to, and follows the program when that is replaced', async () => {
  const program = path.join(mkdtempSync(path.join(tmpdir(), 'berth-sealed-')), 'program');
  copyFileSync('/bin/true', program);
  using binary = new SealedBinary(program, log);
  const first = binary.current();
  expect(first).toMatch(/^\/proc\/\d+\/fd\/\d+$/);
  expect(binary.current()).toBe(first);
  await mustRunCommand([first]);
  expect(() => copyFileSync('/bin/false', first)).toThrow(/EPERM|ETXTBSY/);

  copyFileSync('/bin/echo', program);
  utimesSync(program, 1, 1);
  expect((await mustRunCommand([binary.current(), 'new'])).stdout).toBe('new\n');
});

it('sealed binary: a program that does not run from memory is run from its file', () => {
  const program = path.join(mkdtempSync(path.join(tmpdir(), 'berth-sealed-')), 'program');
  copyFileSync('/etc/hostname', program);
  using binary = new SealedBinary(program, log);
  expect(binary.current()).toBe(program);
  expect(readFileSync(program, 'utf8')).not.toBe('');
});
