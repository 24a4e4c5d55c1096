import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { decompress } from '../../../storage/compression/decompress.ts';
import { throughProgram } from '../../../storage/compression/program.ts';
import { invalidArgument } from '../../../daemon/base/errors.ts';
import { COMPRESSORS, compressed, type Compressor } from '../../support/images/compressors.ts';
import { collect, ImagesRig, inPieces } from '../../support/images/images-rig.ts';
import { imageTar } from '../../support/images/images.ts';
import { needs } from '../../support/needs.ts';
import { processFile } from '../../support/process.ts';
import { header, tar } from '../../support/images/tar.ts';

const describe = needs('root');
const PLAIN = tar([{ name: 'a', content: Buffer.alloc(300_000, 'some text ') }]);

const read = (bytes: Buffer): Promise<Buffer[]> => collect(decompress(inPieces(bytes), 'test'));

describe('decompression', () => {
  test.each(COMPRESSORS)('of %s gives the bytes, however they arrive', async (program) => {
    const packed = compressed(program, PLAIN);
    const twice = Buffer.concat([packed, packed]);
    for (const size of [1, 7, 60_000]) {
      const bytes = Buffer.concat(await collect(decompress(inPieces(packed, size), 'test')));
      expect(bytes.equals(PLAIN)).toBe(true);
    }
    // Each format allows several streams in a row.
    const bytes = Buffer.concat(await collect(decompress(inPieces(twice), 'test')));
    expect(bytes.equals(Buffer.concat([PLAIN, PLAIN]))).toBe(true);
  });

  test('of zstd takes a frame in front that is to be passed over, and the table of a seekable file', async () => {
    const skippable = Buffer.from('5e2a4d180400000001020304', 'hex');
    const packed = Buffer.concat([skippable, compressed('zstd', PLAIN), skippable]);
    const bytes = Buffer.concat(await collect(decompress(inPieces(packed), 'test')));
    expect(bytes.equals(PLAIN)).toBe(true);
  });

  test.each(COMPRESSORS)('R34: %s that is cut off or followed by garbage is an error', async (program) => {
    const packed = compressed(program, PLAIN);
    for (const length of [packed.length - 1, Math.floor(packed.length / 2), 8]) {
      await expect(read(packed.subarray(0, length)), `${length} bytes`).rejects.toMatchObject({
        code: 'invalid_argument',
        message: expect.stringMatching(`^test: cannot decompress ${program}: `),
      });
    }
    await expect(read(Buffer.concat([packed, Buffer.from('garbage')]))).rejects.toThrow(program);
    const flipped = Buffer.from(packed);
    flipped[packed.length - 6] = (flipped[packed.length - 6] ?? 0) ^ 0xff;
    await expect(read(flipped)).rejects.toThrow(program);
  });

  test('what its source fails with is thrown as it is', async () => {
    for (const program of COMPRESSORS) {
      const packed = compressed(program, PLAIN);
      const source = async function* (): AsyncGenerator<Buffer> {
        yield await Promise.resolve(packed);
        throw invalidArgument('the source');
      };
      await expect(collect(decompress(source(), 'test'))).rejects.toThrow('the source');
    }
  });

  test('a program that the host does not have is named', async () => {
    const request = { name: 'lzip', argv: ['lzip', '-d'], what: 'load' } as const;
    await expect(
      collect(throughProgram(inPieces(PLAIN), { ...request, damaged: (why) => new Error(why) })),
    ).rejects.toMatchObject({
      code: 'not_implemented',
      message: 'load: lzip needs the program lzip, which this host does not have',
    });
  });

  test('a program ends with its reader, knows nothing of the engine, and has no rights', async () => {
    const before = readdirSync('/proc/self/fd').length;
    // What the tests were started with, not by the engine.
    const inherited = execFileSync('sh', ['-c', 'readlink /proc/$$/fd/*; true'], { encoding: 'utf8' }).split(
      '\n',
    );
    for (const program of ['bzip2', 'xz', 'zstd'] as const) {
      const endless = async function* (): AsyncGenerator<Buffer> {
        const packed = compressed(program, Buffer.alloc(4 << 20));
        for (;;) {
          yield await Promise.resolve(packed);
        }
      };
      const reading = decompress(endless(), 'test');
      await reading.next();
      const [pid = 0] = children();
      const own = descriptorsOf(process.pid);
      const status = readFileSync(`/proc/${pid}/status`, 'utf8');
      expect({
        environment: readFileSync(`/proc/${pid}/environ`, 'utf8'),
        descriptors: descriptorsOf(pid).filter(
          (target) => own.includes(target) && !inherited.includes(target),
        ),
        user: /^Uid:\t(.*)$/m.exec(status)?.[1],
        groups: /^Groups:\t(.*)$/m.exec(status)?.[1]?.trim(),
        capabilities: /^CapEff:\t(.*)$/m.exec(status)?.[1],
      }).toEqual({
        environment: '',
        descriptors: [],
        user: '65534\t65534\t65534\t65534',
        groups: '',
        capabilities: '0000000000000000',
      });
      await reading.return(undefined);
      await expect.poll(children).toEqual([]);
    }
    await expect.poll(() => readdirSync('/proc/self/fd').length).toBeLessThanOrEqual(before);
  });

  test.each([
    ['zstd', ['--ultra', '-22', '--long=31']],
    ['xz', ['--lzma2=preset=9,dict=1GiB']],
  ] as const)('class 13: %s that wants more memory than anybody needs is refused', async (program, args) => {
    // Only a size that is not known ahead makes the writer promise the whole window.
    const packed = execFileSync('sh', ['-c', `head -c 4096 /dev/zero | ${program} -c ${args.join(' ')}`]);
    await expect(collect(decompress(inPieces(packed), 'test'))).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringMatching(/memory/i),
    });
  });
});

describe('class 13: bombs on a small disk', () => {
  const MiB = 2 ** 20;
  let folder: string;
  let rig: ImagesRig;

  beforeEach(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'berth-bombs-'));
    // Twice what every unpacking has to leave.
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=128m', 'berth-test', folder]);
    mkdirSync(path.join(folder, 'root'));
    rig = new ImagesRig(path.join(folder, 'root'));
    await rig.images.restore();
  });

  afterEach(async () => {
    await rig[Symbol.asyncDispose]();
    execFileSync('umount', [folder]);
    rmSync(folder, { recursive: true });
  });

  const bombs = new Map<Compressor, Buffer>();
  const bomb = (program: Compressor): Buffer => {
    const head = header({ name: 'b', claimedSize: 160 * MiB });
    const bytes =
      bombs.get(program) ?? compressed(program, Buffer.concat([head, Buffer.alloc(161 * MiB)]), ['-1']);
    bombs.set(program, bytes);
    return bytes;
  };

  test.each(COMPRESSORS)('class 13: a layer of %s', async (program) => {
    await endsAtReserve(() => rig.load(imageTar([bomb(program)])));
  });

  test.each(COMPRESSORS)('class 13: a whole tarball of %s', async (program) => {
    await endsAtReserve(() => rig.load(bomb(program)));
  });

  async function endsAtReserve(load: () => Promise<unknown>): Promise<void> {
    const small = imageTar([[{ name: 'a', content: 'small' }]], { tags: ['small:1'] });
    await rig.load(small);
    const footprint = (): unknown => [
      readdirSync(path.join(rig.dataRoot, 'layers')),
      readdirSync(path.join(rig.dataRoot, 'tmp')),
      children(),
    ];
    const [before, descriptors] = [footprint(), readdirSync('/proc/self/fd').length];
    await expect(load()).rejects.toMatchObject({ code: 'resource_exhausted' });
    await expect.poll(footprint).toEqual(before);
    await expect.poll(() => readdirSync('/proc/self/fd').length).toBeLessThanOrEqual(descriptors);
    await rig.load(small);
  }
});

/** What a process has open beside its three pipes. */
function descriptorsOf(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`)
    .filter((fd) => Number(fd) > 2)
    .flatMap((fd) => {
      try {
        return [readlinkSync(`/proc/${pid}/fd/${fd}`)];
      } catch {
        // The one that the listing itself used.
        return [];
      }
    });
}

/** Pids of this process's children, of all its threads. */
function children(): number[] {
  return readdirSync('/proc/self/task')
    .flatMap((task) => processFile(process.pid, `task/${task}/children`).split(' '))
    .filter((text) => text !== '')
    .map(Number);
}
