import { LISTEN_ADDRESS } from './hosts.ts';
import { text } from './kinds.ts';

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
};
