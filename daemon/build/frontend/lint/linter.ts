import { invalidArgument } from '../../../base/errors.ts';
import { parseBool } from '../../../base/go/values.ts';
import type { Lines } from '../../../base/dockerfile/instruction.ts';
import type { Rule } from './rules.ts';

/** Something that a rule does not like. */
export interface LintWarning {
  rule: Rule;
  /** What it is about, in one sentence. */
  detail: string;
  lines: Lines;
}

/** `skip=A,B;error=true;experimental=all` of a `# check=` line. */
export interface LintConfig {
  skip: 'all' | readonly string[];
  experimental: 'all' | readonly string[];
  isError: boolean;
}

const NONE: LintConfig = { skip: [], experimental: [], isError: false };

/** Throws invalid_argument `invalid check option ".."`. Pure. */
export function parseLintConfig(text: string): LintConfig {
  let config = NONE;
  for (const part of text.trim() === '' ? [] : text.split(';')) {
    const [, key = '', value = ''] = /^([^=]*)=(.*)$/s.exec(part) ?? [];
    switch (key.trim()) {
      case 'skip':
        config = { ...config, skip: names(value) };
        break;
      case 'experimental':
        config = { ...config, experimental: names(value) };
        break;
      case 'error':
        config = { ...config, isError: parseBool(value.trim()) };
        break;
      default:
        throw invalidArgument(`invalid check option ${JSON.stringify(part)}`);
    }
  }
  return config;
}

function names(value: string): 'all' | string[] {
  return value.trim() === 'all' ? 'all' : value.split(',').map((name) => name.trim());
}

/** Gathers what the rules do not like while a Dockerfile is read. */
export class Linter {
  readonly warnings: LintWarning[];
  readonly #config: LintConfig;

  constructor(config: LintConfig, warnings: LintWarning[] = []) {
    this.#config = config;
    this.warnings = warnings;
  }

  /** The same with what comments before an instruction skip: `# check=skip=RULE why`. */
  with(comments: readonly string[]): Linter {
    const text = comments.map((line) => /^check\s*=\s*(\S+)/i.exec(line)?.[1]).find(Boolean);
    if (text === undefined) {
      return this;
    }
    try {
      return new Linter(merged(this.#config, parseLintConfig(text)), this.warnings);
    } catch {
      // A comment that only looks like one.
      return this;
    }
  }

  warn(rule: Rule, lines: Lines, detail: string): void {
    const isWanted = rule.isExperimental
      ? has(this.#config.experimental, rule.name)
      : !has(this.#config.skip, rule.name);
    if (isWanted) {
      this.warnings.push({ rule, detail, lines });
    }
  }

  /** Throws invalid_argument where the Dockerfile wants warnings to be errors, and there are some. */
  refuse(): void {
    const rules = [...new Set(this.warnings.map(({ rule }) => rule.name))];
    if (this.#config.isError && rules.length > 0) {
      throw invalidArgument(`lint violation found for rules: ${rules.join(', ')}`);
    }
  }
}

function has(rules: 'all' | readonly string[], name: string): boolean {
  return rules === 'all' || rules.includes(name);
}

function merged(one: LintConfig, other: LintConfig): LintConfig {
  const both = (a: LintConfig['skip'], b: LintConfig['skip']): LintConfig['skip'] =>
    a === 'all' || b === 'all' ? 'all' : [...a, ...b];
  return {
    skip: both(one.skip, other.skip),
    experimental: both(one.experimental, other.experimental),
    isError: one.isError,
  };
}
