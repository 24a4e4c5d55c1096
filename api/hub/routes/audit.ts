import { refuseInvalid } from '../../../daemon/base/invalid-fields.ts';
import { hubRoute, list, type ServedHubRoute } from './route.ts';

/** Who has done what, on the engine's socket. */
export const auditRoutes: readonly ServedHubRoute[] = [
  hubRoute({
    id: 'audit.list',
    method: 'GET',
    path: '/admin/audit',
    handler: ({ session, query }) => list(session.audit.list(readId(query.get('id')))),
  }),
];

/** Throws InvalidFieldsError. */
function readId(text: string | null): string | undefined {
  if (text !== null && !/^[0-9a-f]{32}$/.test(text)) {
    refuseInvalid([
      {
        resource: 'Audit',
        field: 'id',
        code: 'invalid',
        message: 'must be 32 hexadecimal digits',
        value: text.slice(0, 100),
      },
    ]);
  }
  return text ?? undefined;
}
