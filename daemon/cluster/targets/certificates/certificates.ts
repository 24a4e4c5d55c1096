import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../base/clock.ts';
import { invariant } from '../../../base/errors.ts';
import { failpoint } from '../../../base/failpoint.ts';
import { inConflict, noSuch, quotaExceeded } from '../input/refusals.ts';
import { targetLimits } from '../limits.ts';
import type { TargetStore } from '../store/port.ts';
import type { Tables } from '../store/tables.ts';
import { readCertificate } from './certificate-rules.ts';
import { certificateArn, certificateId, type Certificate } from './certificate.ts';

export interface CertificatesDeps {
  store: TargetStore;
  tables: Tables;
  clock: Clock;
}

/** Certificates that services show at their listeners of HTTPS, by ARN. Their keys are never told. */
export class Certificates {
  readonly #deps: CertificatesDeps;

  constructor(deps: CertificatesDeps) {
    this.#deps = deps;
  }

  /**
   * With the ARN of one it takes that one's place, and listeners show it from then on. Answers the ARN. Throws
   * InvalidFieldsError, not_found, resource_exhausted.
   */
  async import(body: unknown): Promise<object> {
    const nowMs = this.#nowMs();
    const read = readCertificate(body, nowMs);
    invariant(read !== undefined, 'a required field is absent and was not refused');
    const { arn, ...imported } = read;
    const fresh = randomUUID();
    const { store, tables } = this.#deps;
    return await store.change(() => {
      const before = arn === undefined ? undefined : this.#find(arn);
      if (before === undefined && tables.certificates.count() >= targetLimits.certificatesMax) {
        const text = `there are ${targetLimits.certificatesMax} certificates, as many as there may be`;
        throw quotaExceeded('CERTIFICATE', '', 'certificates', text);
      }
      const id = before?.id ?? fresh;
      const made = { ...imported, id, importedMs: before?.importedMs ?? nowMs, updatedMs: nowMs };
      failpoint('targets.certificate.write');
      return {
        changes: [tables.certificates.put(id, made)],
        answer: { certificateArn: certificateArn(id) },
      };
    });
  }

  list(): object {
    return { items: this.#deps.tables.certificates.below().map((one) => this.#view(one)) };
  }

  /** Throws not_found. */
  get(identifier: string): object {
    const found = this.#find(identifier);
    return { ...this.#view(found), certificate: found.certificate };
  }

  /** Refused while a service shows it. Throws not_found. */
  async remove(identifier: string): Promise<object> {
    const { store, tables } = this.#deps;
    return await store.change(() => {
      const { id } = this.#find(identifier);
      const [user] = this.#usersOf(id);
      if (user !== undefined) {
        throw inConflict('CERTIFICATE', certificateArn(id), `the service ${user} shows the certificate`);
      }
      failpoint('targets.certificate.delete');
      return { changes: [tables.certificates.delete(id)], answer: {} };
    });
  }

  #find(identifier: string): Certificate {
    const found = this.#deps.tables.certificates.get(certificateId(identifier));
    if (found === undefined) {
      throw noSuch('CERTIFICATE', identifier);
    }
    return found;
  }

  #view({ id, names, subject, issuer, notBeforeMs, notAfterMs, importedMs, updatedMs }: Certificate): object {
    return {
      certificateArn: certificateArn(id),
      subject,
      issuer,
      names,
      notBefore: new Date(notBeforeMs).toISOString(),
      notAfter: new Date(notAfterMs).toISOString(),
      importedAt: new Date(importedMs).toISOString(),
      lastUpdatedAt: new Date(updatedMs).toISOString(),
      inUseBy: this.#usersOf(id),
    };
  }

  #usersOf(id: string): string[] {
    return this.#deps.tables.services
      .below()
      .filter(({ certificate }) => certificate === id)
      .map((service) => service.id);
  }

  #nowMs(): number {
    return Number(this.#deps.clock.nowNano() / 1_000_000n);
  }
}
