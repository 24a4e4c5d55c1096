import type { Lines } from '../../../base/dockerfile/instruction.ts';
import type { Outline, Stage } from '../stages/stage.ts';
import { answer, base64, rangesOf, type Answer, type Source } from './answer.ts';
import { table } from './table.ts';

interface Located {
  location: { ranges: ReturnType<typeof rangesOf> };
}

/** `--call=outline`: what a build of this target may be told. Pure. */
export function outlineAnswer(source: Source, target: Stage): Answer {
  const stages = stagesOf(target);
  const args = argsOf(stages);
  const secrets = mentioned(stages, 'secrets');
  const ssh = mentioned(stages, 'ssh');
  const { name = '', description = '' } = target.plan ?? {};
  const value = {
    ...(name !== '' && { name }),
    ...(description !== '' && { description }),
    ...(args.length > 0 && { args }),
    ...(secrets.length > 0 && { secrets }),
    ...(ssh.length > 0 && { ssh }),
    sources: [base64(source.text)],
  };
  const head = [
    ...(name !== '' || description !== '' ? [['TARGET:', name || '(default)']] : []),
    ...(description === '' ? [] : [['DESCRIPTION:', description]]),
  ];
  const shown = [
    table(head, 1),
    section(
      ['BUILD ARG', 'VALUE', 'DESCRIPTION'],
      args.map((arg) => [arg.name, arg.value ?? '', arg.description ?? '']),
    ),
    section(['SECRET', 'REQUIRED'], mentionRows(secrets)),
    section(['SSH', 'REQUIRED'], mentionRows(ssh)),
  ];
  return answer(value, shown.map((part) => (part === '' ? '' : `${part}\n`)).join(''));
}

function mentionRows(items: readonly Mention[]): string[][] {
  return items.map((item) => [item.name, item.required === true ? 'true' : '']);
}

function section(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return rows.length === 0 ? '' : table([head, ...rows], 3);
}

/** The target, what it is based on, and what it copies from. */
function stagesOf(target: Stage): Stage[] {
  const found = new Set<Stage>();
  const visit = (stage: Stage): void => {
    if (!found.has(stage)) {
      found.add(stage);
      if (stage.base !== undefined) {
        visit(stage.base);
      }
      stage.sources.forEach(visit);
    }
  };
  visit(target);
  return [...found];
}

interface Arg extends Located {
  name: string;
  description?: string;
  value?: string;
}

/** Those that some stage uses, and others that defaults of these are made of. */
function argsOf(stages: readonly Stage[]): Arg[] {
  const found = new Map<string, Arg>();
  for (const { outline } of stages) {
    for (const name of withDependencies(outline)) {
      const declared = outline.args.get(name);
      if (declared !== undefined && !found.has(name)) {
        const { argument, value = '', instruction } = declared;
        found.set(name, {
          name,
          ...(argument.description !== '' && { description: argument.description }),
          ...(value !== '' && { value }),
          location: { ranges: rangesOf(instruction.lines) },
        });
      }
    }
  }
  return byLine([...found.values()]);
}

function withDependencies({ args, used }: Outline): Set<string> {
  const all = new Set<string>();
  const open = [...used];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (!all.has(name)) {
      all.add(name);
      open.push(...(args.get(name)?.dependencies ?? []));
    }
  }
  return all;
}

interface Mention extends Located {
  name: string;
  required?: true;
}

function mentioned(stages: readonly Stage[], kind: 'secrets' | 'ssh'): Mention[] {
  const found = new Map<string, { isRequired: boolean; lines: Lines }>();
  for (const { outline } of stages) {
    outline[kind].forEach((item, name) => found.set(name, found.get(name) ?? item));
  }
  return byLine(
    [...found].map(([name, { isRequired, lines }]) => ({
      name,
      ...(isRequired && { required: true as const }),
      location: { ranges: rangesOf(lines) },
    })),
  );
}

function byLine<T extends Located>(items: readonly T[]): T[] {
  const lineOf = ({ location }: Located): number => location.ranges[0]?.start.line ?? 0;
  return items.toSorted((a, b) => lineOf(a) - lineOf(b));
}
