import { expect, test } from 'vitest';
import type { AnsweredSource, PolicyAnswer, PolicyQuestion } from '../../../../api/types/build/sources.ts';
import { buildkitStatus } from '../../../../api/buildkit/services/errors.ts';
import { BuildError } from '../../../../daemon/base/build-error.ts';
import { limits } from '../../../../daemon/base/limits.ts';
import { AskedPolicy, judged } from '../../../../daemon/build/policy/asked-policy.ts';
import { conversionBy } from '../../../../daemon/build/policy/conversion.ts';
import { evaluated } from '../../../../daemon/build/policy/evaluate.ts';
import { asTheyAre, type NamedSource } from '../../../../daemon/build/policy/named-source.ts';

const ALPINE = 'docker-image://docker.io/library/alpine:3';
const { signal } = new AbortController();
const named = (identifier: string, attrs: Record<string, string> = {}): NamedSource => ({
  identifier,
  attrs: new Map(Object.entries(attrs)),
});

/** A client that answers by the identifier, and each question that it was asked. */
class Client {
  readonly asked: PolicyQuestion[] = [];
  readonly policy: AskedPolicy;

  constructor(answer: (question: PolicyQuestion) => PolicyAnswer) {
    this.policy = new AskedPolicy({
      check: (question) => {
        this.asked.push(question);
        return Promise.resolve(answer(question));
      },
      known: ({ source }): Promise<AnsweredSource> =>
        Promise.resolve({ source, http: { digest: 'sha256:a', fileName: 'f' } }),
    });
  }

  async judge(source: NamedSource, convert = asTheyAre): Promise<NamedSource> {
    return await judged(signal, () => this.policy.after(convert)(source));
  }
}

const more = ({ known: { source } }: PolicyQuestion): PolicyAnswer => ({
  kind: 'more',
  question: { source, mode: 'local', name: '', policies: [] },
});

test('what is allowed stays the very same and is asked for once, images with platform and full name', async () => {
  const client = new Client(() => ({ kind: 'allow' }));
  const image = { ...named('docker-image://alpine:3'), platform: 'linux/arm/v7' };
  expect(await client.judge(image)).toBe(image);
  expect(await client.judge({ ...image })).toEqual(image);
  expect(await client.judge({ ...named('local://context'), platform: 'linux/amd64' })).toMatchObject({
    identifier: 'local://context',
  });
  expect(client.asked).toEqual([
    {
      platform: { os: 'linux', architecture: 'arm', variant: 'v7' },
      known: { source: { identifier: ALPINE, attrs: new Map() } },
    },
    { known: { source: { identifier: 'local://context', attrs: new Map() } } },
  ]);
});

test('what is denied is told with the reasons, which clients read of the error', async () => {
  const client = new Client(() => ({ kind: 'deny', action: 'DENY', messages: ['too old'] }));
  const convert = client.policy.after(asTheyAre);
  const failed = await judged(signal, () => evaluated(named(ALPINE), convert)).catch(
    (error: unknown) => error,
  );
  expect(failed).toMatchObject({
    message: `error evaluating the source policy: source "${ALPINE}" not allowed by policy: action DENY`,
  });
  const { details } = buildkitStatus(new BuildError('forbidden', 'in a step', { cause: failed }));
  expect(details.map(({ typeUrl, value }) => [typeUrl, JSON.parse(String(value))])).toEqual([
    [
      'github.com/moby/buildkit/policysession.DecisionResponse+json',
      { action: 1, denyMessages: [{ message: 'too old' }] },
    ],
  ]);
});

test('what is converted is judged anew, by rules too', async () => {
  const rules = conversionBy([
    {
      rules: [
        {
          action: 'convert',
          selector: { identifier: 'https://b/x', match: 'exact', constraints: [] },
          updates: { identifier: 'https://c/x', attrs: new Map() },
        },
      ],
    },
  ]);
  const client = new Client(({ known: { source } }) =>
    source.identifier === 'https://a/x'
      ? { kind: 'convert', source: named('https://b/x', { 'http.checksum': 'c' }) }
      : { kind: 'allow' },
  );
  expect(await client.judge(named('https://a/x'), rules)).toEqual(
    named('https://c/x', { 'http.checksum': 'c' }),
  );
  expect(client.asked.map(({ known }) => known.source.identifier)).toEqual(['https://a/x', 'https://c/x']);
});

test('a policy may want to know more of the source, and of no other', async () => {
  const client = new Client((question) =>
    question.known.http === undefined ? more(question) : { kind: 'allow' },
  );
  const source = named('https://a/x', { 'http.filename': 'f' });
  expect(await client.judge(source)).toBe(source);
  const other = (change: NamedSource): Client =>
    new Client(
      (question) =>
        ({
          ...more(question),
          question: { source: change, mode: 'local', name: '', policies: [] },
        }) as PolicyAnswer,
    );
  await expect(other(named('https://b/x')).judge(source)).rejects.toThrow(
    'policy requested different source identifier: "https://b/x" != "https://a/x"',
  );
  await expect(other(named('https://a/x')).judge(source)).rejects.toThrow(
    'policy requested different source attrs',
  );
});

test('what has no end is ended: questions of one source, conversions, sources', async () => {
  await expect(new Client(more).judge(named('https://a/x'))).rejects.toThrow('too many policy requests');
  let count = 0;
  const turning = new Client(() => ({ kind: 'convert', source: named(`https://a/${(count += 1)}`) }));
  await expect(turning.judge(named('https://a/x'))).rejects.toThrow('too many policy requests');
  const client = new Client(() => ({ kind: 'allow' }));
  for (let position = 0; position < limits.policyVerdictsMax; position += 1) {
    await client.judge(named(`https://a/${position}`));
  }
  await expect(client.judge(named('https://a/x'))).rejects.toThrow('more than 1000 sources');
});
