import { LISTEN_ADDRESS } from './hosts.ts';
import { numbers, text } from './kinds.ts';

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
    ],
    help: 'limit of requests of one caller, 0 for none (default 60, 5000, 100, 900, 80, 500, 5000, 1000, 15000, 90)',
  }),
};
