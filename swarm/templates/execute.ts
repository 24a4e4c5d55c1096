import { errorText, unreachable } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import { executionError, templateError } from './errors.ts';
import { FUNCTIONS, typeName, type Functions } from './functions.ts';
import { parseTemplate } from './parse.ts';
import type { Operand, Pipeline, TemplateNode } from './syntax.ts';
import { entriesOf, isTrue, printed, Struct, type Value } from './values.ts';

/**
 * The text that a template of Go's text/template makes of `data`. A key that is not there is an error. What it may make
 * and how long it may take is bounded. Throws invalid_argument, in the form that Go's templates have for errors.
 */
export function expand(template: string, data: Value, functions: Functions = new Map()): string {
  // Most values are no templates.
  if (!template.includes('{{')) {
    return template;
  }
  const execution = new Execution(template, data, functions);
  execution.run(parseTemplate(template), data, []);
  return execution.output.join('');
}

interface Variable {
  name: string;
  value: Value;
}

class Execution {
  readonly output: string[] = [];
  readonly #template: string;
  readonly #data: Value;
  readonly #functions: Functions;
  #bytes = 0;
  #steps = 0;

  constructor(template: string, data: Value, functions: Functions) {
    this.#template = template;
    this.#data = data;
    this.#functions = functions;
  }

  /** `scope` is changed by declarations; a block hands a copy of it to what is inside. */
  run(nodes: readonly TemplateNode[], dot: Value, scope: Variable[]): void {
    for (const node of nodes) {
      if (node.kind === 'text') {
        this.#write(node.text, 1);
        continue;
      }
      const { pipeline } = node;
      this.#count(pipeline);
      switch (node.kind) {
        case 'action': {
          const value = this.#pipeline(pipeline, dot, scope);
          if (pipeline.variables.length === 0) {
            this.#write(printed(value), pipeline.line);
          }
          break;
        }
        case 'if':
        case 'with': {
          const inner = [...scope];
          const value = this.#pipeline(pipeline, dot, inner);
          const nodesTaken = isTrue(value) ? node.body : node.otherwise;
          this.run(nodesTaken, node.kind === 'with' && isTrue(value) ? value : dot, inner);
          break;
        }
        case 'range':
          this.#range(node, dot, scope);
          break;
        default:
          unreachable(node);
      }
    }
  }

  #range(
    node: { pipeline: Pipeline; body: TemplateNode[]; otherwise: TemplateNode[] },
    dot: Value,
    scope: Variable[],
  ): void {
    const { pipeline, body, otherwise } = node;
    const { variables, commands } = pipeline;
    const value = this.#pipeline({ ...pipeline, variables: [] }, dot, scope);
    const items = itemsOf(value);
    if (items === undefined) {
      const [[first] = []] = commands;
      const place = { at: first?.at ?? 0, text: pipeline.text.replace(/^range\s+/, '') };
      throw executionError(this.#template, place, `range can't iterate over ${printed(value)}`);
    }
    for (const [key, item] of items) {
      this.#count(pipeline);
      const values = variables.length === 2 ? [key, item] : [item];
      const named = variables.map((name, at) => ({ name, value: values[at] ?? null }));
      this.run(body, item, [...scope, ...named]);
    }
    if (items.length === 0) {
      this.run(otherwise, dot, [...scope]);
    }
  }

  #pipeline(pipeline: Pipeline, dot: Value, scope: Variable[]): Value {
    let result: Value | undefined;
    for (const command of pipeline.commands) {
      result = this.#command(command, { dot, scope, pipeline, last: result });
    }
    const value = result ?? null;
    for (const name of pipeline.variables) {
      const known = pipeline.isAssignment ? scope.findLast((variable) => variable.name === name) : undefined;
      if (pipeline.isAssignment && known === undefined) {
        throw templateError(pipeline.line, `undefined variable "${name}"`);
      }
      if (known === undefined) {
        scope.push({ name, value });
      } else {
        known.value = value;
      }
    }
    return value;
  }

  #command(
    [first, ...rest]: readonly Operand[],
    at: { dot: Value; scope: Variable[]; pipeline: Pipeline; last: Value | undefined },
  ): Value {
    const { dot, scope, pipeline, last } = at;
    this.#count(pipeline);
    const values = rest.map((operand) => this.#operand(operand, dot, scope, pipeline));
    const given = last === undefined ? values : [...values, last];
    if (first?.base.kind === 'function') {
      return this.#fields(first, this.#call([first, ...rest], first.base.name, given, pipeline));
    }
    if (given.length > 0) {
      throw templateError(pipeline.line, `can't give argument to non-function ${first?.text ?? ''}`);
    }
    return first === undefined ? null : this.#operand(first, dot, scope, pipeline);
  }

  #operand(operand: Operand, dot: Value, scope: Variable[], pipeline: Pipeline): Value {
    const { base } = operand;
    switch (base.kind) {
      case 'literal':
        return this.#fields(operand, base.value);
      case 'dot':
        return this.#fields(operand, dot);
      case 'variable':
        return this.#fields(operand, this.#variable(base.name, scope, pipeline));
      case 'function':
        return this.#fields(operand, this.#call([operand], base.name, [], pipeline));
      case 'pipeline':
        return this.#fields(operand, this.#pipeline(base.pipeline, dot, [...scope]));
      default:
        return unreachable(base);
    }
  }

  #variable(name: string, scope: readonly Variable[], { line }: Pipeline): Value {
    if (name === '$') {
      return this.#data;
    }
    const variable = scope.findLast((each) => each.name === name);
    if (variable === undefined) {
      throw templateError(line, `undefined variable "${name}"`);
    }
    return variable.value;
  }

  #fields(operand: Operand, base: Value): Value {
    return operand.fields.reduce((value, field) => {
      if (value instanceof Struct || value instanceof Map) {
        const found = value instanceof Struct ? value.fields.get(field) : value.get(field);
        if (found !== undefined) {
          return found;
        }
      }
      const why =
        value instanceof Map
          ? `map has no entry for key "${field}"`
          : `can't evaluate field ${field} in type ${typeName(value)}`;
      throw executionError(this.#template, operand, why);
    }, base);
  }

  #call(command: readonly [Operand, ...Operand[]], name: string, values: Value[], { line }: Pipeline): Value {
    const call = this.#functions.get(name) ?? FUNCTIONS.get(name);
    if (call === undefined) {
      throw templateError(line, `function "${name}" not defined`);
    }
    // Before the call: a million times the same text of a variable would be joined.
    this.#bounded(values, line);
    try {
      return call(...values);
    } catch (error) {
      const text = command.map((operand) => operand.text).join(' ');
      const why = `error calling ${name}: ${errorText(error)}`;
      throw executionError(this.#template, { at: command[0].at, text }, why);
    }
  }

  /** A text that is made and not written takes memory too. */
  #bounded(values: readonly Value[], line: number): void {
    const lengths = values.map((value) => (typeof value === 'string' ? value.length : 0));
    refuseLong(
      lengths.reduce((sum, length) => sum + length, 0),
      line,
    );
  }

  #write(text: string, line: number): void {
    this.#bytes += Buffer.byteLength(text);
    refuseLong(this.#bytes, line);
    this.output.push(text);
  }

  #count({ line }: Pipeline): void {
    this.#steps += 1;
    if (this.#steps > limits.swarmTemplateStepsMax) {
      throw templateError(line, `the template takes more than ${limits.swarmTemplateStepsMax} steps`);
    }
  }
}

function refuseLong(bytes: number, line: number): void {
  if (bytes > limits.swarmTemplateOutputBytesMax) {
    throw templateError(line, `the text is longer than ${limits.swarmTemplateOutputBytesMax} bytes`);
  }
}

/** Undefined for what cannot be walked. */
function itemsOf(value: Value): [Value, Value][] | undefined {
  if (value instanceof Map) {
    return entriesOf(value);
  }
  return Array.isArray(value) ? value.map((item: Value, at) => [at, item]) : undefined;
}
