import type { TrustedRoot } from '../agent/ports.ts';
import type { Issuer } from '../ca/roots/root.ts';

/** An external authority may sign with another certificate than the root: then no renewal brings the issuer wanted. */
const RENEWALS_MAX = 5;

/** Whether this node's certificate shall have another issuer: while a root is rotated, and its turn has come. */
export class WantedIssuer {
  #told: Pick<TrustedRoot, 'issuerSubject' | 'issuerPublicKey'> | undefined;
  #certPem = '';
  /** In vain, since another issuer was told. */
  #renewals = 0;

  told({ issuerSubject, issuerPublicKey }: TrustedRoot): void {
    if (this.#told?.issuerSubject !== issuerSubject || this.#told.issuerPublicKey !== issuerPublicKey) {
      this.#renewals = 0;
    }
    this.#told = { issuerSubject, issuerPublicKey };
  }

  /** Certificate or trust have changed. `issuer`: undefined where the one does not follow from the other. */
  renewed(certPem: string, issuer: Issuer | undefined): void {
    if (certPem !== this.#certPem && this.#isOther(issuer)) {
      this.#renewals += 1;
    }
    this.#certPem = certPem;
  }

  isOtherWanted(issuer: Issuer | undefined): boolean {
    return this.#isOther(issuer) && this.#renewals < RENEWALS_MAX;
  }

  #isOther(issuer: Issuer | undefined): boolean {
    return (
      this.#told !== undefined &&
      (issuer?.subject.toString('base64') !== this.#told.issuerSubject ||
        issuer.publicKey.toString('base64') !== this.#told.issuerPublicKey)
    );
  }
}
