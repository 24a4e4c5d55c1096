import { expect, test } from 'vitest';
import { attestationsOf } from '../../../../daemon/build/attest/attestations.ts';
import { readAttestations, type AskedProvenance } from '../../../../daemon/build/attest/asked.ts';
import { buildSteps } from '../../../../daemon/build/attest/build-steps.ts';
import { packageUrl } from '../../../../storage/image-archives/package-url.ts';
import {
  provenanceOf,
  refuseIncomplete,
  USUAL_PROVENANCE,
  type ProvenFacts,
} from '../../../../daemon/build/attest/provenance.ts';
import { statementsOf } from '../../../../storage/image-archives/statement.ts';
import type { Vertex } from '../../../../daemon/build/graph/op.ts';
import { context, copy, image, run } from '../solver/vertices.ts';

const COMMIT = 'c'.repeat(40);
const FACTS: ProvenFacts = {
  ref: 'r',
  frontend: 'dockerfile.v0',
  attributes: {
    context: 'https://h/one.git#main:sub',
    filename: 'D',
    'vcs:revision': '1',
    'vcs:source': 'https://me:secret@h/one.git',
    platform: 'x',
    'attest:provenance': 'mode=max',
    'build-arg:TOKEN': 'seen',
    target: 't',
  },
  sources: [
    { kind: 'git', remote: 'https://h/one.git', ref: 'main', commit: COMMIT },
    { kind: 'git', remote: 'https://h/one.git', ref: 'main', commit: COMMIT },
    { kind: 'http', url: 'https://me:secret@h/file', digest: 'sha256:ab' },
    { kind: 'layout', store: 's', platform: 'linux/arm64', digest: 'sha256:cd' },
  ],
  platform: 'linux/amd64',
  createdNano: 0n,
  completedNano: 1_000_000_000n,
};
const MATERIALS = [
  { uri: 'https://h/one.git#main', digest: { sha1: COMMIT } },
  { uri: 'https://xxxxx:xxxxx@h/file', digest: { sha256: 'ab' } },
  { uri: 'pkg:oci/s?platform=linux%2Farm64', digest: { sha256: 'cd' } },
];
const CONFIG = { uri: 'https://h/one.git#main:sub', digest: { sha1: COMMIT } };
const VCS = { revision: '1', source: 'https://xxxxx:xxxxx@h/one.git' };

const asked = (value: string): AskedProvenance | undefined =>
  readAttestations(new Map([['attest:provenance', value]])).provenance;
const parsed = (bytes: Buffer): unknown => JSON.parse(bytes.toString());

test('what is asked for is read, with what is usual', () => {
  const usual = {
    mode: 'max',
    version: 'v0.2',
    builderId: '',
    isReproducible: false,
    isInlineOnly: false,
    mustBeComplete: false,
    fileName: 'provenance.json',
  };
  expect(readAttestations(new Map([['target', 'a']]))).toEqual({ provenance: undefined, scan: undefined });
  expect(asked('')).toEqual(usual);
  expect(asked('disabled=true')).toBeUndefined();
  // As buildx says it.
  expect(asked('type=provenance,mode=max')).toEqual(usual);
  expect(asked('mode=min,inline-only=true')).toEqual({ ...usual, mode: 'min', isInlineOnly: true });
  expect(asked('mode=full,version=v1,"builder-id=a,b",reproducible=true,filename=p')).toEqual({
    ...usual,
    version: 'v1',
    builderId: 'a,b',
    isReproducible: true,
    fileName: 'p',
  });
  expect(
    readAttestations(new Map([['build-arg:BUILDKIT_ATTEST_PROVENANCE', 'mode=min']])).provenance?.mode,
  ).toBe('min');
});

test.each([
  ['provenance', 'mode=most', 'attestation provenance: invalid mode "most"'],
  ['provenance', 'type=sbom', 'attestation provenance: it is of type sbom'],
  ['provenance', 'version=v2', 'attestation provenance: invalid version "v2"'],
  ['provenance', 'reproducible=maybe', 'attestation provenance: reproducible=maybe: must be true or false'],
  ['provenance', 'filename=../a', 'attestation provenance: filename ../a'],
  ['provenance', 'capture-usage=true', 'attestation provenance: option capture-usage=true is not supported'],
  ['other', '', 'unknown attestation type "other"'],
])('attest:%s=%s is refused by name', (type, value, message) => {
  expect(() => readAttestations(new Map([[`attest:${type}`, value]]))).toThrow(message);
});

test.each([
  ['busybox', 'pkg:docker/busybox@latest?platform=linux%2Famd64'],
  ['docker.io/library/debian:12', 'pkg:docker/debian@12?platform=linux%2Famd64'],
  ['host:5000/a/b:c', 'pkg:docker/host:5000/a/b@c?platform=linux%2Famd64'],
  [
    `debian:12@sha256:${'a'.repeat(64)}`,
    `pkg:docker/debian@12?digest=sha256:${'a'.repeat(64)}&platform=linux%2Famd64`,
  ],
])('%s is %s', (reference, url) => {
  expect(packageUrl(reference, 'linux/amd64')).toBe(url);
});

test('SLSA 0.2: sources by what they were, each once; a context by its commit; no arguments', () => {
  expect(parsed(provenanceOf(FACTS, { ...USUAL_PROVENANCE, mode: 'min' }))).toEqual({
    builder: { id: '' },
    buildType: 'https://mobyproject.org/buildkit@v1',
    materials: MATERIALS,
    invocation: {
      configSource: { ...CONFIG, entryPoint: 'D' },
      parameters: { frontend: 'dockerfile.v0', args: { target: 't' } },
      environment: { platform: 'linux/amd64' },
    },
    metadata: {
      buildInvocationID: 'r',
      buildStartedOn: '1970-01-01T00:00:00.000000000Z',
      buildFinishedOn: '1970-01-01T00:00:01.000000000Z',
      completeness: { parameters: false, environment: true, materials: true },
      reproducible: false,
      'https://mobyproject.org/buildkit@v1#metadata': { vcs: VCS },
    },
  });
});

test('SLSA 1: the same in its own words, with arguments, steps and the Dockerfile', () => {
  const target = { ...run('make', image('a:1')), lines: { from: 2, to: 3 } };
  const made = { steps: buildSteps(target), file: { name: 'D', text: 'FROM', source: context('s') } };
  const predicate = parsed(
    provenanceOf(
      { ...FACTS, made },
      { mode: 'max', version: 'v1', builderId: 'https://b', isReproducible: true },
    ),
  );
  expect(predicate).toMatchObject({
    buildDefinition: {
      buildType: expect.stringContaining('slsa-definitions.md'),
      externalParameters: {
        configSource: { ...CONFIG, path: 'D' },
        request: { frontend: 'dockerfile.v0', args: { target: 't', 'build-arg:TOKEN': 'seen' } },
      },
      internalParameters: {
        buildConfig: { llbDefinition: [{ id: 'step0' }, { id: 'step1' }, { id: 'step2' }] },
        builderPlatform: 'linux/amd64',
      },
      resolvedDependencies: MATERIALS,
    },
    runDetails: {
      builder: { id: 'https://b' },
      metadata: {
        invocationId: 'r',
        startedOn: '1970-01-01T00:00:00.000000000Z',
        buildkit_metadata: {
          vcs: VCS,
          source: {
            locations: {
              step1: { locations: [{ ranges: [{ start: { line: 2 }, end: { line: 3 } }] }] },
            },
            infos: [
              {
                filename: 'D',
                language: 'Dockerfile',
                data: 'RlJPTQ==',
                llbDefinition: [{ id: 'step0' }, { id: 'step1', inputs: ['step0:0'] }],
                digestMapping: expect.any(Object),
              },
            ],
          },
        },
        buildkit_completeness: { request: true, resolvedDependencies: true },
        buildkit_reproducible: true,
      },
    },
  });
});

test('steps: operations as BuildKit prints them, inputs by step and result, lines and secrets beside them', () => {
  const base = image('docker.io/library/a:1');
  const command = run('make', copy(['/x'], undefined, context('s')), [base]);
  const { op } = command;
  const secret = { id: 'key', target: '/k', isRequired: false, owner: { uid: 0, gid: 0 }, mode: 0o400 };
  const target: Vertex = {
    ...command,
    op:
      op.kind === 'exec'
        ? {
            ...op,
            network: 'none',
            devices: [{ name: 'v/c=d', isRequired: false, isAllowed: true }],
            mounts: [...op.mounts, { type: 'secret', ...secret }],
          }
        : op,
  };
  const { steps, digests, secrets } = buildSteps(target);
  expect(Object.values(digests)).toEqual(['step0', 'step1', 'step2', 'step3']);
  expect(secrets).toEqual([{ id: 'key', isOptional: true }]);
  expect(steps).toEqual([
    { id: 'step0', op: { Op: { source: { identifier: 'local://context' } } } },
    {
      id: 'step1',
      // The empty tree is no input.
      op: {
        Op: {
          file: {
            actions: [
              {
                input: -1,
                secondaryInput: 0,
                output: 0,
                Action: {
                  copy: {
                    src: '/x',
                    dest: '/',
                    mode: -1,
                    followSymlink: true,
                    dirCopyContents: true,
                    createDestPath: true,
                    timestamp: -1,
                  },
                },
              },
            ],
          },
        },
      },
      inputs: ['step0:0'],
    },
    {
      id: 'step2',
      op: {
        Op: { source: { identifier: 'docker-image://docker.io/library/a:1' } },
        platform: { Architecture: 'amd64', OS: 'linux' },
      },
    },
    {
      id: 'step3',
      op: {
        Op: {
          exec: {
            meta: { args: ['make'], env: [], cwd: '/', removeMountStubsRecursive: true },
            mounts: [
              { input: 0, dest: '/', output: 0 },
              { input: 1, dest: '/m', output: -1, readonly: true },
              {
                input: -1,
                dest: '/k',
                mountType: 1,
                output: -1,
                secretOpt: { ID: 'key', uid: 0, gid: 0, mode: 0o400, optional: true },
              },
            ],
            network: 2,
            cdiDevices: [{ name: 'v/c=d', optional: true }],
          },
        },
      },
      inputs: ['step1:0', 'step2:0'],
    },
    { id: 'step4', op: { Op: {} }, inputs: ['step3:0'] },
  ]);
  expect(buildSteps(undefined).steps).toEqual([]);
});

test.each([
  ['1:2', { user: { User: { byID: 1 } }, group: { User: { byID: 2 } } }],
  ['me', { user: { User: { byName: { name: 'me', input: 0 } } } }],
  ['', undefined],
])('who owns what is made, %j, is told as BuildKit does', (owner, told) => {
  const op = { kind: 'files', actions: [{ action: 'mkdir', path: '/a', mode: 0o755, owner }] } as const;
  const [step] = buildSteps({
    op: { ...op, actions: [...op.actions] },
    inputs: [image('a:1')],
    name: 'a',
  }).steps.slice(1);
  const mkdir = { path: '/a', mode: 0o755, makeParents: true, ...(told && { owner: told }), timestamp: -1 };
  expect(step?.op).toEqual({
    Op: { file: { actions: [{ input: 0, secondaryInput: -1, output: 0, Action: { mkdir } }] } },
  });
});

test('what a client sent is not all known: a build that must be fails', () => {
  const sources = [{ kind: 'local', name: 'context' }] as const;
  expect(() => refuseIncomplete(FACTS.sources)).not.toThrow();
  const provenance = asked('complete-materials=true');
  const recipe = { target: undefined, file: { name: '', text: '' } };
  expect(() => attestationsOf({ sources, recipe }, { provenance }, FACTS)).toThrow(
    'provenance materials are incomplete (complete-materials): files of the client: context',
  );
  expect(attestationsOf({ sources, recipe }, { provenance: undefined }, FACTS)).toEqual([]);
});

test('a statement is about what is given out, or about what it says itself', () => {
  const own = [{ name: 'own', digest: { sha256: 'b' } }];
  const given = [{ name: 'given', digest: { sha256: 'a' } }];
  const attestation = {
    predicateType: 'p',
    predicate: Buffer.from('{"x":1}'),
    fileName: 'f',
    isInlineOnly: false,
  };
  const [first, second] = statementsOf([attestation, { ...attestation, subjects: own }], given, {
    isIndented: true,
  });
  expect(first?.bytes.toString().split('\n')[1]).toBe('  "_type": "https://in-toto.io/Statement/v0.1",');
  expect(parsed(first?.bytes ?? Buffer.alloc(0))).toMatchObject({ subject: given, predicate: { x: 1 } });
  expect(parsed(second?.bytes ?? Buffer.alloc(0))).toMatchObject({ subject: own });
});
