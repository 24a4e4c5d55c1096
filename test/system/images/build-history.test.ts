import { createHash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { status } from '../../../api/buildkit/proto/common.ts';
import { ControlClient } from '../../support/buildkit/control-client.ts';
import { HistoryClient, type ToldRecord } from '../../support/buildkit/history-client.ts';
import { SessionServer } from '../../support/buildkit/session-server.ts';
import { describeEngine } from '../../support/engine/engine.ts';

const DOCKERFILE = 'FROM busybox AS last\nARG A\nRUN echo said >/x && cat /x\nCOPY Dockerfile /\n';

describeEngine('the history of builds', (engine) => {
  let server: SessionServer;
  let client: ControlClient;
  let history: HistoryClient;

  const connect = (): void => {
    client = new ControlClient(engine.daemon.paths.socket);
    history = new HistoryClient(client);
  };
  beforeAll(() => {
    const folder = `${engine.daemon.paths.root}/session`;
    mkdirSync(folder);
    server = new SessionServer(folder);
    connect();
  });
  afterAll(async () => {
    client[Symbol.dispose]();
    await server[Symbol.asyncDispose]();
  });

  const build = async (
    ref: string,
    dockerfile: string,
    options: Record<string, string> = {},
    more: object = {},
  ): Promise<string> => {
    const content = Buffer.from(dockerfile);
    server.list = [{ stat: { path: Buffer.from('Dockerfile'), mode: 0o644, size: content.length }, content }];
    return await client.build(server, [{ type: 'moby' }], options, { ref, ...more }).then(
      () => '',
      (error: Error) => error.message,
    );
  };
  const one = async (ref: string): Promise<ToldRecord> => {
    const { records } = await history.list({ ref });
    const [record] = records;
    if (record === undefined) {
      throw new Error(`no record of ${ref}`);
    }
    return record;
  };

  test('of a build all that was asked, counted and told is there, and what belongs to it by its digest', async () => {
    const attributes = {
      'build-arg:A': 'secret argument',
      'vcs:source': 'https://me:password@example.com/one.git',
      target: 'last',
    };
    await build('one', DOCKERFILE, attributes);
    const record = await one('one');
    expect(record).toMatchObject({
      frontend: 'dockerfile.v0',
      exporters: [{ type: 'moby' }],
      error: undefined,
      pinned: false,
      generation: 0,
      numWarnings: 0,
    });
    expect(Object.fromEntries(record.frontendAttrs)).toEqual({
      ...attributes,
      'vcs:source': 'https://xxxxx:xxxxx@example.com/one.git',
    });
    expect([record.numTotalSteps, record.numCompletedSteps]).toEqual([
      record.numTotalSteps,
      record.numTotalSteps,
    ]);
    expect(record.exporterResponse.get('containerimage.digest')).toMatch(/^sha256:/);
    const { printed, names } = await history.log('one');
    expect(printed).toBe('said\n');
    expect([...names]).toContain('[2/3] RUN echo said >/x && cat /x');
    const log = await history.content(record.logs?.digest ?? '');
    expect(`sha256:${createHash('sha256').update(log).digest('hex')}`).toBe(record.logs?.digest);
    expect(log.length).toBe(record.logs?.size);
    expect(await history.content(record.logs?.digest ?? '', 2, 7)).toEqual(log.subarray(2, 9));
    const spans = (await history.content(record.trace?.digest ?? '')).toString().trim().split('\n');
    expect(spans).toHaveLength(record.numTotalSteps + 1);
  });

  test('its provenance says what it was made of, by which steps and of which file, without passwords', async () => {
    const [attestation] = (await one('one')).result?.attestations ?? [];
    expect(attestation).toMatchObject({ mediaType: 'application/vnd.in-toto+json' });
    expect(attestation?.annotations.get('in-toto.io/predicate-type')).toBe(
      'https://slsa.dev/provenance/v0.2',
    );
    const text = (await history.content(attestation?.digest ?? '')).toString();
    expect(text).not.toContain('password');
    const predicate: unknown = JSON.parse(text);
    const { id } = await engine.http
      .ok<{ Id: string }>('GET', '/images/busybox/json')
      .then(({ Id }) => ({ id: Id }));
    expect(predicate).toMatchObject({
      buildType: 'https://mobyproject.org/buildkit@v1',
      materials: [
        {
          uri: 'pkg:docker/busybox@latest?platform=linux%2Famd64',
          digest: { sha256: id.replace('sha256:', '') },
        },
      ],
      invocation: {
        parameters: {
          frontend: 'dockerfile.v0',
          args: { target: 'last', 'build-arg:A': 'secret argument' },
          locals: [{ name: 'context' }, { name: 'dockerfile' }],
        },
      },
      metadata: { buildInvocationID: 'one', completeness: { parameters: true, materials: false } },
      buildConfig: { llbDefinition: expect.arrayContaining([expect.objectContaining({ id: 'step2' })]) },
    });
    expect(predicate).toMatchObject({
      metadata: {
        'https://mobyproject.org/buildkit@v1#metadata': {
          source: {
            infos: [
              {
                filename: 'Dockerfile',
                language: 'Dockerfile',
                data: Buffer.from(DOCKERFILE).toString('base64'),
                llbDefinition: [
                  {
                    id: 'step0',
                    op: {
                      Op: {
                        source: {
                          identifier: 'local://dockerfile',
                          attrs: {
                            'local.followpaths': '["Dockerfile","Dockerfile.dockerignore","dockerfile"]',
                          },
                        },
                      },
                    },
                  },
                  { id: 'step1', op: { Op: {} }, inputs: ['step0:0'] },
                ],
                digestMapping: expect.any(Object),
              },
            ],
          },
        },
      },
    });
  });

  test('of a failure the error, its place and what the step printed are there', async () => {
    const said = await build('failed', 'FROM busybox\nRUN echo before; exit 3\n');
    expect(said).toContain('exit code: 3');
    const record = await one('failed');
    expect(record.error?.message).toContain('did not complete successfully: exit code: 3');
    expect(record.result).toBeUndefined();
    const details = status.decode(await history.content(record.externalError?.digest ?? '')).details;
    expect(details.map(({ typeUrl }) => typeUrl)).toEqual([
      'github.com/moby/buildkit/errdefs.Vertex+json',
      'github.com/moby/buildkit/errdefs.Source+json',
    ]);
    expect((await history.log('failed')).printed).toBe('before\n');
  });

  test('filters, a limit, one by its name; what is internal is not kept', async () => {
    await build('internal', 'FROM busybox\n', {}, { internal: true });
    const refs = async (question: object): Promise<string[]> =>
      (await history.list(question)).records.map(({ ref }) => ref);
    expect(await refs({})).toEqual(['one', 'failed']);
    expect(await refs({ limit: 1 })).toEqual(['failed']);
    expect(await refs({ filters: ['status==error'] })).toEqual(['failed']);
    expect(await refs({ filters: ['status==completed,ref~=^o'] })).toEqual(['one']);
    expect(await refs({ filters: ['repository~=example.com'] })).toEqual(['one']);
    expect(await refs({ filters: ['duration>=1h', 'startedAt<1h,ref==one'] })).toEqual([]);
    expect(await refs({ ref: 'buildx-test-history-api-feature', activeOnly: true })).toEqual([]);
    await expect(refs({ filters: ['size>3'] })).rejects.toThrow('invalid filter "size>3"');
    expect(Date.parse((await history.list()).now)).toBeGreaterThan(Date.now() - 60_000);
  });

  test('who listens is told of beginnings, ends, changes and removals; a daemon after it knows the rest', async () => {
    const events = history.events({ activeOnly: true });
    const next = events.next();
    await build('later', 'FROM busybox\n');
    expect((await next).value).toBe('started later');
    expect((await events.next()).value).toBe('complete later');
    await history.update({ ref: 'later', pinned: true });
    expect((await events.next()).value).toBe('complete later');
    expect(await one('later')).toMatchObject({ pinned: true, generation: 1 });
    const [attestation] = (await one('one')).result?.attestations ?? [];
    await history.update({ ref: 'one', delete: true });
    expect((await events.next()).value).toBe('deleted one');
    await events.return(undefined);
    await expect(history.content(attestation?.digest ?? '')).rejects.toThrow('not found');
    await expect(history.update({ ref: 'one', delete: true })).rejects.toThrow('no such build record: one');
    await expect(history.update({ ref: 'one', pinned: true })).rejects.toThrow('no such build record: one');
    await history.update({ ref: 'later', finalize: true });
    client[Symbol.dispose]();
    await engine.daemon.stop();
    await engine.daemon.up();
    connect();
    const { records } = await history.list();
    expect(records.map(({ ref, pinned }) => [ref, pinned])).toEqual([
      ['failed', false],
      ['later', true],
    ]);
    expect((await history.log('failed')).printed).toBe('before\n');
  });
});
