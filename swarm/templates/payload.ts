import type { ContainerSpec } from '../../api/types/swarm/container-spec.ts';
import { notFound } from '../../daemon/base/errors.ts';
import { templateContext, type TemplateSubject } from './context.ts';
import { expand } from './execute.ts';
import { textOf, type Functions, type TemplateFunction } from './functions.ts';

/** What a secret's or config's template may use: only what its own task has. */
export interface PayloadSources {
  /** Expanded already: `env` reads it. */
  spec: Pick<ContainerSpec, 'Env' | 'Secrets' | 'Configs'>;
  /** As stored, by id. */
  secrets: ReadonlyMap<string, Buffer>;
  configs: ReadonlyMap<string, Buffer>;
}

/**
 * A templated secret or config as one task gets it: the functions `env "NAME"`, `secret "TARGET"` and `config "TARGET"`
 * beside those that all templates have. Throws invalid_argument.
 */
export function expandPayload(template: Buffer, subject: TemplateSubject, sources: PayloadSources): Buffer {
  return Buffer.from(expand(template.toString('utf8'), templateContext(subject), functionsOf(sources)));
}

function functionsOf({ spec, secrets, configs }: PayloadSources): Functions {
  return new Map([
    ['env', only((name) => variable(spec.Env ?? [], name))],
    [
      'secret',
      only((target) => {
        const found = spec.Secrets?.find(({ File }) => File?.Name === target);
        return textFor('secret', target, secrets.get(found?.SecretID ?? ''));
      }),
    ],
    [
      'config',
      only((target) => {
        const found = spec.Configs?.find(({ File }) => File?.Name === target);
        return textFor('config', target, configs.get(found?.ConfigID ?? ''));
      }),
    ],
  ]);
}

/** A function of one text. */
function only(read: (name: string) => string): TemplateFunction {
  return (...values) => read(textOf(values[0] ?? null));
}

function variable(env: readonly string[], name: string): string {
  return env.find((entry) => entry.startsWith(`${name}=`))?.slice(name.length + 1) ?? '';
}

function textFor(kind: string, target: string, data: Buffer | undefined): string {
  if (data === undefined) {
    throw notFound(`${kind} target ${target} not found`);
  }
  return data.toString('utf8');
}
