import type { AnsweredSource, PolicyAnswer, PolicyQuestion } from '../../../api/types/build/sources.ts';
import { DeniedSourceError } from '../../base/build-error.ts';
import { EngineError, invalidArgument } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { parsePlatform } from '../../../storage/image/platform.ts';
import { fullIdentifier } from './name-source.ts';
import type { NamedSource, SourceConversion } from './named-source.ts';

/** Who has a policy, and who can tell what is known of sources. */
export interface PolicyAsking {
  check(question: PolicyQuestion, signal: AbortSignal): Promise<PolicyAnswer>;
  /** Without a policy. */
  known(question: Extract<PolicyAnswer, { kind: 'more' }>['question']): Promise<AnsweredSource>;
}

/** A conversion has met a source that the client's policy has not been asked for. */
export class UnaskedSource extends Error {
  readonly ask: (signal: AbortSignal) => Promise<void>;

  constructor(identifier: string, ask: UnaskedSource['ask']) {
    super(`source ${identifier}: the policy of the client has not been asked`);
    this.ask = ask;
  }
}

/**
 * What `work` makes of sources. Graphs are read and converted without waiting; where a policy has to be asked for a
 * source they are read once more with its answer.
 */
export async function judged<T>(signal: AbortSignal, work: () => T): Promise<T> {
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof UnaskedSource)) {
        throw error;
      }
      signal.throwIfAborted();
      await error.ask(signal);
    }
  }
}

type Verdict = Exclude<PolicyAnswer, { kind: 'more' }>;

/** The policy that a client answers for itself, of one build: it is asked once for each source. */
export class AskedPolicy {
  readonly #asking: PolicyAsking;
  readonly #verdicts = new Map<string, Verdict>();

  constructor(asking: PolicyAsking) {
    this.#asking = asking;
  }

  /** The conversion of rules, and then of this policy; what it has converted is judged anew. */
  after(convert: SourceConversion): SourceConversion {
    return (asked) => {
      let source = convert(asked);
      for (let turn = 0; turn < limits.policyQuestionsOfSourceMax; turn += 1) {
        const verdict = this.#verdict(source);
        if (verdict.kind === 'allow') {
          return source;
        }
        if (verdict.kind === 'deny') {
          const name = JSON.stringify(fullIdentifier(source.identifier));
          const message = `source ${name} not allowed by policy: action ${verdict.action}`;
          throw new DeniedSourceError(message, verdict.messages);
        }
        const { platform } = source;
        source = convert({ ...verdict.source, ...(platform !== undefined && { platform }) });
      }
      throw invalidArgument('too many policy requests');
    };
  }

  #verdict(source: NamedSource): Verdict {
    const named = { ...source, identifier: fullIdentifier(source.identifier) };
    const attrs = [...named.attrs].toSorted(([a], [b]) => (a < b ? -1 : 1));
    const key = JSON.stringify([named.identifier, attrs, named.platform ?? '']);
    const known = this.#verdicts.get(key);
    if (known !== undefined) {
      return known;
    }
    throw new UnaskedSource(named.identifier, async (signal) => {
      if (this.#verdicts.size >= limits.policyVerdictsMax) {
        throw new EngineError(
          'resource_exhausted',
          `a policy of the client is asked for more than ${limits.policyVerdictsMax} sources`,
        );
      }
      this.#verdicts.set(key, await this.#ask(named, signal));
    });
  }

  async #ask(source: NamedSource, signal: AbortSignal): Promise<Verdict> {
    const { identifier, attrs, platform } = source;
    const isOfPlatform = /^(?:docker-image|oci-layout):/.test(identifier);
    const machine = isOfPlatform && platform !== undefined ? platformOf(platform) : undefined;
    let known: AnsweredSource = { source: { identifier, attrs } };
    for (let turn = 0; turn < limits.policyQuestionsOfSourceMax; turn += 1) {
      const question = { ...(machine && { platform: machine }), known };
      const answer = await this.#asking.check(question, signal);
      if (answer.kind !== 'more') {
        return answer;
      }
      refuseOther(answer.question.source, known.source);
      known = { ...(await this.#asking.known(answer.question)), source: known.source };
    }
    throw invalidArgument('too many policy requests');
  }
}

function platformOf(text: string): NonNullable<PolicyQuestion['platform']> {
  const { os, architecture, variant = '' } = parsePlatform(text, 'platform', { anySystem: true });
  return { os, architecture, variant };
}

/** A policy is told of the source that it is asked for, and of no other. Throws in BuildKit's words. */
function refuseOther(asked: AnsweredSource['source'], own: AnsweredSource['source']): void {
  if (asked.identifier !== own.identifier) {
    const names = [asked.identifier, own.identifier].map((name) => JSON.stringify(name)).join(' != ');
    throw invalidArgument(`policy requested different source identifier: ${names}`);
  }
  const isSame =
    asked.attrs.size === own.attrs.size &&
    [...own.attrs].every(([name, value]) => asked.attrs.get(name) === value);
  if (!isSame) {
    throw invalidArgument(`policy requested different source attrs: ${own.identifier}`);
  }
}
