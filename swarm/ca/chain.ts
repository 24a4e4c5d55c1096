import { EngineError } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import { readCertificates, type Certificate } from './x509/certificate.ts';

/** A node's certificate and the one that certifies it. */
export interface Chain {
  leaf: Certificate;
  issuer: Certificate;
}

export interface ChainRules {
  /** What is trusted. */
  roots: readonly Certificate[];
  /** Milliseconds since 1970. */
  now: number;
  /** For a manager that starts after its certificate has expired, and renews it itself. */
  allowExpired?: boolean;
}

/**
 * A bundle (PEM) as a node keeps or sends it: its certificate first, then what certifies it, each certified by the
 * next. Stricter than TLS: every certificate has to be valid now and in its place. Throws unauthorized in swarmkit's
 * words.
 */
export function verifyChain(bundlePem: string, rules: ChainRules): Chain {
  const bundle = readCertificates(bundlePem);
  const [leaf] = bundle;
  if (leaf === undefined) {
    throw refused('no certificates to validate');
  }
  if (bundle.length > limits.swarmChainCertificatesMax) {
    throw refused(`a chain of ${bundle.length} certificates: at most ${limits.swarmChainCertificatesMax}`);
  }
  bundle.forEach((certificate, index) => {
    checkTime(certificate, index, rules);
    const next = bundle[index + 1];
    if (next !== undefined && !isCertifiedBy(certificate, next)) {
      throw refused(
        `certificates do not form a chain: (${index + 1} - ${certificate.subject.commonName}) is not signed by ` +
          `(${index + 2} - ${next.subject.commonName})`,
      );
    }
  });
  for (const [index, certificate] of bundle.entries()) {
    const root = rules.roots.find((each) => isCertifiedBy(certificate, each));
    if (root !== undefined) {
      checkTime(root, bundle.length, rules);
      // What stands after it is for nodes that trust another root.
      return { leaf, issuer: (index === 0 ? undefined : bundle[1]) ?? root };
    }
  }
  throw refused('certificate signed by unknown authority');
}

/** Whether `issuer` may certify and has certified `certificate`. */
function isCertifiedBy(certificate: Certificate, issuer: Certificate): boolean {
  return (
    issuer.isAuthority &&
    certificate.rawIssuer.equals(issuer.rawSubject) &&
    certificate.isStronglySigned &&
    certificate.openssl.verify(issuer.openssl.publicKey)
  );
}

function checkTime({ subject, validFrom, validUntil }: Certificate, index: number, rules: ChainRules): void {
  const { now, allowExpired = false } = rules;
  const name = `certificate (${index + 1} - ${subject.commonName})`;
  if (now < validFrom) {
    throw refused(`${name} not valid before ${utc(validFrom)}, and it is currently ${utc(now)}`);
  }
  if (now > validUntil && !allowExpired) {
    throw refused(`${name} not valid after ${utc(validUntil)}, and it is currently ${utc(now)}`);
  }
}

function utc(ms: number): string {
  return new Date(ms).toUTCString();
}

function refused(message: string): EngineError {
  return new EngineError('unauthorized', message);
}
