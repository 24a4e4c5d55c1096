import type { ProgressMessage } from '../../../api/types/image.ts';
import type { BuildReport, StepFacts } from '../../images/build/report.ts';
import type { Plan } from '../../images/build/dockerfile/stages.ts';
import type { Vertex, Vertices } from './vertices.ts';

/** Instructions that are steps to BuildKit's clients; others only change the configuration. */
const STEPS = new Set(['FROM', 'RUN', 'COPY', 'ADD', 'WORKDIR']);

/** Turns what the engine reports into vertices: `[build 2/4] RUN make`. */
export class EngineReport implements BuildReport {
  readonly #vertices: Vertices;
  readonly #numbers = new Map<number, number>();
  #plan: Plan | undefined;
  #vertex: Vertex | undefined;
  #step: StepFacts | undefined;

  constructor(vertices: Vertices) {
    this.#vertices = vertices;
  }

  /** The step that the engine is at, or failed at. */
  get current(): { step: StepFacts | undefined; vertex: Vertex | undefined } {
    return { step: this.#step, vertex: this.#vertex };
  }

  begin(plan: Plan): void {
    this.#plan = plan;
  }

  step(step: StepFacts): void {
    this.#close();
    this.#step = step;
    const { instruction, stage } = step;
    if (stage !== undefined && STEPS.has(instruction.name)) {
      const number = (this.#numbers.get(stage) ?? 0) + 1;
      this.#numbers.set(stage, number);
      this.#vertex = this.#vertices.begin(`[${this.#placeOf(stage, number)}] ${instruction.text}`);
      if (instruction.name === 'FROM') {
        this.#vertex.start();
      }
    }
  }

  making(): void {
    this.#vertex?.start();
  }

  cached(): void {
    this.#vertex?.cached();
  }

  made(): void {
    this.#close();
  }

  /** All went well. */
  end(): void {
    this.#close();
    this.#step = undefined;
  }

  output(stream: number, bytes: Buffer): void {
    this.#vertex?.output(stream, bytes);
  }

  room(): Promise<void> {
    // Bounded where it is kept.
    return Promise.resolve();
  }

  say(): void {
    // In the words of the classic builder, for its clients.
  }

  send({ id = '', status = '', progressDetail }: ProgressMessage): void {
    if (progressDetail?.current !== undefined) {
      const { current, total } = progressDetail;
      const isLast = current === total;
      this.#vertex?.progress([id, status].filter((word) => word !== '').join(' '), {
        current,
        ...(total !== undefined && { total }),
        isLast,
      });
    }
  }

  #close(): void {
    this.#vertex?.done();
    this.#vertex = undefined;
  }

  /** `2/4` where there is one stage, else with its name before it. */
  #placeOf(stage: number, number: number): string {
    const stages = this.#plan?.stages ?? [];
    const { name = '', steps = [] } = stages[stage] ?? {};
    const total = 1 + steps.filter((step) => STEPS.has(step.name)).length;
    const place = `${number}/${Math.max(total, number)}`;
    return stages.length === 1 && name === '' ? place : `${name === '' ? `stage-${stage}` : name} ${place}`;
  }
}
