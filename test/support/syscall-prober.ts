import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** One system call to try: its number and its arguments. It must return, and harm nothing if it succeeds. */
export interface Probe {
  name: string;
  number: number;
  args?: readonly number[];
  /** Makes the call as a 32-bit program does (int 0x80), with the numbers of i386. */
  i386?: true;
  /** 32-bit words in memory; their address becomes the second argument, as socketcall(2) wants it. */
  words?: readonly number[];
}

const LOAD_ADDRESS = 0x400000n;
const HEADERS_BYTES = 64 + 56;
/** mov rdi/rsi/rdx/r10/r8/r9, imm64: the argument registers of the system call interface in order. */
const ARGUMENT_MOVES = ['48bf', '48be', '48ba', '49ba', '49b8', '49b9'];
const MOVE_RAX = '48b8';
const SYSCALL = '0f05';
/** mov [imm64], rax */
const STORE_RAX = '48a3';
/** mov ebx/ecx/edx/esi/edi/ebp, imm32: those of the 32-bit interface; mov eax, imm32; int 0x80; movsxd rax, eax. */
const ARGUMENT_MOVES_32 = ['bb', 'b9', 'ba', 'be', 'bf', 'bd'];
const MOVE_EAX = 'b8';
const INTERRUPT = 'cd80';
const EXTEND_RAX = '4863c0';
/** Room of one probe behind the code: its result, and the words it points to. */
const RESULT_BYTES = 8;
const WORDS_BYTES = 24;

/**
 * A static x86-64 program that makes every call and writes what each returned, 8 bytes little-endian apiece, to its
 * standard output. Written out by hand, so that the test needs no compiler and no C library stands in between.
 */
export function syscallProber(probes: readonly Probe[]): Buffer {
  const resultsBytes = probes.length * RESULT_BYTES;
  const assemble = (results: bigint): Buffer => {
    const wordsOf = (index: number): bigint => results + BigInt(resultsBytes + index * WORDS_BYTES);
    const code = probes.map(
      (probe, index) =>
        callOf(probe, wordsOf(index)) + STORE_RAX + immediate(results + BigInt(index * RESULT_BYTES)),
    );
    return Buffer.from(code.join('') + call(1, [1, results, resultsBytes]) + call(231, [0]), 'hex');
  };
  // The results lie behind the code, whose length does not depend on where they are.
  const codeBytes = assemble(0n).length;
  const resultsOffset = BigInt(HEADERS_BYTES + codeBytes);
  const code = assemble(LOAD_ADDRESS + resultsOffset);
  const data = Buffer.alloc(resultsBytes + probes.length * WORDS_BYTES);
  probes.forEach(({ words = [] }, index) =>
    words.forEach((word, at) => data.writeInt32LE(word, resultsBytes + index * WORDS_BYTES + at * 4)),
  );
  return Buffer.concat([headers(code.length, data.length), code, data]);
}

/** Whether this machine's kernel lets programs make calls as 32-bit ones do: some hypervisors' guests end them. */
export function takes32BitCalls(): boolean {
  const directory = mkdtempSync(path.join(tmpdir(), 'berth-test-prober-'));
  try {
    const program = path.join(directory, 'probe');
    writeFileSync(program, syscallProber([{ name: 'getpid', number: 20, i386: true }]), { mode: 0o755 });
    return spawnSync(program).status === 0;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** What each call returned: 0 and above, or minus the errno. */
export function readProbeResults(output: Buffer, probes: readonly Probe[]): Map<string, number> {
  return new Map(probes.map(({ name }, index) => [name, Number(output.readBigInt64LE(index * 8))]));
}

function callOf({ number, args = [], i386, words }: Probe, wordsAt: bigint): string {
  const all = words === undefined ? args : [args[0] ?? 0, wordsAt];
  return i386 ? call32(number, all) : call(number, all);
}

/** As `call`, by the 32-bit interface; memory lies below 4 GB. */
function call32(number: number, args: readonly (number | bigint)[]): string {
  const loads = ARGUMENT_MOVES_32.map((move, index) => move + immediate32(args[index] ?? 0));
  return loads.join('') + MOVE_EAX + immediate32(number) + INTERRUPT + EXTEND_RAX;
}

/** One system call; its result is in rax. */
function call(number: number | bigint, args: readonly (number | bigint)[]): string {
  const loads = ARGUMENT_MOVES.map((move, index) => move + immediate(args[index] ?? 0));
  return loads.join('') + MOVE_RAX + immediate(number) + SYSCALL;
}

/** ELF header and one segment that holds everything (elf(5)). */
function headers(codeBytes: number, dataBytes: number): Buffer {
  const header = Buffer.alloc(HEADERS_BYTES);
  header.write('7f454c46020101', 'hex');
  header.writeUInt16LE(2, 16);
  header.writeUInt16LE(62, 18);
  header.writeUInt32LE(1, 20);
  header.writeBigUInt64LE(LOAD_ADDRESS + BigInt(HEADERS_BYTES), 24);
  header.writeBigUInt64LE(64n, 32);
  header.writeUInt16LE(64, 52);
  header.writeUInt16LE(56, 54);
  header.writeUInt16LE(1, 56);
  header.writeUInt32LE(1, 64);
  header.writeUInt32LE(7, 68);
  header.writeBigUInt64LE(LOAD_ADDRESS, 80);
  header.writeBigUInt64LE(LOAD_ADDRESS, 88);
  header.writeBigUInt64LE(BigInt(HEADERS_BYTES + codeBytes + dataBytes), 96);
  header.writeBigUInt64LE(BigInt(HEADERS_BYTES + codeBytes + dataBytes), 104);
  header.writeBigUInt64LE(0x1000n, 112);
  return header;
}

function immediate(value: number | bigint): string {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt.asUintN(64, BigInt(value)));
  return bytes.toString('hex');
}

function immediate32(value: number | bigint): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(Number(BigInt.asUintN(32, BigInt(value))));
  return bytes.toString('hex');
}
