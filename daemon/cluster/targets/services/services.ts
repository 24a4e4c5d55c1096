import type { Clock } from '../../../base/clock.ts';
import { invariant, notImplemented } from '../../../base/errors.ts';
import { failpoint } from '../../../base/failpoint.ts';
import { certificateArn, certificateId } from '../certificates/certificate.ts';
import { tokenKey } from '../groups/create-group.ts';
import { Fields } from '../input/fields.ts';
import { fingerprintOf, idOf, newResourceId } from '../input/identifiers.ts';
import { inConflict, noSuch, quotaExceeded } from '../input/refusals.ts';
import { readName, readTags, readToken } from '../input/resource-rules.ts';
import { targetLimits } from '../limits.ts';
import type { StoreChange, TargetStore } from '../store/port.ts';
import type { Tables } from '../store/tables.ts';
import type { Service } from './service.ts';

export interface ServicesDeps {
  store: TargetStore;
  tables: Tables;
  clock: Clock;
}

/** Fields of the original for which there is nothing here. */
const NOT_HERE = ['authType', 'customDomainName', 'sharedTypes'] as const;

/** Services: names for listeners that belong together. */
export class Services {
  readonly #deps: ServicesDeps;

  constructor(deps: ServicesDeps) {
    this.#deps = deps;
  }

  /** Idempotent by client token. Throws InvalidFieldsError, conflict, resource_exhausted, not_implemented. */
  async create(body: unknown): Promise<Service> {
    const fields = new Fields(body, 'Service');
    fields.only('name', 'clientToken', 'tags', 'certificateArn', ...NOT_HERE);
    refuseAbsent(fields);
    const name = readName(fields, 'svc-');
    const clientToken = readToken(fields);
    const tags = readTags(fields);
    const certificate = readCertificateArn(fields);
    fields.refuse();
    invariant(name !== undefined, 'a required field is absent and was not refused');
    const nowMs = Number(this.#deps.clock.nowNano() / 1_000_000n);
    const fingerprint = fingerprintOf({ name, tags, certificate });
    const id = newResourceId('svc-');
    const shown = certificate === undefined ? {} : { certificate };
    const made = { id, name, ...shown, tags, clientToken, fingerprint, createdMs: nowMs, updatedMs: nowMs };
    return await this.#deps.store.change(() => this.#decided(made));
  }

  /** Only the certificate can change; its listeners show the new one at once. Throws as `create`, and not_found. */
  async update(identifier: string, body: unknown): Promise<Service> {
    const fields = new Fields(body, 'Service');
    fields.only('authType', 'certificateArn');
    refuseAbsent(fields);
    const certificate = readCertificateArn(fields);
    fields.refuse();
    const { store, tables, clock } = this.#deps;
    return await store.change(() => {
      const before = this.get(identifier);
      if (certificate === undefined || certificate === before.certificate) {
        return { changes: [], answer: before };
      }
      const updatedMs = Number(clock.nowNano() / 1_000_000n);
      const answer: Service = { ...before, certificate, updatedMs };
      failpoint('targets.service.update');
      return { changes: [tables.services.put(answer.id, answer), ...this.#held(certificate)], answer };
    });
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
        ...this.#held(service.certificate),
      ],
      answer: service,
    };
  }

  /** Writes a certificate as it is: whoever removes it meanwhile meets a conflict. Throws not_found. */
  #held(id: string | undefined): StoreChange[] {
    const { certificates } = this.#deps.tables;
    const certificate = id === undefined ? undefined : certificates.get(id);
    if (id === undefined) {
      return [];
    }
    if (certificate === undefined) {
      throw noSuch('CERTIFICATE', certificateArn(id));
    }
    return [certificates.put(id, certificate)];
  }
}

/** Throws not_implemented for a field that asks for what is not there. */
function refuseAbsent(fields: Fields): void {
  const notHere = NOT_HERE.find((name) => fields.has(name) && fields.value(name) !== 'NONE');
  if (notHere !== undefined) {
    throw notImplemented(`${notHere}: is not implemented, not ${JSON.stringify(fields.value(notHere))}`);
  }
}

/** The id that the field `certificateArn` names. */
function readCertificateArn(fields: Fields): string | undefined {
  const arn = fields.text('certificateArn', {
    max: 2048,
    pattern: /^arn:berth:acm:local:000000000000:certificate\/[0-9a-f-]{36}$/,
    must: 'must be the ARN of a certificate that berthd cluster import-certificate has answered',
  });
  return arn === undefined ? undefined : certificateId(arn);
}
