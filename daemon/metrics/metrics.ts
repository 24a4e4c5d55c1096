import { statSync } from 'node:fs';
import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import type { MetricsPort } from '../../api/types/ports.ts';
import type { SystemCounts } from '../system/ports.ts';
import { ActionMetrics } from './actions.ts';

/** What is asked of the engine at each scrape, and only then. */
export interface MetricsDeps {
  /** Label values of `engine_daemon_engine_info`. */
  engine: Readonly<Record<(typeof ENGINE_LABELS)[number], string>>;
  cpus: number;
  memoryBytes: number;
  counts: () => SystemCounts;
  /** Events since the start, and clients that listen to them now. */
  events: () => { published: number; listeners: number };
  /** Layers of images, each counted once. */
  layers: () => { count: number; bytes: number };
  /** Entries of networks of the swarm that were not in the kernel as they had been made, since the start. */
  overlayRepairs: () => number;
  /** Copies of blobs of the hub that this manager made for others, as too few held them, since the start. */
  hubRepairs: () => { copies: number; bytes: number };
  /** Path of the database; its log lies beside it. */
  database: string;
}

const ENGINE_LABELS = [
  'architecture',
  'commit',
  'daemon_id',
  'graphdriver',
  'kernel',
  'os',
  'os_type',
  'os_version',
  'version',
] as const;

/**
 * The engine's metrics in Prometheus' text format. Names and labels are dockerd's where it has them (`engine_daemon_`,
 * `builder_`), the others begin with `berth_`, and those of the process are prom-client's. No label has a value that a
 * client chose. Times come from `daemon/base/measured.ts`, all else is read at the scrape.
 */
export class Metrics implements MetricsPort, Disposable {
  readonly #registry = new Registry();
  readonly #actions: ActionMetrics;

  constructor(deps: MetricsDeps) {
    collectDefaultMetrics({ register: this.#registry });
    this.#addEngine(deps);
    this.#addContainers(deps);
    this.#addEvents(deps);
    this.#addStore(deps);
    this.#addNetworks(deps);
    this.#addHub(deps);
    this.#actions = new ActionMetrics(this.#registry);
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }

  /** Measures no more. */
  [Symbol.dispose](): void {
    this.#actions[Symbol.dispose]();
    this.#registry.clear();
  }

  #addEngine({ engine, cpus, memoryBytes }: MetricsDeps): void {
    const help = 'The information related to the engine and the OS it is running on';
    const info = new Gauge({
      name: 'engine_daemon_engine_info',
      help,
      labelNames: ENGINE_LABELS,
      registers: [],
    });
    info.set(engine, 1);
    this.#registry.registerMetric(info);
    this.#gauge(
      'engine_daemon_engine_cpus_cpus',
      'The number of cpus that the host system of the engine has',
      () => cpus,
    );
    this.#gauge(
      'engine_daemon_engine_memory_bytes',
      'The number of bytes of memory that the host system of the engine has',
      () => memoryBytes,
    );
  }

  #addContainers({ counts }: MetricsDeps): void {
    this.#gauges(
      'engine_daemon_container_states_containers',
      'The count of containers in various states',
      'state',
      () => {
        const { running, paused, stopped } = counts();
        return { running, paused, stopped };
      },
    );
  }

  #addNetworks({ overlayRepairs }: MetricsDeps): void {
    this.#counter(
      'berth_overlay_repairs_total',
      'Entries of networks of the swarm that another program had changed in the kernel, and that were mended',
      overlayRepairs,
    );
  }

  #addHub({ hubRepairs }: MetricsDeps): void {
    this.#counter(
      'berth_hub_repaired_blobs_total',
      'Blobs of the hub that this manager copied to another one, as too few held them',
      () => hubRepairs().copies,
    );
    this.#counter('berth_hub_repaired_bytes_total', 'Bytes of these blobs', () => hubRepairs().bytes);
  }

  #addEvents({ events }: MetricsDeps): void {
    this.#counter('engine_daemon_events_total', 'The number of events logged', () => events().published);
    this.#gauge(
      'engine_daemon_events_subscribers_total',
      'The number of current subscribers to events',
      () => events().listeners,
    );
  }

  #addStore({ counts, layers, database }: MetricsDeps): void {
    this.#gauge('berth_store_images', 'Images in the store', () => counts().images);
    this.#gauge('berth_store_layers', 'Layers of images in the store', () => layers().count);
    this.#gauge(
      'berth_store_layers_bytes',
      'Bytes of the files in the layers of images, each layer counted once',
      () => layers().bytes,
    );
    this.#gauges(
      'berth_store_database_bytes',
      'Size of the database and of its write-ahead log',
      'file',
      () => ({ database: sizeOf(database), log: sizeOf(`${database}-wal`) }),
    );
  }

  #counter(name: string, help: string, read: () => number): void {
    this.#registry.registerMetric(
      new Counter({
        name,
        help,
        registers: [],
        collect() {
          this.reset();
          this.inc(read());
        },
      }),
    );
  }

  #gauge(name: string, help: string, read: () => number): void {
    this.#registry.registerMetric(
      new Gauge({
        name,
        help,
        registers: [],
        collect() {
          this.set(read());
        },
      }),
    );
  }

  /** One series for each value of a label. */
  #gauges(name: string, help: string, label: string, read: () => Readonly<Record<string, number>>): void {
    const gauge = new Gauge({
      name,
      help,
      labelNames: [label],
      registers: [],
      collect() {
        Object.entries(read()).forEach(([value, number]) => this.set({ [label]: value }, number));
      },
    });
    this.#registry.registerMetric(gauge);
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
