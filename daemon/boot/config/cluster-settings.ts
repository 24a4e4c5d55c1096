import { LISTEN_ADDRESS } from './hosts.ts';
import { integer, list, text, toggle } from './kinds.ts';

const FILE = /^(\/.*)?$/;

/** Settings of the cluster interface, the section `cluster` of daemon.json; part of the one table in `settings.ts`. */
export const clusterSettings = {
  clusterAddress: text({
    key: 'cluster-address',
    section: 'cluster',
    default: '',
    pattern: LISTEN_ADDRESS,
    placeholder: 'address:port',
    help: 'address of the cluster interface: events and target groups; empty for none',
  }),
  clusterTlsCert: text({
    key: 'cluster-tls-cert',
    section: 'cluster',
    default: '',
    pattern: FILE,
    placeholder: 'path',
    help: 'certificate of the cluster interface and of HTTPS listeners; without: addresses of this host, no HTTPS',
  }),
  clusterTlsKey: text({
    key: 'cluster-tls-key',
    section: 'cluster',
    default: '',
    pattern: FILE,
    placeholder: 'path',
    help: 'key of that certificate',
  }),
  clusterTlsClientCa: text({
    key: 'cluster-tls-client-ca',
    section: 'cluster',
    default: '',
    pattern: FILE,
    placeholder: 'path',
    help: 'authority of clients that may do everything by their certificate',
  }),
  clusterUsers: list({
    key: 'cluster-users',
    section: 'cluster',
    flag: 'cluster-user',
    default: ['*:read'],
    pattern: /^(\*|[A-Za-z0-9][A-Za-z0-9-]*)(:read)?$/,
    placeholder: 'name[:read]',
    help: 'user of the hub whose tokens may use the cluster interface, with :read only look; * for every user',
  }),
  clusterTargetsUnsigned: toggle({
    key: 'cluster-targets-unsigned',
    section: 'cluster',
    default: false,
    help: 'requests about target groups need not be signed: whoever reaches the address may change them',
  }),
  clusterEventsTtl: integer({
    key: 'cluster-events-ttl',
    section: 'cluster',
    default: 3_600,
    minimum: 60,
    maximum: 2_592_000,
    help: 'seconds after which a cluster event of type Normal goes',
  }),
  clusterWarningsTtl: integer({
    key: 'cluster-warnings-ttl',
    section: 'cluster',
    default: 86_400,
    minimum: 60,
    maximum: 2_592_000,
    help: 'seconds after which a cluster event of type Warning goes',
  }),
  clusterEventsMax: integer({
    key: 'cluster-events-max',
    section: 'cluster',
    default: 20_000,
    minimum: 100,
    maximum: 200_000,
    help: 'cluster events that are kept; the oldest go first, those of type Normal before all others',
  }),
};
