import { Counter, Histogram } from 'prom-client';
import type { Registry } from 'prom-client';
import { unreachable } from '../base/errors.ts';
import { ACTIONS, onMeasured } from '../base/measured.ts';
import type { Measurement } from '../base/measured.ts';
import { BUILD_FAILURES, buildFailure } from './build-failures.ts';

const timedSubjects = ['container', 'image', 'network'] as const;

/** Subjects that dockerd has a histogram for, with its help texts. */
const TIMED: Readonly<Record<(typeof timedSubjects)[number], string>> = {
  container: 'The number of seconds it takes to process each container action',
  image: 'The number of seconds it takes to process each image action',
  network: 'The number of seconds it takes to process each network action',
};

/**
 * What `measured` tells, as histograms and counters. As with dockerd a histogram has the actions that went well; the
 * others are counted. Every series is there from the start, with 0: a rate over a counter that appears with 1 is 0.
 */
export class ActionMetrics implements Disposable {
  readonly #seconds: Readonly<Record<keyof typeof TIMED, Histogram<'action'>>>;
  readonly #failures: Counter<'subject' | 'action'>;
  readonly #probes: Counter;
  readonly #failedProbes: Counter;
  readonly #builds: Counter;
  readonly #failedBuilds: Counter<'reason'>;
  readonly #buildSeconds: Histogram;
  readonly #listening: Disposable;

  constructor(registry: Registry) {
    const registers = [registry];
    const histogram = (subject: keyof typeof TIMED): Histogram<'action'> => {
      const made = new Histogram({
        name: `engine_daemon_${subject}_actions_seconds`,
        help: TIMED[subject],
        labelNames: ['action'],
        registers,
      });
      ACTIONS[subject].forEach((action) => made.zero({ action }));
      return made;
    };
    this.#seconds = {
      container: histogram('container'),
      image: histogram('image'),
      network: histogram('network'),
    };
    const counter = (name: string, help: string): Counter => new Counter({ name, help, registers });
    this.#failures = new Counter({
      name: 'berth_actions_failed_total',
      help: 'Actions on containers, images and networks that failed or were canceled',
      labelNames: ['subject', 'action'],
      registers,
    });
    this.#probes = counter('engine_daemon_health_checks_total', 'The total number of health checks');
    this.#failedProbes = counter(
      'engine_daemon_health_checks_failed_total',
      'The total number of failed health checks',
    );
    this.#builds = counter('builder_builds_triggered_total', 'Number of triggered image builds');
    this.#failedBuilds = new Counter({
      name: 'builder_builds_failed_total',
      help: 'Number of failed image builds',
      labelNames: ['reason'],
      registers,
    });
    this.#buildSeconds = new Histogram({
      name: 'berth_builds_seconds',
      help: 'The number of seconds that builds took which gave an image',
      buckets: [0.1, 0.5, 1, 5, 10, 30, 60, 300, 900],
      registers,
    });
    this.#beginAtZero();
    this.#listening = onMeasured((measurement) => this.#record(measurement));
  }

  [Symbol.dispose](): void {
    this.#listening[Symbol.dispose]();
  }

  #beginAtZero(): void {
    for (const subject of timedSubjects) {
      ACTIONS[subject].forEach((action) => this.#failures.inc({ subject, action }, 0));
    }
    BUILD_FAILURES.forEach((reason) => this.#failedBuilds.inc({ reason }, 0));
  }

  #record({ subject, action, seconds, failure }: Measurement): void {
    switch (subject) {
      case 'health':
        this.#probes.inc();
        if (failure !== undefined) {
          this.#failedProbes.inc();
        }
        return;
      case 'builder':
        this.#builds.inc();
        if (failure === undefined) {
          this.#buildSeconds.observe(seconds);
        } else {
          this.#failedBuilds.inc({ reason: buildFailure(failure) });
        }
        return;
      case 'container':
      case 'image':
      case 'network':
        if (failure === undefined) {
          this.#seconds[subject].observe({ action }, seconds);
        } else {
          this.#failures.inc({ subject, action });
        }
        return;
      default:
        unreachable(subject);
    }
  }
}
