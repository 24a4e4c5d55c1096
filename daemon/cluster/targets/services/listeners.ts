import type { Clock } from '../../../base/clock.ts';
import { invariant } from '../../../base/errors.ts';
import { failpoint } from '../../../base/failpoint.ts';
import { tokenKey } from '../groups/create-group.ts';
import { servicesUsing } from '../groups/uses.ts';
import { Fields } from '../input/fields.ts';
import { fingerprintOf, idOf, newResourceId } from '../input/identifiers.ts';
import { inConflict, noSuch, quotaExceeded } from '../input/refusals.ts';
import { readName, readTags, readToken } from '../input/resource-rules.ts';
import { targetLimits } from '../limits.ts';
import type { TargetStore } from '../store/port.ts';
import type { Tables } from '../store/tables.ts';
import { readAction } from './action-rules.ts';
import { groupsOf, type Action, type Listener } from './service.ts';
import type { Services } from './services.ts';

export interface ListenersDeps {
  store: TargetStore;
  tables: Tables;
  services: Services;
  clock: Clock;
  /** Takes the port on this host before the listener is written down. Throws conflict where another program has it. */
  reserve(port: number): Promise<void>;
  /** Whether there is a certificate for listeners of HTTPS whose service names none. */
  hasCertificate: boolean;
}

type Change = ReturnType<Parameters<TargetStore['change']>[0]>['changes'];

/** Listeners of services. */
export class Listeners {
  readonly #deps: ListenersDeps;

  constructor(deps: ListenersDeps) {
    this.#deps = deps;
  }

  /**
   * Idempotent by client token. Throws InvalidFieldsError, not_found, conflict, resource_exhausted.
   */
  async create(serviceIdentifier: string, body: unknown): Promise<Listener> {
    const service = this.#deps.services.get(serviceIdentifier);
    const nowMs = Number(this.#deps.clock.nowNano() / 1_000_000n);
    const listener: Listener = {
      ...readListener(body, this.#deps.hasCertificate || service.certificate !== undefined),
      id: newResourceId('listener-'),
      service: service.id,
      createdMs: nowMs,
      updatedMs: nowMs,
    };
    // Decided once to refuse early; the port is taken between, and what is written is decided on what holds then.
    if (this.#decided(listener).changes.length > 0) {
      await this.#deps.reserve(listener.port);
    }
    return await this.#deps.store.change(() => {
      const decided = this.#decided(listener);
      failpoint('targets.listener.write');
      return decided;
    });
  }

  /** Throws not_found. */
  get(serviceIdentifier: string, identifier: string): Listener {
    const service = this.#deps.services.get(serviceIdentifier);
    const listener = this.#deps.tables.listeners.get(`${service.id}/${idOf(identifier)}`);
    if (listener === undefined) {
      throw noSuch('LISTENER', identifier);
    }
    return listener;
  }

  of(serviceIdentifier: string): Listener[] {
    return this.#deps.tables.listeners.below(`${this.#deps.services.get(serviceIdentifier).id}/`);
  }

  /** Only the default action can change. */
  async update(serviceIdentifier: string, identifier: string, body: unknown): Promise<Listener> {
    const fields = new Fields(body, 'Listener');
    fields.only('defaultAction');
    const defaultAction = readAction(fields);
    fields.refuse();
    invariant(defaultAction !== undefined, 'a required field is absent and was not refused');
    return await this.#deps.store.change(() => {
      const listener = this.get(serviceIdentifier, identifier);
      this.#checkGroups(listener, defaultAction);
      const nowMs = Number(this.#deps.clock.nowNano() / 1_000_000n);
      const updated = { ...listener, defaultAction, updatedMs: nowMs };
      failpoint('targets.listener.update');
      return {
        changes: [this.#deps.tables.listeners.put(keyOf(listener), updated), ...this.#held(defaultAction)],
        answer: updated,
      };
    });
  }

  async delete(serviceIdentifier: string, identifier: string): Promise<Listener> {
    return await this.#deps.store.change(() => {
      const { tables } = this.#deps;
      const listener = this.get(serviceIdentifier, identifier);
      failpoint('targets.listener.delete');
      return {
        changes: [
          tables.listeners.delete(keyOf(listener)),
          tables.names.delete(portKey(listener.port)),
          ...(listener.clientToken === undefined
            ? []
            : [tables.tokens.delete(tokenKey('l', listener.clientToken))]),
        ],
        answer: listener,
      };
    });
  }

  #decided(listener: Listener): { changes: Change; answer: Listener } {
    const { tables } = this.#deps;
    const token = listener.clientToken === undefined ? undefined : tokenKey('l', listener.clientToken);
    const siblings = tables.listeners.below(`${listener.service}/`);
    const pointer = token === undefined ? undefined : tables.tokens.get(token);
    const byToken = siblings.find(({ id }) => id === pointer?.id);
    if (byToken !== undefined && byToken.fingerprint === listener.fingerprint) {
      return { changes: [], answer: byToken };
    }
    if (pointer !== undefined) {
      throw inConflict('LISTENER', pointer.id, `the client token was used for the listener ${pointer.id}`);
    }
    const named = siblings.find(({ name }) => name === listener.name);
    if (named !== undefined) {
      throw inConflict('LISTENER', named.id, `the name ${listener.name} is that of the listener ${named.id}`);
    }
    const holder = tables.names.get(portKey(listener.port));
    if (holder !== undefined) {
      throw inConflict(
        'LISTENER',
        holder.id,
        `the port ${listener.port} is that of the listener ${holder.id}`,
      );
    }
    if (siblings.length >= targetLimits.listenersOfServiceMax) {
      const text = `a service has at most ${targetLimits.listenersOfServiceMax} listeners`;
      throw quotaExceeded('LISTENER', listener.service, 'listeners-per-service', text);
    }
    this.#checkGroups(listener, listener.defaultAction);
    const changes = [
      tables.listeners.put(keyOf(listener), listener),
      tables.names.put(portKey(listener.port), { id: listener.id }),
      ...(token === undefined ? [] : [tables.tokens.put(token, { id: listener.id })]),
      ...this.#held(listener.defaultAction),
    ];
    return { changes, answer: listener };
  }

  /** A group is used by a single service (seed 002, section 1), and has to be there. */
  #checkGroups(listener: Listener, action: Action): void {
    const { tables } = this.#deps;
    for (const { targetGroupIdentifier: id } of groupsOf(action)) {
      const group = tables.groups.get(id);
      if (group === undefined) {
        throw noSuch('TARGET_GROUP', id);
      }
      if (group.status !== 'ACTIVE') {
        throw inConflict('TARGET_GROUP', id, `the target group ${group.name} is ${group.status}`);
      }
      const other = servicesUsing(tables, id).find((service) => service !== listener.service);
      if (other !== undefined) {
        throw inConflict(
          'TARGET_GROUP',
          id,
          `the target group ${group.name} is used by the service ${other}`,
        );
      }
      const isBytes = listener.protocol === 'TLS_PASSTHROUGH';
      if ((group.config.protocol === 'TCP') !== isBytes) {
        const text = `a listener of ${listener.protocol} cannot forward to the target group ${group.name} of`;
        throw inConflict('TARGET_GROUP', id, `${text} ${group.config.protocol ?? group.type}`);
      }
    }
  }

  /** Writes groups as they are: whoever removes one, or gives it to another service, meets a conflict. */
  #held(action: Action): Change {
    const { groups } = this.#deps.tables;
    return groupsOf(action).flatMap(({ targetGroupIdentifier: id }) => {
      const group = groups.get(id);
      return group === undefined ? [] : [groups.put(id, group)];
    });
  }
}

const KNOWN = ['name', 'protocol', 'port', 'defaultAction', 'clientToken', 'tags'] as const;

type ListenerRequest = Omit<Listener, 'id' | 'service' | 'createdMs' | 'updatedMs'>;

/** Reads the body of CreateListener. Throws InvalidFieldsError. */
function readListener(body: unknown, hasCertificate: boolean): ListenerRequest {
  const fields = new Fields(body, 'Listener');
  fields.only(...KNOWN);
  const name = readName(fields, 'listener-');
  const protocol = fields.required('protocol', (field) =>
    fields.choice(field, ['HTTP', 'HTTPS', 'TLS_PASSTHROUGH'] as const),
  );
  const port = fields.integer('port', 1, 65_535) ?? (protocol === 'HTTPS' ? 443 : 80);
  const defaultAction = readAction(fields);
  const clientToken = readToken(fields);
  const tags = readTags(fields);
  if (protocol === 'TLS_PASSTHROUGH' && defaultAction !== undefined && 'fixedResponse' in defaultAction) {
    fields.wrong('defaultAction', 'must be forward for the protocol TLS_PASSTHROUGH');
  }
  if (protocol === 'HTTPS' && !hasCertificate) {
    fields.wrong(
      'protocol',
      'needs a certificate: certificateArn of the service, or cluster.tls-cert and cluster.tls-key',
      protocol,
    );
  }
  fields.refuse();
  invariant(
    name !== undefined && protocol !== undefined && defaultAction !== undefined,
    'a required field is absent and was not refused',
  );
  const fingerprint = fingerprintOf({ name, protocol, port, defaultAction, tags });
  return { name, protocol, port, defaultAction, clientToken, tags, fingerprint };
}

function keyOf({ service, id }: Listener): string {
  return `${service}/${id}`;
}

function portKey(port: number): string {
  return `p/${port}`;
}
