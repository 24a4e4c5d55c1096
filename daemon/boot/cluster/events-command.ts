import { EngineError } from '../../base/errors.ts';
import { textTable } from '../hub/text-table.ts';
import { exchange } from '../hub/socket-client.ts';
import type { ClusterCommand } from './command.ts';

const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';

/** `berthd cluster events`: what has happened, as kubectl shows it. */
export const eventsCommand: ClusterCommand = {
  usage: '[--namespace NAME] [--field-selector FIELD=VALUE,...]',
  help: 'list events of the cluster, of all namespaces where none is named (a stack is a namespace)',
  operands: 0,
  valued: ['namespace', 'field-selector'],
  run: async ({ values }, io) => {
    const namespace = values.get('namespace');
    const query = new URLSearchParams({ fieldSelector: values.get('field-selector') ?? '' });
    const below = namespace === undefined ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
    const { status, text } = await exchange(io.socket(), {
      method: 'GET',
      path: `/cluster/apis/events.k8s.io/v1${below}/events?${query.toString()}`,
      body: undefined,
      headers: { Accept: TABLE },
    });
    const answer: unknown = JSON.parse(text);
    if (status !== 200) {
      throw new EngineError('remote', messageOf(status, answer));
    }
    io.write(textTable(['namespace', ...COLUMNS], rowsOf(answer)));
    return 0;
  },
};

const COLUMNS = ['last_seen', 'type', 'reason', 'object', 'message'];

function rowsOf(answer: unknown): unknown[] {
  const { rows, columnDefinitions }: { rows?: unknown; columnDefinitions?: unknown } = { ...Object(answer) };
  const names = (Array.isArray(columnDefinitions) ? columnDefinitions : []).map((column: unknown) =>
    String(Object(column)['name']).toLowerCase().replaceAll(' ', '_'),
  );
  return (Array.isArray(rows) ? rows : []).map((row: unknown) => {
    const { cells, object }: { cells?: unknown; object?: unknown } = { ...Object(row) };
    const { namespace }: { namespace?: unknown } = { ...Object(Object(object)['metadata']) };
    const values: unknown[] = Array.isArray(cells) ? cells : [];
    return {
      namespace,
      ...Object.fromEntries(COLUMNS.map((column) => [column, values[names.indexOf(column)]])),
    };
  });
}

function messageOf(status: number, answer: unknown): string {
  const { message }: { message?: unknown } = { ...Object(answer) };
  if (status === 404 && message === 'page not found') {
    return 'the cluster interface is off: set cluster.address in daemon.json, or --cluster-address';
  }
  return typeof message === 'string' ? message : `the daemon answered ${status}`;
}
