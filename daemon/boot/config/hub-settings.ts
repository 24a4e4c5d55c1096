import { LISTEN_ADDRESS } from './hosts.ts';
import { bytes, integer, list, numbers, text, toggle } from './kinds.ts';

const FILE = /^(\/.*)?$/;

/** Settings of the hub, the section `hub` of daemon.json; part of the one table in `settings.ts`. */
export const hubSettings = {
  hubAddress: text({
    key: 'hub-address',
    section: 'hub',
    default: '',
    pattern: LISTEN_ADDRESS,
    placeholder: 'address:port',
    help: 'address where the hub of repositories listens; empty for no hub',
  }),
  hubUrl: text({
    key: 'hub-url',
    section: 'hub',
    default: '',
    pattern: /^(https?:\/\/[^\s/?#]+)?$/,
    placeholder: 'url',
    help: 'where clients find the hub, for links in its answers (default its address)',
  }),
  hubTlsCert: text({
    key: 'hub-tls-cert',
    section: 'hub',
    default: '',
    pattern: FILE,
    placeholder: 'path',
    help: 'certificate of the hub; without it the hub listens on addresses of this host only',
  }),
  hubTlsKey: text({
    key: 'hub-tls-key',
    section: 'hub',
    default: '',
    pattern: FILE,
    placeholder: 'path',
    help: 'key of that certificate',
  }),
  hubHooksAllowedHosts: list({
    key: 'hub-hooks-allowed-hosts',
    section: 'hub',
    default: [],
    pattern: /^[^\s,/]+(\/\d{1,3})?$/,
    placeholder: 'external|private|loopback|cidr|name',
    help: 'where webhooks may deliver to (default external, and all where the hub serves this host alone)',
  }),
  hubHooksCompatHeaders: toggle({
    key: 'hub-hooks-compat-headers',
    section: 'hub',
    default: true,
    help: 'deliveries have the headers X-GitHub-* too',
  }),
  hubHooksRetries: integer({
    key: 'hub-hooks-retries',
    section: 'hub',
    default: 0,
    minimum: 0,
    maximum: 20,
    help: 'times that a delivery which failed is sent again by itself',
  }),
  hubHooksSwitchOffAfter: integer({
    key: 'hub-hooks-switch-off-after',
    section: 'hub',
    default: 0,
    minimum: 0,
    maximum: 1_000,
    help: 'failures in a row after which a webhook is switched off, 0 for never',
  }),
  hubQuota: bytes({
    key: 'hub-quota',
    section: 'hub',
    default: 0,
    minimum: 0,
    help: 'what the repositories of one owner may take in the registry together, 0 for no bound',
  }),
  hubReplicas: integer({
    key: 'hub-replicas',
    section: 'hub',
    default: 0,
    minimum: 0,
    maximum: 7,
    help: 'managers of the swarm that hold an image when its push is answered, 0 for 2 of three or more',
  }),
  hubLimits: numbers({
    key: 'hub-limits',
    section: 'hub',
    flag: 'hub-limit',
    names: [
      'anonymous-per-hour',
      'user-per-hour',
      'concurrent',
      'points-per-minute',
      'content-per-minute',
      'content-per-hour',
      'application-per-hour',
      'workflow-per-hour',
      'enterprise-per-hour',
      'processor-per-minute',
      'registry-anonymous-per-minute',
      'registry-user-per-minute',
    ],
    help:
      'limit of requests of one caller, 0 for none ' +
      '(60, 5000, 100, 900, 80, 500, 5000, 1000, 15000, 90, 300, 3000)',
  }),
};
