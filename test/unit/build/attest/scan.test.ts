import { expect, test } from 'vitest';
import { readAttestations } from '../../../../daemon/build/attest/asked.ts';
import { readBundle, type BundleFiles } from '../../../../daemon/build/attest/read-bundle.ts';
import { scanVertex } from '../../../../daemon/build/attest/scan-vertex.ts';
import { readOptions } from '../../../../daemon/build/control/options.ts';
import { read } from '../frontend/reading.ts';
import { image } from '../solver/vertices.ts';

const SCANNER = { reference: 'scanner:1', platform: 'linux/amd64' };
const LOOK = { title: 'linux/amd64', parameters: new Map(), isFresh: false };

const asked = (value: string, more: Record<string, string> = {}): unknown =>
  readAttestations(new Map(Object.entries({ 'attest:sbom': value, ...more }))).scan;

test('a scan is asked for with the scanner that BuildKit has, or with another and what that is told', () => {
  const usual = 'docker/buildkit-syft-scanner:stable-1';
  expect(asked('')).toEqual({ scanner: usual, parameters: new Map(), isFresh: false });
  expect(asked('disabled=true')).toBeUndefined();
  expect(asked('type=sbom,generator=s:1,LEVEL=2', { 'no-cache': '' })).toEqual({
    scanner: 's:1',
    parameters: new Map([['LEVEL', '2']]),
    isFresh: true,
  });
  expect(readOptions(new Map([['attest:sbom', '']])).isScanned).toBe(true);
});

test('the scanner sees results read only, what is besides by name, and writes into a directory of its own', () => {
  const extras = new Map([['context', image('b:1')]]);
  const config = { Entrypoint: ['/scan'], Cmd: ['-v'], Env: ['A=b'], WorkingDir: '/w' };
  const parameters = new Map([['LEVEL', '2']]);
  const core = image('a:1');
  const { op, inputs } = scanVertex({ ...SCANNER, config }, { ...LOOK, core, extras, parameters });
  expect(op).toEqual({ kind: 'result', number: 1 });
  const [command] = inputs;
  expect(command?.name).toBe('[linux/amd64] generating sbom using scanner:1');
  expect(command?.inputs.slice(1)).toEqual([core, extras.get('context'), undefined]);
  const whole = { type: 'bind', source: '/', isWhole: true };
  expect(command?.op).toMatchObject({
    argv: ['/scan', '-v'],
    directory: '/w',
    env: [
      'A=b',
      'BUILDKIT_SCAN_DESTINATION=/run/out/',
      'BUILDKIT_SCAN_SOURCE=/run/src/core/sbom',
      'BUILDKIT_SCAN_SOURCE_EXTRAS=/run/src/extras/',
      'BUILDKIT_SCAN_LEVEL=2',
    ],
    mounts: [
      { type: 'tmpfs', target: '/tmp' },
      { ...whole, from: 1, target: '/run/src/core/sbom', isWritable: false },
      { ...whole, from: 2, target: '/run/src/extras/sbom-context', isWritable: false },
      { ...whole, from: 3, target: '/run/out', isWritable: true, result: 1 },
    ],
  });
  const none = { ...LOOK, core, extras: new Map() };
  expect(() => scanVertex({ ...SCANNER, config: {} }, none)).toThrow('scanner scanner:1 does not have cmd');
});

const files = (content: Readonly<Record<string, string>>): BundleFiles => ({
  names: () => Promise.resolve(Object.keys(content)),
  read: (name) => Promise.resolve(Buffer.from(content[name] ?? '')),
});
const statement = (more: object): string =>
  JSON.stringify({ predicateType: 'https://spdx.dev/Document', predicate: { a: 1 }, ...more });

test('what a scanner wrote: that of the result first, subjects where it has its own', async () => {
  const own = [{ name: 'x', digest: { sha256: 'ab' } }];
  const read_ = await readBundle(
    files({ 'sbom-a.spdx.json': statement({ subject: own }), 'sbom.spdx.json': statement({}) }),
  );
  const facts = { predicateType: 'https://spdx.dev/Document', isInlineOnly: false };
  const predicate = Buffer.from('{"a":1}');
  expect(read_).toEqual([
    { ...facts, predicate, fileName: 'sbom.spdx.json' },
    { ...facts, predicate, fileName: 'sbom-a.spdx.json', subjects: own },
  ]);
});

test.each([
  ['no JSON', 'cannot decode in-toto statement a'],
  ['null', 'bundle entry a: undefined does not match required predicate type https://spdx.dev/Document'],
  [statement({ predicateType: 'other' }), 'bundle entry a: other does not match'],
  [statement({ subject: [null] }), 'in-toto statement a: subject must have a name and digests'],
  [statement({ subject: [{ name: 'a', digest: { b: 1 } }] }), 'subject must have a name and digests'],
])('a statement %j is refused by its file', async (content, message) => {
  await expect(readBundle(files({ a: content }))).rejects.toThrow(message);
});

const STAGES = [
  'ARG BUILDKIT_SBOM_SCAN_STAGE=a',
  'FROM debian:12 AS a',
  'RUN a',
  'FROM debian:12 AS unused',
  'ARG BUILDKIT_SBOM_SCAN_STAGE=true',
  'RUN u',
  'FROM debian:12 AS b',
  'ARG BUILDKIT_SBOM_SCAN_STAGE=true',
  'RUN b',
  'FROM a',
  'ARG BUILDKIT_SBOM_SCAN_CONTEXT=true',
  'COPY --from=b /x /',
  'COPY y /',
];

test.each([
  [true, new Map(), ['context', 'a', 'b']],
  [true, new Map([['BUILDKIT_SBOM_SCAN_CONTEXT', 'false']]), ['a', 'b']],
  [false, new Map(), []],
])('a Dockerfile says what is looked through besides: asked %j, told %o', async (isScanned, args, names) => {
  const { scanned } = await read(STAGES, { options: { isScanned, args } });
  expect([...scanned.keys()].toSorted()).toEqual(names.toSorted());
  const context = scanned.get('context')?.op;
  expect(context?.kind === 'local' ? context.followPaths : []).toEqual([]);
});
