import { randomBytes } from 'node:crypto';
import type { TraceParent } from '../../../api/types/build/ports.ts';
import type { BuildVertex } from '../../../api/types/build/status.ts';
import { formatNano } from '../../base/clock.ts';

/** Spans as OpenTelemetry's library for Go writes them, one JSON after the other. */
export const TRACE_TYPE = 'application/vnd.buildkit.otlp.json.v0';

const STATUS = { error: 1, ok: 2 };
const INTERNAL = 1;
const NO_SPAN = '0'.repeat(16);

export interface TracedBuild {
  ref: string;
  createdNano: bigint;
  completedNano: bigint;
  /** The client's span that the build belongs to. */
  parent: TraceParent | undefined;
  /** `''` = it went well. */
  error: string;
  version: string;
}

/** A span of the build, and one of each step that began. */
export function traceOf(build: TracedBuild, vertices: readonly BuildVertex[]): Buffer {
  const { parent } = build;
  const trace = parent?.trace ?? randomBytes(16).toString('hex');
  const resource = [attribute('service.name', 'berthd'), attribute('service.version', build.version)];
  const root = randomBytes(8).toString('hex');
  const steps = vertices.filter(({ started }) => started !== undefined);
  const span = (facts: SpanFacts): object => ({
    Name: facts.name,
    SpanContext: contextOf(trace, facts.id),
    Parent: contextOf(trace, facts.parent),
    SpanKind: INTERNAL,
    StartTime: formatNano(facts.from),
    EndTime: formatNano(facts.to),
    Attributes: facts.attributes,
    Events: null,
    Links: null,
    Status: { Code: facts.error === '' ? STATUS.ok : STATUS.error, Description: facts.error },
    DroppedAttributes: 0,
    DroppedEvents: 0,
    DroppedLinks: 0,
    ChildSpanCount: facts.children,
    Resource: resource,
    InstrumentationLibrary: { Name: 'berthd', Version: build.version, SchemaURL: '' },
  });
  const all = [
    ...steps.map((vertex) =>
      span({
        ...spanOf(vertex, build.completedNano),
        id: randomBytes(8).toString('hex'),
        parent: root,
        children: 0,
      }),
    ),
    span({
      name: 'build',
      id: root,
      parent: parent?.span ?? NO_SPAN,
      from: build.createdNano,
      to: build.completedNano,
      error: build.error,
      attributes: [attribute('ref', build.ref)],
      children: steps.length,
    }),
  ];
  return Buffer.from(all.map((each) => `${JSON.stringify(each)}\n`).join(''));
}

interface SpanFacts {
  name: string;
  id: string;
  parent: string;
  from: bigint;
  to: bigint;
  error: string;
  attributes: readonly object[];
  children: number;
}

function spanOf(
  { digest, name, cached, started = 0n, completed, error }: BuildVertex,
  endNano: bigint,
): Pick<SpanFacts, 'name' | 'from' | 'to' | 'error' | 'attributes'> {
  return {
    name: cached ? `cached: ${name}` : name,
    from: started,
    to: completed ?? endNano,
    error,
    attributes: [attribute('vertex', digest)],
  };
}

function contextOf(trace: string, span: string): object {
  const isNone = span === NO_SPAN;
  return {
    TraceID: isNone ? '0'.repeat(32) : trace,
    SpanID: span,
    TraceFlags: isNone ? '00' : '01',
    TraceState: '',
    Remote: false,
  };
}

function attribute(key: string, value: string): object {
  return { Key: key, Value: { Type: 'STRING', Value: value } };
}
