import { errorText } from '../../daemon/base/errors.ts';
import type { AttachmentRecord } from '../objects/attachment.ts';
import { put, type Write } from '../objects/parts.ts';
import type { Random } from '../objects/random.ts';
import { Allocator } from './allocator/allocator.ts';
import type { AttachmentRefusal, AttachmentWish } from './allocator/attachments.ts';
import { Attention } from './attention.ts';
import type { Circumstances, Decision } from './decision.ts';
import { enforceOn } from './enforcer.ts';
import { Moments } from './moments.ts';
import { notice, noticeService } from './notice.ts';
import { decideService, decideSlotOf } from './orchestrators/service.ts';
import { reapSlot, reapStatuses, reapTemplates } from './reaper.ts';
import { isGlobal, isJob, modeOf } from './service-mode.ts';
import { isWanted } from './slot-tasks.ts';
import type { ClusterState } from './state/cluster-state.ts';
import { slotOf, type Service, type SlotKey } from './state/entries.ts';
import { addTo } from './state/multi-map.ts';
import { losesTasks } from './state/observed.ts';
import { decideUpdate } from './updater/updater.ts';
import { WriteBatch } from './write-batch.ts';

/** Chooses nodes for tasks that have none, and tells why others still wait. */
export interface Placer {
  /** @param held Tasks that something else is missing for. */
  plan(state: ClusterState, now: number, held: ReadonlySet<string>): Write[];
}

export interface Plan {
  /**
   * In the order in which they have to reach the store; any beginning of them leaves a state to go on from. A part may
   * be there twice: then no transaction may hold both.
   */
  writes: Write[];
  /** When to plan again although nothing has changed, in milliseconds since 1970 UTC. */
  again: number | undefined;
  /** Services that could not be planned. The others were. */
  errors: { service: string; error: string }[];
}

interface Pass {
  circumstances: Circumstances;
  batch: WriteBatch;
  /** Slots that something was written in: their history may be too long now. */
  touched: Map<string, Set<SlotKey>>;
  errors: Plan['errors'];
}

/** Decisions of one pass lead to others: a rollback begins with its first slot. A bound against a circle. */
const ROUNDS_MAX = 8;

/**
 * All that a leader decides, in one place: which tasks there are, where they run, what becomes of their predecessors.
 * `begin` once with a state that was read whole, then `observe` for each change and `plan` after some. A pass looks at
 * what has changed only; a task that it makes is stored with its node in one write. The planner applies its writes to
 * the state at once: where the store refuses some, the true values have to be observed, which for a status is the last
 * one reported, stored or not; where the leader has lost its office, planner and state are thrown away.
 */
export class Planner {
  readonly #state: ClusterState;
  readonly #random: Random;
  readonly #placer: Placer;
  readonly #attention = new Attention();
  readonly #moments = new Moments();
  /** Services that have something to do on every node. */
  readonly #globals = new Set<string>();
  readonly #allocator: Allocator;

  constructor(state: ClusterState, random: Random, placer: Placer) {
    this.#state = state;
    this.#random = random;
    this.#placer = placer;
    this.#allocator = new Allocator(state);
  }

  /** Looks at everything in the next pass: the last leader may have stopped between any two writes. */
  begin(): void {
    for (const id of this.#state.services.keys()) {
      this.#keepGlobal(id);
      noticeService(this.#state, this.#attention, id);
    }
    for (const id of this.#state.nodes.keys()) {
      this.#attention.nodes.add(id);
    }
    this.#allocator.begin(this.#attention);
  }

  /** Takes a change that somebody else made. */
  observe(write: Write): void {
    notice(this.#state, this.#attention, write);
    this.#follow(write);
  }

  plan(now: number): Plan {
    const pass: Pass = {
      circumstances: { state: this.#state, now, random: this.#random },
      batch: new WriteBatch(),
      touched: new Map(),
      errors: [],
    };
    for (const key of this.#moments.takeDue(now)) {
      this.#wake(key);
    }
    this.#allocator.wake(this.#attention);
    for (let round = 0; round < ROUNDS_MAX && !this.#attention.isEmpty; round += 1) {
      this.#round(pass, this.#attention.take());
      this.#allocator.wake(this.#attention);
    }
    this.#reap(pass);
    this.#take(pass, reapStatuses(this.#state));
    this.#place(pass);
    this.#allocator.wake(this.#attention);
    const again = this.#attention.isEmpty ? this.#moments.next : now;
    return { writes: pass.batch.writes, again, errors: pass.errors };
  }

  /**
   * Lets a container of a node into a network, in the state that tasks get their addresses in: it has them at once. The
   * caller stores the record, where it is another than was stored; where the store refuses it, `observe` what is true.
   */
  attach(wish: AttachmentWish, now: number): AttachmentRecord | AttachmentRefusal {
    const decided = this.#allocator.attach(wish, now);
    if ('id' in decided) {
      this.#state.apply(put('attachment', decided));
    }
    return decided;
  }

  /** One after another, as each takes addresses that the next one is not to have. */
  #place(pass: Pass): void {
    const { now } = pass.circumstances;
    const { writes, waiting } = this.#allocator.hold(now);
    this.#take(pass, writes);
    for (const placed of this.#placer.plan(this.#state, now, waiting)) {
      this.#take(pass, this.#allocator.withAddresses(placed, now));
    }
  }

  #round(pass: Pass, attention: Attention): void {
    const { circumstances } = pass;
    for (const id of attention.networks) {
      this.#take(pass, this.#allocator.lookAtNetwork(id));
    }
    for (const id of attention.nodes) {
      this.#lookAtNode(pass, id);
    }
    // Slots first: what is made anew in a slot is no longer missing when tasks are counted.
    for (const [id, slots] of attention.slots) {
      this.#guard(pass, id, (service) => {
        for (const slot of slots) {
          addTo(pass.touched, id, slot);
          const decision = decideSlotOf(circumstances, service, slot);
          this.#decide(pass, momentKey('slot', id, slot), decision);
          const wanted = service.slots.get(slot).filter(isWanted);
          if (
            decision.writes.length > 0 &&
            wanted.every(({ record }) => record.template !== service.record?.template)
          ) {
            // Given up, as the restart rules say, or all that is left in it is of an update that was taken back. An
            // update or a rollback may see that otherwise.
            this.#attention.updates.add(id);
          }
        }
      });
    }
    for (const id of attention.services) {
      this.#guard(pass, id, (service) => {
        for (const write of this.#allocator.endpointOf(service)) {
          this.#take(pass, [write]);
        }
        this.#take(pass, decideService(circumstances, service));
      });
    }
    for (const id of attention.updates) {
      this.#guard(pass, id, (service) => {
        const { record } = service;
        if (record !== undefined && !isJob(modeOf(record.spec))) {
          this.#decide(pass, momentKey('update', id, ''), decideUpdate(circumstances, service, record));
        }
      });
    }
  }

  /** A service that cannot be planned must not keep the others from it. */
  #guard(pass: Pass, id: string, work: (service: Service) => void): void {
    const service = this.#state.services.get(id);
    if (service === undefined) {
      return;
    }
    try {
      work(service);
    } catch (error) {
      pass.errors.push({ service: id, error: errorText(error) });
    }
  }

  #lookAtNode(pass: Pass, id: string): void {
    const node = this.#state.nodes.get(id);
    if (node !== undefined) {
      this.#take(pass, enforceOn(pass.circumstances, node));
    }
    this.#take(pass, this.#allocator.lookAtNode(id));
    if (node !== undefined && losesTasks(node)) {
      for (const { record } of node.tasks) {
        this.#attention.slot(record.service, slotOf(record));
      }
    }
    for (const service of this.#globals) {
      this.#attention.slot(service, id);
      this.#attention.updates.add(service);
    }
  }

  #reap(pass: Pass): void {
    for (const [id, slots] of pass.touched) {
      this.#guard(pass, id, (service) => {
        for (const slot of slots) {
          this.#take(pass, reapSlot(this.#state, service, service.slots.get(slot)));
        }
        this.#take(
          pass,
          service.record ? reapTemplates(service) : decideService(pass.circumstances, service),
        );
      });
    }
  }

  #decide(pass: Pass, key: string, { writes, again }: Decision): void {
    this.#take(pass, writes);
    if (again !== undefined) {
      this.#moments.add(key, again);
    }
  }

  /** Applies own writes. They lead to little else: what follows from a task's write was decided with it. */
  #take(pass: Pass, writes: readonly Write[]): void {
    for (const write of writes) {
      const { freed } = this.#state;
      if (write.part === 'task') {
        const record = write.value ?? this.#state.tasks.get(write.id)?.record;
        this.#state.apply(write);
        if (record !== undefined) {
          addTo(pass.touched, record.service, slotOf(record));
          this.#allocator.followTask(record.service, this.#attention);
        }
      } else if (write.part === 'status' || write.part === 'service') {
        notice(this.#state, this.#attention, write);
      } else {
        this.#state.apply(write);
      }
      pass.batch.add(write, { isFreeing: this.#state.freed > freed });
      this.#follow(write);
    }
  }

  /** What a change of a service leads to beyond the service itself. */
  #follow(write: Write): void {
    if (write.part === 'service') {
      this.#keepGlobal(write.id);
    }
    this.#allocator.follow(write, this.#attention);
  }

  #keepGlobal(id: string): void {
    const record = this.#state.services.get(id)?.record;
    if (record === undefined || !isGlobal(modeOf(record.spec))) {
      this.#globals.delete(id);
      return;
    }
    this.#globals.add(id);
    for (const node of this.#state.nodes.keys()) {
      this.#attention.slot(id, node);
    }
  }

  #wake(key: string): void {
    const { kind, service, slot } = parseMomentKey(key);
    if (kind === 'update') {
      this.#attention.updates.add(service);
    } else {
      this.#attention.slot(service, slot);
    }
  }
}

function momentKey(kind: 'slot' | 'update', service: string, slot: SlotKey): string {
  return JSON.stringify([kind, service, slot]);
}

function parseMomentKey(key: string): { kind: 'slot' | 'update'; service: string; slot: SlotKey } {
  // Made by `momentKey`.
  const [kind, service, slot] = JSON.parse(key) as ['slot' | 'update', string, SlotKey];
  return { kind, service, slot };
}
