import type { Clock } from '../../../base/clock.ts';
import { invariant, notImplemented } from '../../../base/errors.ts';
import { failpoint } from '../../../base/failpoint.ts';
import { tokenKey } from '../groups/create-group.ts';
import { Fields } from '../input/fields.ts';
import { fingerprintOf, idOf, newResourceId } from '../input/identifiers.ts';
import { inConflict, noSuch, quotaExceeded } from '../input/refusals.ts';
import { readName, readTags, readToken } from '../input/resource-rules.ts';
import { targetLimits } from '../limits.ts';
import type { TargetStore } from '../store/port.ts';
import type { Tables } from '../store/tables.ts';
import type { Service } from './service.ts';

export interface ServicesDeps {
  store: TargetStore;
  tables: Tables;
  clock: Clock;
}

/** Fields of the original for which there is nothing here. */
const NOT_HERE = ['authType', 'certificateArn', 'customDomainName', 'sharedTypes'] as const;

/** Services: names for listeners that belong together. */
export class Services {
  readonly #deps: ServicesDeps;

  constructor(deps: ServicesDeps) {
    this.#deps = deps;
  }

  /** Idempotent by client token. Throws InvalidFieldsError, conflict, resource_exhausted, not_implemented. */
  async create(body: unknown): Promise<Service> {
    const fields = new Fields(body, 'Service');
    fields.only('name', 'clientToken', 'tags', ...NOT_HERE);
    const notHere = NOT_HERE.find((name) => fields.has(name) && fields.value(name) !== 'NONE');
    if (notHere !== undefined) {
      throw notImplemented(`${notHere}: is not implemented, not ${JSON.stringify(fields.value(notHere))}`);
    }
    const name = readName(fields, 'svc-');
    const clientToken = readToken(fields);
    const tags = readTags(fields);
    fields.refuse();
    invariant(name !== undefined, 'a required field is absent and was not refused');
    const nowMs = Number(this.#deps.clock.nowNano() / 1_000_000n);
    const fingerprint = fingerprintOf({ name, tags });
    const id = newResourceId('svc-');
    return await this.#deps.store.change(() =>
      this.#decided({ id, name, tags, clientToken, fingerprint, createdMs: nowMs, updatedMs: nowMs }),
    );
  }

  /** `identifier`: id or ARN. Throws not_found. */
  get(identifier: string): Service {
    const service = this.#deps.tables.services.get(idOf(identifier));
    if (service === undefined) {
      throw noSuch('SERVICE', identifier);
    }
    return service;
  }

  all(): Service[] {
    return this.#deps.tables.services.below();
  }

  /** Refused while it has listeners. */
  async delete(identifier: string): Promise<Service> {
    const { store, tables } = this.#deps;
    return await store.change(() => {
      const service = this.get(identifier);
      if (tables.listeners.count(`${service.id}/`) > 0) {
        throw inConflict('SERVICE', service.id, `the service ${service.name} has listeners`);
      }
      failpoint('targets.service.delete');
      return {
        changes: [
          tables.services.delete(service.id),
          tables.names.delete(`s/${service.name}`),
          ...(service.clientToken === undefined
            ? []
            : [tables.tokens.delete(tokenKey('s', service.clientToken))]),
        ],
        answer: service,
      };
    });
  }

  #decided(service: Service) {
    const { tables } = this.#deps;
    const { id, name, clientToken, fingerprint } = service;
    const token = clientToken === undefined ? undefined : tokenKey('s', clientToken);
    const byToken = token === undefined ? undefined : tables.services.get(tables.tokens.get(token)?.id ?? '');
    if (byToken !== undefined && byToken.fingerprint === fingerprint) {
      return { changes: [], answer: byToken };
    }
    const named = byToken?.id ?? tables.names.get(`s/${name}`)?.id;
    if (named !== undefined) {
      const text = byToken === undefined ? `the name ${name} is that of` : 'the client token was used for';
      throw inConflict('SERVICE', named, `${text} the service ${named}`);
    }
    if (tables.services.count() >= targetLimits.servicesMax) {
      throw quotaExceeded('SERVICE', name, 'services', `there are ${targetLimits.servicesMax} services`);
    }
    failpoint('targets.service.write');
    return {
      changes: [
        tables.services.put(id, service),
        tables.names.put(`s/${name}`, { id }),
        ...(token === undefined ? [] : [tables.tokens.put(token, { id })]),
      ],
      answer: service,
    };
  }
}
