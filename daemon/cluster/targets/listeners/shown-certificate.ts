import type { Listener } from '../services/service.ts';
import type { Tables } from '../store/tables.ts';
import type { ListenerCertificate } from './http-server.ts';

/** A certificate that a listener shows, and by what it is told from another one. */
export interface ShownCertificate extends ListenerCertificate {
  version: string;
}

/** That of the listener's service, or `own`: of the cluster interface. Undefined: none, or it speaks no HTTPS. Pure. */
export function shownCertificate(
  { services, certificates }: Tables,
  { protocol, service }: Listener,
  own: ListenerCertificate | undefined,
): ShownCertificate | undefined {
  if (protocol !== 'HTTPS') {
    return undefined;
  }
  const named = certificates.get(services.get(service)?.certificate ?? '');
  if (named !== undefined) {
    return { certificate: named.certificate, key: named.key, version: `${named.id} ${named.updatedMs}` };
  }
  return own && { ...own, version: '' };
}
