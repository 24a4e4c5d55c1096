import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { ImageInspect } from '../../../api/types/image.ts';
import { readBuilt, type Built } from '../../support/images/built.ts';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import { ACCOUNT, TestRegistry } from '../../support/registry/registry.ts';
import { publish, fileLayer } from '../../support/registry/registry-content.ts';
import { tar } from '../../support/images/tar.ts';

/** Every parameter of POST /build from API 1.24 to 1.44 (moby api/swagger.yaml); those of BuildKit as well. */
const PARAMETERS = (
  'dockerfile t extrahosts remote q nocache cachefrom pull rm forcerm memory memswap cpushares cpusetcpus cpusetmems ' +
  'cpuperiod cpuquota buildargs shmsize squash labels networkmode platform target outputs version isolation ' +
  'securityopt ulimits cgroupparent session buildid'
).split(' ');

interface Row {
  /** `name=value` of the parameter; more may follow. */
  query: string;
  /** Instructions behind `FROM busybox`. */
  lines?: string[];
  /** In what the build says. */
  says?: RegExp;
  saysNot?: RegExp;
  /** Of the last image. */
  image?: (image: ImageInspect) => unknown;
  is?: unknown;
}

const cat = (...files: string[]): string[] => [`RUN cat ${files.join(' ')} 2>/dev/null || true`];
const CPU = ['/sys/fs/cgroup/cpu', '/sys/fs/cgroup'];
const both = (folders: string[], v1: string, v2: string): string[] =>
  cat(`${folders[0]}/${v1}`, `${folders[1]}/${v2}`);

const IN_FORCE: readonly Row[] = [
  { query: 'dockerfile=other', says: /from the other/ },
  {
    query: 't=one&t=two:3',
    lines: ['ENV NAMED=1'],
    image: ({ RepoTags }) => RepoTags.toSorted(),
    is: ['one:latest', 'two:3'],
  },
  { query: 'extrahosts=there:10.1.2.3', lines: cat('/etc/hosts'), says: /10\.1\.2\.3\s+there/ },
  { query: 'q=1', says: /^sha256:[0-9a-f]{64}\n$/ },
  { query: 'nocache=1', lines: ['ENV A=1'], saysNot: /Using cache/ },
  { query: 'cachefrom=["busybox"]', lines: ['ENV A=1'], saysNot: /Using cache/ },
  { query: 'cachefrom=[]', lines: ['ENV A=1'], says: /Using cache/ },
  { query: 'rm=0', lines: ['RUN echo kept'], saysNot: /Removing intermediate container/ },
  { query: 'forcerm=1&rm=0', lines: ['RUN echo gone'], says: /Removing intermediate container/ },
  {
    query: 'memory=67108864',
    lines: both(['/sys/fs/cgroup/memory', '/sys/fs/cgroup'], 'memory.limit_in_bytes', 'memory.max'),
    says: /\n67108864\n/,
  },
  {
    query: 'memswap=-1&memory=67108864',
    lines: both(
      ['/sys/fs/cgroup/memory', '/sys/fs/cgroup'],
      'memory.memsw.limit_in_bytes',
      'memory.swap.max',
    ),
    says: /\n(?:9223372036854771712|max)\n/,
  },
  { query: 'cpushares=512', lines: both(CPU, 'cpu.shares', 'cpu.weight'), says: /\n(?:512|20)\n/ },
  { query: 'cpuperiod=50000', lines: both(CPU, 'cpu.cfs_period_us', 'cpu.max'), says: /\n(?:max )?50000\n/ },
  { query: 'cpuquota=30000', lines: both(CPU, 'cpu.cfs_quota_us', 'cpu.max'), says: /\n30000/ },
  { query: 'cpusetcpus=0', lines: ['RUN grep Cpus_allowed_list /proc/self/status'], says: /:\s+0\n/ },
  { query: 'cpusetmems=0', lines: ['RUN grep Mems_allowed_list /proc/self/status'], says: /:\s+0\n/ },
  { query: 'buildargs={"A":"given"}', lines: ['ARG A=none', 'RUN echo is $A'], says: /is given\n/ },
  { query: 'shmsize=1048576', lines: ['RUN df /dev/shm'], says: /\s1024\s/ },
  { query: 'labels={"a":"b"}', image: ({ Config }) => Config?.Labels, is: { a: 'b' } },
  { query: 'networkmode=none', lines: ['RUN ls /sys/class/net'], saysNot: /eth0/ },
  { query: 'networkmode=host', lines: ['RUN ls /sys/class/net'], saysNot: /eth0/ },
  {
    query: 'platform=linux/amd64',
    image: ({ Os, Architecture }) => `${Os}/${Architecture}`,
    is: 'linux/amd64',
  },
  { query: 'target=first', lines: [' AS first', 'ENV A=1', 'FROM busybox', 'RUN exit 1'], says: /ENV A=1/ },
  { query: 'version=1', says: /Successfully built/ },
  { query: 'isolation=default', says: /Successfully built/ },
  {
    query: 'ulimits=[{"Name":"nofile","Soft":100,"Hard":200}]',
    lines: ['RUN ulimit -Sn; ulimit -Hn'],
    says: /\n100\n200\n/,
  },
  {
    query: 'cgroupparent=/CGROUP/below',
    lines: cat('/proc/self/cgroup', '/proc/self/mountinfo'),
    says: /Successfully built/,
  },
  { query: 'session=&buildid=&outputs=&securityopt=&squash=0', says: /Successfully built/ },
];

const REFUSED: readonly [string, number, string][] = [
  ['dockerfile=none', 400, 'Cannot locate specified Dockerfile: none'],
  ['t=UPPER', 400, 'must be lowercase'],
  ['extrahosts=there', 400, 'there'],
  ['remote=client-session', 400, 'parameter remote=client-session needs version=2'],
  ['cachefrom=x', 400, 'parameter cachefrom'],
  ['cachefrom={"a":1}', 400, 'parameter cachefrom'],
  ['memory=x', 400, 'parameter memory'],
  ['buildargs=[]', 400, 'parameter buildargs'],
  ['buildargs={"a":1}', 400, 'parameter buildargs'],
  ['labels={"a":null}', 400, 'parameter labels'],
  ['squash=1', 400, 'parameter squash'],
  ['target=none', 400, 'failed to reach build target none'],
  ['outputs=[{"Type":"local"}]', 400, 'parameter outputs'],
  ['version=2', 400, 'parameter session'],
  ['version=3', 400, 'invalid version 3'],
  ['isolation=hyperv', 400, 'parameter isolation=hyperv'],
  ['securityopt=["seccomp=unconfined"]', 400, 'parameter securityopt'],
  ['ulimits={}', 400, 'parameter ulimits'],
  ['ulimits=[{"Name":"nofile"}]', 400, 'parameter ulimits'],
  ['platform=linux/s390x', 400, 'does not match the specified platform'],
  ['session=x', 400, 'parameter session'],
  ['buildid=x', 400, 'parameter buildid'],
];

test('build: every parameter has a row below', () => {
  const named = [...IN_FORCE.map(({ query }) => query), ...REFUSED.map(([query]) => query), 'pull', 'remote'];
  const covered = new Set(named.flatMap((query) => query.split('&')).map((pair) => pair.split('=')[0]));
  expect(PARAMETERS.filter((name) => !covered.has(name))).toEqual([]);
});

describeEngine('build parameters', (engine) => {
  let registry: TestRegistry;
  const enter = (...argv: string[]): string[] => engine.daemon.netns.enter(...argv);
  beforeAll(async () => {
    await using store = await TestRegistry.start({ port: 0 });
    await publish(`http://${store.address}`, 'private:1', [fileLayer('f', 'private')]);
    await publish(`http://${store.address}`, 'several:1', [fileLayer('f', 'first')]);
    await publish(`http://${store.address}`, 'several:latest', [fileLayer('f', 'latest')]);
    registry = await TestRegistry.start({ port: 5000, store, password: true, enter });
  });
  afterAll(() => registry[Symbol.asyncDispose]());
  afterEach(async () => {
    await engine.removeAll();
    await engine.removeImages();
  });

  const send = async (
    query: string,
    lines: readonly string[],
    headers: Record<string, string> = {},
  ): Promise<Built> => {
    const [as = ''] = lines.filter((line) => line.startsWith(' AS'));
    const content = [`FROM busybox${as}`, ...lines.filter((line) => line !== as)].join('\n');
    const answer = await engine.http.request('POST', `/build?${encodeURI(query)}`, {
      body: tar([
        { name: 'Dockerfile', content },
        { name: 'other', content: 'FROM busybox\nRUN echo from the other\n' },
      ]),
      headers: { 'Content-Type': 'application/x-tar', ...headers },
    });
    return readBuilt(answer);
  };

  test.each(IN_FORCE)('build: $query', async ({ query, lines = [], says, saysNot, image, is }) => {
    const full = query.replace('/CGROUP', engine.daemon.cgroupParent);
    if (/nocache|cachefrom/.test(query)) {
      await send('', lines);
    }
    const { text, error, id } = await send(full, lines);
    expect(error).toBe('');
    if (says !== undefined) {
      expect(text).toMatch(says);
    }
    if (saysNot !== undefined) {
      expect(text).not.toMatch(saysNot);
    }
    if (image !== undefined) {
      expect(image(await engine.http.ok<ImageInspect>('GET', `/images/${id}/json`))).toEqual(is);
    }
  });

  test.skipIf(onReference).each(REFUSED)('build: %s is refused', async (query, status, message) => {
    const answer = await send(query, ['RUN true']);
    // What concerns a step is known when it comes to it.
    expect([status, 200]).toContain(answer.status);
    expect(answer.error).toContain(message);
    expect(await engine.list()).toEqual([]);
  });

  test('build: pull and X-Registry-Config: a base of a private registry, asked for again', async () => {
    const base = 'FROM 127.0.0.1:5000/private:1\nCOPY --from=0 /f /g\n';
    const request = (auth: object, query = ''): Promise<string> =>
      engine.http
        .request('POST', `/build?${query}`, {
          body: tar([{ name: 'Dockerfile', content: base.replace('COPY --from=0 /f /g\n', 'LABEL a=b\n') }]),
          headers: {
            'Content-Type': 'application/x-tar',
            'X-Registry-Config': Buffer.from(JSON.stringify(auth)).toString('base64url'),
          },
        })
        .then(({ text }) => text);
    const credentials = { '127.0.0.1:5000': ACCOUNT };
    expect(await request({})).toMatch(/no basic auth credentials|unauthorized/);
    expect(await request({ 'elsewhere:5000': ACCOUNT })).toMatch(/no basic auth credentials|unauthorized/);
    expect(await request(credentials)).toContain('Successfully built');
    expect(await request({})).toContain('Successfully built');
    expect(await request({}, 'pull=1')).toMatch(/no basic auth credentials|unauthorized/);
    expect(await request(credentials, 'pull=1')).toContain('Successfully built');
  });

  test('build: FROM a name without a tag pulls its latest and no other', async () => {
    const answer = await engine.http.request('POST', '/build', {
      body: tar([{ name: 'Dockerfile', content: 'FROM 127.0.0.1:5000/several\n' }]),
      headers: {
        'Content-Type': 'application/x-tar',
        'X-Registry-Config': Buffer.from(JSON.stringify({ '127.0.0.1:5000': ACCOUNT })).toString('base64url'),
      },
    });
    expect(answer.text).toContain('Successfully built');
    const filters = encodeURIComponent(JSON.stringify({ reference: ['127.0.0.1:5000/several'] }));
    const images = await engine.http.ok<{ RepoTags: string[] }[]>('GET', `/images/json?filters=${filters}`);
    expect(images.map(({ RepoTags }) => RepoTags)).toEqual([['127.0.0.1:5000/several:latest']]);
  });
});
