import type { Clock } from '../../daemon/base/clock.ts';
import { pause } from '../../daemon/base/concurrency/pause.ts';
import { EngineError, errorText } from '../../daemon/base/errors.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import { verifyChain } from '../ca/chain.ts';
import { identityOf } from '../ca/identity.ts';
import { planRenewal } from '../ca/renewal.ts';
import { readCertificates } from '../ca/x509/certificate.ts';
import { createRequest } from '../ca/x509/request.ts';
import type { ManagerAddress } from '../protocol/session.ts';
import type { Dial } from '../rpc/port.ts';
import type { NodeCertificates } from './certificates.ts';
import type { Issuing } from './manager/issuing.ts';
import { nowMs } from './manager/authority.ts';

/** Between attempts while another certificate is wanted: the managers may not know the new role yet. */
const WANTED_FIRST_MS = 100;
const WANTED_MAX_MS = 5_000;

interface Deps {
  clock: Clock;
  logger: Logger;
  certificates: NodeCertificates;
  dial: Dial;
  managers: () => readonly ManagerAddress[];
  /** This node's own authority, where it is a manager: it needs nobody then, nor a certificate that is valid. */
  local: () => Issuing | undefined;
  /** Whether this node shall have another certificate than it has: of another role, or of another issuer. */
  isWanted: () => boolean;
}

/** Keeps this node's certificate valid, and of the role and the issuer that it shall have. */
export class Renewal implements AsyncDisposable {
  readonly #deps: Deps;
  readonly #closed = new AbortController();
  readonly #running: Promise<void>;
  #waiting = new AbortController();

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#running = this.#run();
  }

  /** Looks at once whether there is something to do. */
  look(): void {
    this.#waiting.abort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock, logger, certificates, isWanted } = this.#deps;
    let failures = 0;
    let wantedMs = WANTED_FIRST_MS;
    while (!this.#closed.signal.aborted) {
      this.#waiting = new AbortController();
      const plan = planRenewal(certificates.certificate, nowMs(clock), failures);
      const wanted = isWanted();
      if (!wanted) {
        wantedMs = WANTED_FIRST_MS;
        if (plan.waitMs > 0) {
          await pause(clock, plan.waitMs, AbortSignal.any([this.#closed.signal, this.#waiting.signal]));
          if (plan.state === 'valid') {
            continue;
          }
        }
      }
      if (this.#closed.signal.aborted) {
        return;
      }
      try {
        await this.#renew();
        failures = 0;
      } catch (error) {
        failures += 1;
        logger.warn(
          { error: errorText(error), failures },
          'the certificate of this node could not be renewed',
        );
      }
      if (isWanted()) {
        await pause(clock, wantedMs, this.#closed.signal);
        wantedMs = Math.min(wantedMs * 2, WANTED_MAX_MS);
      }
    }
  }

  async #renew(): Promise<void> {
    const { certificates, clock } = this.#deps;
    const { requestPem, keyPem } = createRequest();
    const certPem = await this.#ask(requestPem);
    const { leaf } = verifyChain(certPem, {
      roots: readCertificates(certificates.rootsPem),
      now: nowMs(clock),
    });
    const given = identityOf(leaf);
    const { node, cluster } = certificates.identity;
    if (given?.node !== node || given.cluster !== cluster) {
      throw new EngineError('internal', "the certificate that came is another node's");
    }
    await certificates.change({ certificate: { certPem, keyPem } });
  }

  async #ask(requestPem: string): Promise<string> {
    const { local, managers, dial, certificates } = this.#deps;
    let failure: unknown = new EngineError('unavailable', 'no manager is known');
    const own = local();
    if (own !== undefined) {
      try {
        return (await own.renew(requestPem, certificates.identity)).certPem;
      } catch (error) {
        failure = error;
      }
    }
    for (const { addr } of managers()) {
      using client = dial(addr);
      try {
        return certPemOf(await client.call('ca.issue', { requestPem }));
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }
}

export function certPemOf(answer: unknown): string {
  if (
    typeof answer === 'object' &&
    answer !== null &&
    'certPem' in answer &&
    typeof answer.certPem === 'string'
  ) {
    return answer.certPem;
  }
  throw new EngineError('internal', 'a manager answered without a certificate');
}
