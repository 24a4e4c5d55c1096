import { limits } from '../../daemon/base/limits.ts';

/** What a registry asks for before it answers (RFC 9110, 11.6.1), by scheme in lower case. */
export interface Challenge {
  /** `basic` or `bearer`. */
  scheme: string;
  parameters: Readonly<Record<string, string>>;
}

const TOKEN = String.raw`[!#$%&'*+\-.^_\`|~0-9A-Za-z]+`;
const PARAMETER = new RegExp(String.raw`(${TOKEN})\s*=\s*(?:"((?:[^"\\]|\\.)*)"|(${TOKEN}))\s*,?\s*`, 'y');
const SCHEME = new RegExp(String.raw`\s*(${TOKEN})\s*,?\s*`, 'y');

/** The challenges of a `WWW-Authenticate` header that this engine can answer, in its order. */
export function parseChallenges(header: string | undefined): Challenge[] {
  const challenges: Challenge[] = [];
  const text = header ?? '';
  if (text.length > limits.challengeLengthMax) {
    return challenges;
  }
  for (let at = 0; at < text.length;) {
    SCHEME.lastIndex = at;
    const scheme = SCHEME.exec(text);
    if (scheme?.[1] === undefined) {
      break;
    }
    at = SCHEME.lastIndex;
    // Without a prototype, which TypeScript calls any: the names come from the network.
    const parameters: Record<string, string> = Object.create(null) as Record<string, string>;
    for (;;) {
      PARAMETER.lastIndex = at;
      const parameter = PARAMETER.exec(text);
      if (parameter?.[1] === undefined) {
        break;
      }
      at = PARAMETER.lastIndex;
      parameters[parameter[1].toLowerCase()] = (parameter[2] ?? parameter[3] ?? '').replaceAll(
        /\\(.)/g,
        '$1',
      );
    }
    challenges.push({ scheme: scheme[1].toLowerCase(), parameters });
  }
  return challenges.filter(({ scheme }) => scheme === 'basic' || scheme === 'bearer');
}
