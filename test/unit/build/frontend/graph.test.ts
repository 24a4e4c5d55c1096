import { expect, test } from 'vitest';
import type { ContainerConfig } from '../../../../api/types/container.ts';
import type { Vertex } from '../../../../daemon/build/graph/op.ts';
import { names, read, vertices, type Given } from './reading.ts';

const FROM = 'FROM debian:12';

async function stage(...lines: string[]): ReturnType<typeof read> {
  return await read([FROM, ...lines]);
}

async function opOf(lines: string | readonly string[], given?: Given): Promise<Vertex['op'] | undefined> {
  return (await read([FROM, ...[lines].flat()], given)).tree?.op;
}

test('a build of two stages: names, inputs, wanted paths of the context', async () => {
  const { tree, asked } = await read([
    'ARG V=12',
    'FROM golang:1.24 AS build',
    'WORKDIR /src',
    'COPY go.mod go.sum ./',
    'ARG TARGETARCH',
    'run go build -o /app $TARGETARCH "$X"',
    'FROM debian:$V',
    'COPY --link --from=build /app /usr/bin/',
    'CMD ["app"]',
  ]);
  expect(names(tree)).toEqual([
    '[stage-1 1/2] FROM docker.io/library/debian:12',
    '[build 1/4] FROM docker.io/library/golang:1.24',
    '[build 2/4] WORKDIR /src',
    '[internal] load build context',
    '[build 3/4] COPY go.mod go.sum ./',
    '[build 4/4] RUN go build -o /app amd64 "$X"',
    '[stage-1 2/2] COPY --link --from=build /app /usr/bin/',
    '[stage-1 2/2] LINK COPY --link --from=build /app /usr/bin/',
  ]);
  expect(asked.toSorted()).toEqual(['docker.io/library/debian:12', 'docker.io/library/golang:1.24']);
  expect(vertices(tree).find(({ op }) => op.kind === 'local')?.op).toMatchObject({
    followPaths: ['go.mod', 'go.sum'],
  });
  expect(vertices(tree).map(({ lines }) => lines?.from)).toEqual([7, 2, 3, undefined, 4, 6, 8, 8]);
});

test('ten and more steps are numbered in columns', async () => {
  const { tree } = await stage(...Array.from({ length: 9 }, (_, at) => `RUN ${at}`));
  expect(names(tree).slice(0, 2)).toEqual(['[ 1/10] FROM docker.io/library/debian:12', '[ 2/10] RUN 0']);
});

const CONFIG: [string, ContainerConfig, string][] = [
  ['ENV A=1 B="x y" C=$PATH', { Env: ['PATH=/bin', 'A=1', 'B=x y', 'C=/bin'] }, 'ENV A=1 B=x y C=/bin'],
  ['ENV PATH=/x:$PATH', { Env: ['PATH=/x:/bin'] }, 'ENV PATH=/x:/bin'],
  ['ENV A b  "c"', { Env: ['PATH=/bin', 'A=b  c'] }, 'ENV A=b  c'],
  ['LABEL a=1 "b c"=\'$PATH\'', { Labels: { a: '1', 'b c': '$PATH' } }, 'LABEL a=1 b c=$PATH'],
  ['USER ${U:-me}:grp', { User: 'me:grp' }, 'USER me:grp'],
  ['WORKDIR a/../b', { WorkingDir: '/b' }, 'WORKDIR /b'],
  ['VOLUME /a $PATH', { Volumes: { '/a': {}, '/bin': {} } }, 'VOLUME [/a /bin]'],
  ['VOLUME ["/a b"]', { Volumes: { '/a b': {} } }, 'VOLUME [/a b]'],
  [
    'EXPOSE 80 443/TCP 8000-8001/udp',
    { ExposedPorts: { '443/tcp': {}, '80/tcp': {}, '8000/udp': {}, '8001/udp': {} } },
    'EXPOSE [443/tcp 80/tcp 8000/udp 8001/udp]',
  ],
  ['STOPSIGNAL SIGINT', { StopSignal: 'SIGINT' }, 'STOPSIGNAL SIGINT'],
  ['SHELL ["/bin/bash", "-c"]', { Shell: ['/bin/bash', '-c'] }, 'SHELL [/bin/bash -c]'],
  ['CMD echo $A', { Cmd: ['/bin/sh', '-c', 'echo $A'], ArgsEscaped: true }, 'CMD ["/bin/sh" "-c" "echo $A"]'],
  ['CMD ["a", "b c"]', { Cmd: ['a', 'b c'], ArgsEscaped: true }, 'CMD ["a" "b c"]'],
  ['CMD []', { Cmd: null, ArgsEscaped: true }, 'CMD []'],
  ['CMD', { Cmd: ['/bin/sh', '-c', ''], ArgsEscaped: true }, 'CMD ["/bin/sh" "-c" ""]'],
  ['ENTRYPOINT', { Entrypoint: ['/bin/sh', '-c', ''], Cmd: null }, 'ENTRYPOINT ["/bin/sh" "-c" ""]'],
  ['ENTRYPOINT []', { Entrypoint: null, Cmd: null }, 'ENTRYPOINT []'],
  ['ENTRYPOINT ["a"]', { Entrypoint: ['a'], Cmd: null }, 'ENTRYPOINT ["a"]'],
  [
    'HEALTHCHECK --interval=5s --start-interval=1s --retries=3 CMD true',
    {
      Healthcheck: {
        Test: ['CMD-SHELL', 'true'],
        Interval: 5_000_000_000,
        StartInterval: 1_000_000_000,
        Retries: 3,
      },
    },
    'HEALTHCHECK {Test:[CMD-SHELL true] Interval:5s Timeout:0s StartPeriod:0s StartInterval:1s Retries:3}',
  ],
  [
    'HEALTHCHECK NONE',
    { Healthcheck: { Test: ['NONE'] } },
    'HEALTHCHECK {Test:[NONE] Interval:0s Timeout:0s StartPeriod:0s StartInterval:0s Retries:0}',
  ],
];

test.each(CONFIG)('%s: configuration and history', async (line, config, createdBy) => {
  const { image } = await stage(line);
  expect(image.config).toEqual({ Env: ['PATH=/bin'], Cmd: ['bash'], ...config });
  expect(image.history).toEqual([
    { createdBy, comment: 'buildkit.dockerfile.v0', emptyLayer: !line.startsWith('WORKDIR') },
  ]);
});

test('MAINTAINER is the author; ONBUILD stays in the image with its here-document and tells nothing', async () => {
  const { image } = await stage('MAINTAINER me', 'ONBUILD RUN <<-E cat', '\tx', 'E');
  expect(image.author).toBe('me');
  expect(image.config.OnBuild).toEqual(['RUN <<-E cat\n\tx\nE']);
  expect(image.history.map(({ createdBy }) => createdBy)).toEqual(['MAINTAINER me']);
});

test('an ENTRYPOINT keeps a CMD of the same stage; SHELL is used by what follows', async () => {
  const { image } = await stage('SHELL ["b"]', 'CMD x', 'ENTRYPOINT y');
  expect([image.config.Cmd, image.config.Entrypoint]).toEqual([
    ['b', 'x'],
    ['b', 'y'],
  ]);
});

test('ARG: given, default, global, and what RUN is told of them', async () => {
  const { image, tree } = await read(
    ['ARG G=g', 'ARG H=h', FROM, 'ARG G', 'ARG D=d$G E', 'ARG GIVEN=no', 'RUN x', 'ENV D=env', 'RUN y $D$H'],
    {
      options: {
        args: new Map([
          ['GIVEN', 'yes'],
          ['http_proxy', 'p'],
          ['UNUSED', 'u'],
        ]),
      },
    },
  );
  expect(tree?.op).toMatchObject({
    env: ['PATH=/bin', 'G=g', 'GIVEN=yes', 'D=env'],
    quietEnv: ['HTTP_PROXY=p', 'http_proxy=p'],
  });
  expect(image.history.map(({ createdBy }) => createdBy)).toEqual([
    'ARG G=g',
    'ARG D=dg E',
    'ARG GIVEN=yes',
    'RUN |4 G=g D=dg E= GIVEN=yes /bin/sh -c x # buildkit',
    'ENV D=env',
    'RUN |4 G=g D=env E= GIVEN=yes /bin/sh -c y $D$H # buildkit',
  ]);
  expect(image.config.Env).toEqual(['PATH=/bin', 'D=env']);
});

test('a stage on another has its arguments, environment and directory, and runs its triggers', async () => {
  const { tree, image } = await read([
    `${FROM} AS a`,
    'ARG X=1',
    'ENV E=2',
    'WORKDIR /w',
    'ONBUILD RUN trigger',
    'FROM a',
    'RUN go',
  ]);
  expect(tree?.op).toMatchObject({ env: ['PATH=/bin', 'X=1', 'E=2'], directory: '/w' });
  expect(image.config.OnBuild).toBeUndefined();
  expect(names(tree)).toEqual([
    '[a 1/2] FROM docker.io/library/debian:12',
    '[a 2/2] WORKDIR /w',
    '[stage-1 1/2] ONBUILD RUN trigger',
    '[stage-1 2/2] RUN go',
  ]);
});

test('triggers of an image: their stages are found, their lines are those of the FROM', async () => {
  const images = {
    'docker.io/library/base:1': { OnBuild: ['COPY --from=golang:1.24 /go /go', 'RUN <<E\nx\nE'] },
  };
  const { tree, asked } = await read(['FROM base:1', 'RUN own'], { images });
  expect(asked).toEqual(['docker.io/library/base:1', 'docker.io/library/golang:1.24']);
  expect(names(tree)).toEqual([
    '[1/4] FROM docker.io/library/base:1',
    'FROM docker.io/library/golang:1.24',
    '[2/4] ONBUILD COPY --from=golang:1.24 /go /go',
    '[3/4] ONBUILD RUN <<E (x)',
    '[4/4] RUN own',
  ]);
  expect(vertices(tree).map(({ lines }) => lines?.from)).toEqual([1, 1, 1, 1, 2]);
});

test.each([
  ['RUN x', ['/bin/sh', '-c', 'x']],
  ['RUN ["a", "$PATH"]', ['a', '$PATH']],
  ['RUN <<E\none $A\n\ttwo\nE', ['/bin/sh', '-c', 'one $A\n\ttwo\n']],
  ['RUN <<-E\n\tone\nE', ['/bin/sh', '-c', 'one\n']],
  ['RUN cat <<E > f\none\nE', ['/bin/sh', '-c', 'cat <<E > f\none\nE']],
  ['RUN <<E\n#!/bin/python\nprint()\nE', ['/dev/pipes/E']],
])('%j runs %j', async (line, argv) => {
  expect(await opOf(line)).toMatchObject({ argv });
});

test('a here-document that is a program is mounted as a file', async () => {
  const { tree } = await stage('RUN <<E', '#!/bin/python', 'E');
  expect(tree?.op).toMatchObject({
    mounts: [{ type: 'bind', from: 1, source: '/', target: '/dev/pipes/', isWritable: false }],
  });
  expect(tree?.inputs[1]?.op).toMatchObject({
    actions: [{ action: 'mkfile', path: '/E', content: '#!/bin/python\n', mode: 0o755 }],
  });
  expect(tree?.name).toBe('[2/2] RUN <<E (#!/bin/python)');
});

const ROOT = { owner: { uid: 0, gid: 0 } };
test.each([
  ['target=/t', { type: 'bind', from: 1, source: '/', target: '/t', isWritable: false }],
  ['type=bind,src=a,dst=t,rw', { type: 'bind', from: 1, source: '/a', target: '/t', isWritable: true }],
  [
    'type=cache,target=/c/',
    {
      type: 'cache',
      id: 'ns//c/',
      sharing: 'shared',
      source: '/',
      target: '/c',
      isWritable: true,
      ...ROOT,
      mode: 0o755,
    },
  ],
  [
    'type=cache,id=$PATH,target=/c,sharing=locked,ro,uid=1,gid=2,mode=700,from=golang:1.24,source=/go',
    {
      type: 'cache',
      id: 'ns//bin',
      sharing: 'locked',
      from: 1,
      source: '/go',
      target: '/c',
      isWritable: false,
      owner: { uid: 1, gid: 2 },
      mode: 0o700,
    },
  ],
  ['type=tmpfs,target=/t,size=1m', { type: 'tmpfs', target: '/t', sizeBytes: 1_048_576 }],
  [
    'type=secret,id=a/b',
    { type: 'secret', id: 'a/b', target: '/run/secrets/b', isRequired: false, ...ROOT, mode: 0o400 },
  ],
  [
    'type=secret,target=/x/y,required,mode=0440',
    { type: 'secret', id: 'y', target: '/x/y', isRequired: true, ...ROOT, mode: 0o440 },
  ],
  [
    'type=secret,id=T,env=TOKEN',
    { type: 'secret', id: 'T', env: 'TOKEN', isRequired: false, ...ROOT, mode: 0o400 },
  ],
  ['type=secret,id=T,env', undefined],
  [
    'type=ssh',
    {
      type: 'ssh',
      id: 'default',
      target: '/run/buildkit/ssh_agent.0',
      isRequired: false,
      ...ROOT,
      mode: 0o600,
    },
  ],
])('RUN --mount=%s', async (text, mount) => {
  const op = opOf(`RUN --mount=${text} x`, { options: { cacheNamespace: 'ns' } });
  if (mount === undefined) {
    await expect(op).rejects.toThrow("invalid field 'env' must be a key=value pair");
  } else {
    expect(await op).toMatchObject({ mounts: [mount] });
  }
});

test('options of the build reach its commands', async () => {
  const options = {
    network: 'none' as const,
    hostname: 'h',
    extraHosts: [{ name: 'x', address: '10.0.0.1' }],
    shmBytes: 64,
    ulimits: [{ name: 'nofile', soft: 1, hard: 2 }],
    cgroupParent: '/c',
    entitlements: new Set(['network.host', 'security.insecure']),
  };
  const { entitlements: _, ...told } = options;
  expect(await opOf('RUN x', { options })).toMatchObject(told);
  expect(await opOf('RUN --network=host --security=insecure x', { options })).toMatchObject({
    network: 'host',
    isPrivileged: true,
  });
});

test.each([
  ['--device=v.com/gpu=0', [{ name: 'v.com/gpu=0', isRequired: false, isAllowed: true }]],
  ['--device=v.com/gpu=*,required', [{ name: 'v.com/gpu=*', isRequired: true, isAllowed: true }]],
  ['--device=required=false,v.com/net', [{ name: 'v.com/net', isRequired: false, isAllowed: false }]],
  [
    '--device=name=v.com/net=$N --device=v.com/gpu',
    [
      { name: 'v.com/net=b', isRequired: false, isAllowed: true },
      { name: 'v.com/gpu', isRequired: false, isAllowed: true },
    ],
  ],
])('RUN %s', async (flags, devices) => {
  const options = { entitlements: new Set(['device=v.com/gpu', 'device=v.com/net=b']) };
  expect(await opOf(`ARG N=b\nRUN ${flags} x`, { options })).toMatchObject({ devices });
});

test.each([
  ['v.com/gpu=0,w.com/gpu=1', "unexpected field 'w.com/gpu=1' in 'v.com/gpu=0,w.com/gpu=1'"],
  ['required', '--device=required names no device'],
  ['v.com/gpu,required=perhaps', 'strconv.ParseBool: parsing "perhaps": invalid syntax'],
])('RUN --device=%s is refused', async (value, why) => {
  await expect(opOf(`RUN --device=${value} x`)).rejects.toThrow(why);
});

test.each([
  ['COPY a b/ /d', { sources: ['/a', '/b'], destination: '/d', unpacks: false }],
  ['COPY ["a b", "/d/"]', { sources: ['/a b'], destination: '/d/' }],
  ['COPY . .', { sources: ['/'], destination: '/' }],
  ['WORKDIR /w\nCOPY ../x ./y/', { sources: ['/x'], destination: '/w/y/' }],
  ['ADD a.tar /d', { sources: ['/a.tar'], unpacks: true }],
  ['ADD --unpack=false a.tar /d', { unpacks: false }],
  [
    'COPY --chown=$U:1 --chmod=u+x,go-w --exclude=*.o --exclude=x a /d',
    { owner: ':1', chmod: 'u+x,go-w', exclude: ['*.o', 'x'] },
  ],
  ['COPY --parents a/./b/c d/*.txt /e/', { sources: ['/a/./b/c', '/./d/*.txt'], keepsParents: true }],
  ['COPY <<"E" /f\n$PATH\nE', { sources: ['/E'], destination: '/f' }],
  ['ADD https://x/y/z.tgz?q /d/', { sources: ['/z.tgz'], unpacks: false, destination: '/d/' }],
  ['ADD https://x/r.git#v1:sub /d', { sources: ['/'], destination: '/d' }],
])('%j copies', async (lines, action) => {
  expect(await opOf(lines.split('\n'))).toMatchObject({ kind: 'files', actions: [action] });
});

test.each([
  [
    'ADD --checksum=sha256:' + '0'.repeat(64) + ' https://x/y /d',
    { kind: 'http', url: 'https://x/y', checksum: 'sha256:' + '0'.repeat(64), fileName: 'y' },
  ],
  ['ADD https://x/ /d', { kind: 'http', fileName: '__unnamed__' }],
  [
    'ADD --keep-git-dir git@h.x:o/r.git?branch=b&subdir=/../s /d',
    {
      kind: 'git',
      remote: 'git@h.x:o/r.git',
      ref: 'refs/heads/b',
      subdirectory: 's',
      keepsGitDirectory: true,
      checksum: '',
    },
  ],
  [
    'COPY <<E /f\n$PATH "q"\nE',
    { kind: 'files', actions: [{ content: '/bin "q"\n', path: '/E', mode: 0o644 }] },
  ],
])('%j has a source of its own', async (lines, op) => {
  const { tree } = await stage(...lines.split('\n'));
  expect(tree?.inputs[1]?.op).toMatchObject(op);
});
