import type { TestDaemon } from '../../test/support/engine/daemon.ts';

/** One thing measured on both engines. `run` answers the measured value; smaller is better everywhere. */
export interface Workload {
  name: string;
  what: string;
  unit: 'ms' | 'us' | 'kB';
  /** berth/dockerd to reach; null = shown without a target. */
  target: number | null;
  rounds: number;
  /** What Berth may take at most, independent of the other engine. */
  max?: number;
  /** What Berth may take more than what it is compared with. */
  maxMore?: number;
  /** Measured on one engine only. */
  engine?: 'berthd';
  /** Measured in dockerd's place, in turns with `run`; `what` tells what it is. */
  reference?(): Promise<number>;
  /** Runs before measuring, and is undone by what it answers. */
  prepare?(daemon: TestDaemon): Promise<Prepared>;
  run(daemon: TestDaemon, prepared: Prepared): Promise<number>;
  /** Asked after all rounds: why what was measured counts for nothing; undefined = it counts. */
  shortfall?(): string | undefined;
}

export interface Prepared {
  /** Containers, which the bench removes at the end. */
  ids: string[];
  /** Ends what else was made, after they have gone. */
  end?: () => Promise<void>;
}
