import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { getAttribute, listAttributes, setAttribute } from '../../../daemon/base/kernel/files/attributes.ts';
import { applyLayer } from '../../../storage/layers/apply.ts';
import type { AppliedLayer } from '../../../storage/layers/apply-request.ts';
import { replayLayer } from '../../../storage/layers/replay.ts';
import { verifyLayer } from '../../../storage/layers/verify.ts';
import { needs } from '../../support/needs.ts';
import { tar } from '../../support/images/tar.ts';

const describe = needs('root');
const CONTROL = { isCanceled: (): boolean => false, progress: (): void => undefined };
const OPAQUE = 'trusted.overlay.opaque';
const LAYER = tar([
  { name: 'd/', mode: 0o750, mtime: 1_000_000_000, uid: 7 },
  { name: 'd/file', content: 'content', mode: 0o4755, mtime: 1_100_000_000 },
  { name: 'd/empty', content: '' },
  { name: 'd/.wh.gone', content: '' },
  { name: 'again', type: '1', linkName: 'd/file' },
  { name: 'link', type: '2', linkName: '/etc/passwd' },
  { name: 'pipe', type: '6' },
  { name: 'device', type: '3', major: 1, minor: 3 },
  { name: 'sub/' },
  { name: 'sub/\xe4', content: Buffer.alloc(300_000, 'x') },
]);

describe('a layer made of the files that its tar was made of', () => {
  let scratch: string;
  let count = 0;

  beforeEach(() => {
    scratch = mkdtempSync(join(tmpdir(), 'berth-adopt-'));
  });
  afterEach(() => {
    rmSync(scratch, { recursive: true });
  });

  const apply = async (files?: string): Promise<AppliedLayer & { directory: string }> => {
    count += 1;
    const [file, directory] = [join(scratch, `tar${count}`), join(scratch, `layer${count}`)];
    writeFileSync(file, LAYER);
    mkdirSync(directory);
    const fd = openSync(file, 'r');
    try {
      const blob = { fd, offset: 0, size: LAYER.length };
      const request = { blob, directory, what: 'layer', ...(files !== undefined && { files }) };
      return { ...(await applyLayer(request, CONTROL)), directory };
    } finally {
      closeSync(fd);
    }
  };
  /** As an overlay leaves them. */
  const written = async (): Promise<string> => join((await apply()).directory, 'diff');
  const expectWhole = async (layer: Awaited<ReturnType<typeof apply>>): Promise<void> => {
    const { directory, diffId } = layer;
    expect(bytesOf(layer).equals(LAYER)).toBe(true);
    const { problems } = await verifyLayer({ directory, diffId, lowers: [] }, join(scratch, `check${count}`));
    expect(problems).toEqual([]);
  };

  test('takes them, and is what it would be had it been unpacked', async () => {
    const files = await written();
    const { ino } = statSync(join(files, 'd/file'));
    const { directory: _other, ...plain } = await apply();
    const layer = await apply(files);
    const { directory, ...facts } = layer;
    expect(facts).toEqual(plain);
    expect(existsSync(files)).toBe(false);
    expect(statSync(join(directory, 'diff/d/file')).ino).toBe(ino);
    await expectWhole(layer);
  });

  test('without the mark of new directories, which hides nothing', async () => {
    const files = await written();
    mark(join(files, 'd'), OPAQUE);
    const layer = await apply(files);
    expect(existsSync(files)).toBe(false);
    expect(listAttributes(join(layer.directory, 'diff/d'))).not.toContain(OPAQUE);
    await expectWhole(layer);
  });

  test.each<[string, (files: string) => void]>([
    ['a file that is not told of', (files) => writeFileSync(join(files, 'd/more'), '')],
    ['a directory that is not told of', (files) => mkdirSync(join(files, 'more'))],
    ['a file that is missing', (files) => rmSync(join(files, 'link'))],
    ['a whiteout that is missing', (files) => rmSync(join(files, 'd/gone'))],
    [
      'another kind',
      (files) => {
        rmSync(join(files, 'pipe'));
        writeFileSync(join(files, 'pipe'), '');
      },
    ],
    ['content that is elsewhere', (files) => mark(join(files, 'd/file'), 'trusted.overlay.metacopy')],
    ['a directory that is elsewhere', (files) => mark(join(files, 'sub'), 'trusted.overlay.redirect')],
    ['a mark on the root', (files) => mark(files, OPAQUE)],
    ['attributes of the root', (files) => mark(files, 'user.mark')],
  ])('%s: it is unpacked, and the files are gone', async (_what, change) => {
    const files = await written();
    change(files);
    const layer = await apply(files);
    expect(existsSync(files)).toBe(false);
    await expectWhole(layer);
  });

  test('nothing there: it is unpacked', async () => {
    await expectWhole(await apply(join(scratch, 'nothing')));
    expect(() => getAttribute(scratch, OPAQUE)).toThrow('ENODATA');
  });
});

function bytesOf({ directory, diffId }: { directory: string; diffId: string }): Buffer {
  const chunks: Buffer[] = [];
  replayLayer(directory, diffId, (chunk) => chunks.push(Buffer.from(chunk)) > 0);
  return Buffer.concat(chunks);
}

function mark(path: string, name: string): void {
  const fd = openSync(path, 'r');
  setAttribute(fd, name, Buffer.from('y'));
  closeSync(fd);
}
