import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { solveRequest } from '../../../api/buildkit/proto/control.ts';
import { resolveSourceRequest, resolveSourceResponse } from '../../../api/buildkit/proto/sources.ts';
import { GraphClient, type SolvedTree } from '../../support/buildkit/graph-client.ts';
import { busybox, copy, definitionOf, node, scratch, type Node } from '../../support/buildkit/graphs.ts';
import { hostPlatform } from '../../../storage/image/platform.ts';
import { describeEngine } from '../../support/engine/engine.ts';
import { WebServer } from '../../support/registry/web.ts';

type Sent = Parameters<typeof solveRequest.encode>[0];
type Rules = NonNullable<NonNullable<Sent['sourcePolicy']>['rules']>;

const DENY = 1;
const CONVERT = 2;
const REGEX = 2;
const UPLINK = 89;
const IMAGE = 'docker-image://docker.io/library/busybox:latest';

const DIGEST = `sha256:${createHash('sha256').update('new').digest('hex')}`;
type Known = ReturnType<typeof resolveSourceResponse.decode>;

const deny = (identifier: string): Rules[number] => ({ action: DENY, selector: { identifier } });
const convert = (from: string, identifier: string, attrs: Record<string, string> = {}): Rules[number] => ({
  action: CONVERT,
  selector: { identifier: from },
  updates: { identifier, attrs: new Map(Object.entries(attrs)) },
});
const denied = (identifier: string): string =>
  `source "${identifier}" denied by policy: source denied by policy`;
const remote = (url: string): Node =>
  node({ source: { identifier: url, attrs: new Map([['http.filename', 'f']]) } });

describeEngine(
  'policies of sources',
  (engine) => {
    let web: WebServer;
    let url: string;
    beforeAll(async () => {
      web = await WebServer.start(`10.${UPLINK}.0.1`);
      url = web.file('/new', 'new');
    });
    afterAll(() => web[Symbol.asyncDispose]());

    const solved = async <T>(
      sent: Node | readonly string[],
      rules: Rules,
      read: (found: SolvedTree) => Promise<T>,
    ): Promise<T> => {
      await using client = await new GraphClient(engine.daemon).open();
      if ('bytes' in sent) {
        return await client.build(
          async (bridge) => await read(await bridge.request({ definition: definitionOf(sent) })),
          { sourcePolicy: { rules } },
        );
      }
      const content = Buffer.from(sent.join('\n'));
      client.server.list = [
        { stat: { path: Buffer.from('Dockerfile'), mode: 0o644, size: content.length }, content },
      ];
      return await client.build(
        async (bridge) => await read(await bridge.request({ frontend: 'dockerfile.v0' })),
        { sourcePolicy: { rules } },
      );
    };
    const failing = async (sent: Node | readonly string[], ...rules: Rules): Promise<string> =>
      await solved(sent, rules, () => Promise.resolve('it was solved')).catch(
        (error: Error) => error.message,
      );

    test.each<[string, string, string[], string]>([
      ['an image', IMAGE, ['FROM busybox'], `could not resolve image due to policy: ${denied(IMAGE)}`],
      [
        'a file',
        'http://127.0.0.1*',
        ['FROM scratch', 'ADD http://127.0.0.1:1/x /'],
        denied('http://127.0.0.1:1/x'),
      ],
      [
        'a repository',
        'git://*',
        ['FROM scratch', 'ADD https://127.0.0.1:1/r.git#v1 /'],
        denied('git://127.0.0.1:1/r.git#v1'),
      ],
      ['the Dockerfile', 'local://*', ['FROM scratch'], denied('local://dockerfile')],
      ['the context', 'local://context', ['FROM scratch', 'COPY Dockerfile /'], denied('local://context')],
    ])('a Dockerfile is denied %s', async (_title, identifier, lines, problem) => {
      const said = await failing(lines, deny(identifier));
      expect(said).toContain(problem);
      // As BuildKit, without a code of its own.
      expect(said).toContain('LLBBridge/Solve');
    });

    test('a Dockerfile gets other images and files, by the text of an asterisk', async () => {
      const rules = [
        convert('docker-image://docker.io/library/old:*', 'docker-image://docker.io/library/busybox:${1}'),
        convert('https://gone.example/*', url.replace('new', '$1')),
      ];
      const lines = ['FROM old:latest', 'ADD https://gone.example/new /', 'RUN cat /new > /read'];
      expect(await solved(lines, rules, async (found) => await found.text('/read'))).toBe('new');
    });

    test('a named context that is an image becomes a directory, a file or nothing that it may be', async () => {
      await using client = await new GraphClient(engine.daemon).open();
      const lines = ['FROM scratch AS other', 'FROM scratch', 'COPY --from=other /* /'];
      const content = Buffer.from(lines.join('\n'));
      client.server.list = [
        { stat: { path: Buffer.from('Dockerfile'), mode: 0o644, size: content.length }, content },
      ];
      const GONE = 'docker-image:docker.io/library/gone:latest';
      const named = async (identifier: string, context = GONE): Promise<string[]> => {
        const rules = [convert('docker-image://docker.io/library/gone:latest', identifier)];
        const frontendOpt = new Map([['context:other', context]]);
        return await client.build(
          async (bridge) => (await bridge.request({ frontend: 'dockerfile.v0', frontendOpt })).names('/'),
          { sourcePolicy: { rules } },
        );
      };
      expect(await named('local://test')).toEqual(['Dockerfile']);
      expect(client.server.copies.map(({ metadata }) => metadata.get('dir-name')[0])).toContain('test');
      expect(await named(url)).toEqual(['new']);
      await expect(named('git://host/r')).rejects.toThrow('it cannot become git://host/r by a source policy');
      // What bake and compose leave unresolved with --check, as BuildKit says it.
      const words = 'unsupported context source target for other';
      await expect(named(url, 'target:base')).rejects.toThrow(words);
      await expect(named(url, 'base')).rejects.toThrow('invalid context specifier base for other');
    });

    test('a graph gets another source, and what two operations stand on stays one', async () => {
      const rules = [
        {
          action: DENY,
          selector: {
            identifier: '.*',
            matchType: REGEX,
            constraints: [{ key: 'http.checksum', value: DIGEST, condition: 1 }],
          },
        },
        convert('https://gone.example/f', url, { 'http.checksum': DIGEST }),
      ];
      const gone = remote('https://gone.example/f');
      const both = scratch(
        [copy('/f', '/a', {}, 0), copy('/f', '/b', {}, 1)],
        gone,
        scratch([copy('/f', '/f', {}, 0)], gone),
      );
      const asked = web.asked.length;
      expect(
        await solved(both, rules, async (found) => (await found.text('/a')) + (await found.text('/b'))),
      ).toBe('newnew');
      expect(web.asked.slice(asked)).toEqual(['GET /new']);
      expect(await failing(remote(url), ...rules)).toContain(denied(url));
      expect(await failing(busybox, convert('docker-image://*', 'wrong://${1}'))).toContain(
        'source wrong://',
      );
      expect(await failing(busybox, convert('docker-image://*', 'docker-image://${1}1'))).toContain(
        'too many mutations',
      );
    });

    test('what is known of sources beside their files: after the policy, and in its words', async () => {
      const repository = await web.repository('known.git', { a: 'a' });
      const head = execFileSync('git', ['rev-parse', 'main'], { cwd: web.repositoryPath('known.git') });
      const rules = [
        convert('docker-image://docker.io/library/old:*', 'docker-image://docker.io/library/busybox:${1}'),
        deny('local://denied'),
      ];
      await using client = await new GraphClient(engine.daemon).open();
      await client.build(
        async (bridge) => {
          const ask = async (identifier: string, more: object = {}): Promise<Known> =>
            resolveSourceResponse.decode(
              await bridge.ask(
                'ResolveSourceMeta',
                resolveSourceRequest.encode({ source: { identifier, ...more } }),
              ),
            );
          const { source, image } = await ask('docker-image://old');
          expect(source?.identifier).toBe(IMAGE);
          expect(JSON.parse(String(image?.config))).toMatchObject({ os: 'linux' });
          expect((await ask(url)).http).toEqual({ checksum: DIGEST, filename: 'new' });
          const attrs = new Map([['git.fullurl', repository]]);
          expect((await ask('git://host/known#main', { attrs })).git).toEqual({
            checksum: String(head).trim(),
            ref: 'main',
          });
          const local = { identifier: 'local://context', attrs: new Map() };
          expect((await ask('local://context')).source).toEqual(local);
          await expect(ask('local://denied')).rejects.toThrow(
            `could not resolve image due to policy: ${denied('local://denied')}`,
          );
          const chain = { source: local, image: { attestationChain: true } };
          await expect(bridge.ask('ResolveSourceMeta', resolveSourceRequest.encode(chain))).rejects.toThrow(
            'Image.AttestationChain of a source is not supported',
          );
        },
        { sourcePolicy: { rules } },
      );
    });

    test('a policy of a session is asked for each source, told more of it, and converts and denies', async () => {
      await using client = await new GraphClient(engine.daemon).open();
      const { server } = client;
      const content = Buffer.from(`FROM old AS base\nADD ${url} /\n`);
      server.list = [
        { stat: { path: Buffer.from('Dockerfile'), mode: 0o644, size: content.length }, content },
      ];
      const asked: string[] = [];
      let denies = '';
      server.policy = ({ platform, source: known }) => {
        const { identifier, attrs } = known?.source ?? { identifier: '', attrs: new Map<string, string>() };
        asked.push(`${identifier} ${platform?.architecture ?? ''}`.trim());
        if (identifier === 'docker-image://docker.io/library/old:latest') {
          return { decision: { action: CONVERT, update: { identifier: IMAGE } } };
        }
        if (identifier === url && known?.http === undefined) {
          return { request: { source: { identifier, attrs } } };
        }
        const isDenied = identifier === denies && known?.http?.checksum === DIGEST;
        return { decision: isDenied ? { action: DENY, denyMessages: [{ message: 'new' }] } : {} };
      };
      const request = { sourcePolicySession: client.session };
      const build = async (): Promise<string> =>
        await client.build(
          async (bridge) => (await bridge.request({ frontend: 'dockerfile.v0' })).text('/new'),
          request,
        );
      expect(await build()).toBe('new');
      const arch = hostPlatform().architecture;
      expect(new Set(asked)).toEqual(
        new Set([
          'local://dockerfile',
          'local://context',
          `docker-image://docker.io/library/old:latest ${arch}`,
          `${IMAGE} ${arch}`,
          url,
        ]),
      );
      denies = url;
      await expect(build()).rejects.toThrow(`source "${url}" not allowed by policy: action DENY`);
      await expect(
        client.build(async (bridge) => (await bridge.solve(remote(url))).text('/f'), request),
      ).rejects.toThrow('not allowed by policy');
      await client.build(async (bridge) => {
        const source = { source: { identifier: 'docker-image://old' } };
        const answer = await bridge.ask('ResolveSourceMeta', resolveSourceRequest.encode(source));
        expect(resolveSourceResponse.decode(answer).source?.identifier).toBe(IMAGE);
      }, request);
      // A session that has no policy is asked for one.
      server.policy = undefined;
      await expect(build()).rejects.toThrow('CheckPolicy');
    });

    test('what cannot be asked is refused by its name', async () => {
      await using client = await new GraphClient(engine.daemon).open();
      const sourcePolicy = { rules: [{ action: 9, selector: { identifier: 'x' } }] };
      await expect(client.control({ sourcePolicy })).rejects.toThrow('source policy: unknown action 9');
      await expect(client.control({ sourcePolicy: { rules: [{}] } })).rejects.toThrow(
        'a rule without its selector',
      );
    });
  },
  { uplink: UPLINK },
);
