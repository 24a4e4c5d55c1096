import { LOG_DRIVERS } from '../../../runtime/log-drivers/drivers.ts';
import { bytes, integer, list, map, runtimes, text, toggle, ulimits } from './kinds.ts';
import type { Setting } from './kinds.ts';
import { LISTEN_ADDRESS } from './hosts.ts';
import { builderSettings } from './builder-settings.ts';
import { clusterSettings } from './cluster-settings.ts';
import { hubSettings } from './hub-settings.ts';
import { networkSettings } from './network-settings.ts';

const ABSOLUTE = /^\//;
/** Goes into names of bridges, tables and cgroups. */
const INSTANCE = /^([a-z0-9][a-z0-9-]{0,30})?$/;

/**
 * Every setting: the single source of keys, flags, environment variables, defaults, checks and `--help`. Names are
 * those of dockerd's daemon.json where it has one. Add one here, or among those of the networks, the hub
 * or the cluster interface, and nowhere else.
 */
export const settings = {
  // Where things are
  dataRoot: text({
    key: 'data-root',
    default: '/var/lib/berth',
    pattern: ABSOLUTE,
    placeholder: 'path',
    help: 'directory of what survives a reboot: images, containers, volumes, the database',
  }),
  execRoot: text({
    key: 'exec-root',
    default: '/run/berth',
    pattern: ABSOLUTE,
    placeholder: 'path',
    help: 'directory of what does not survive a reboot',
  }),
  pidfile: text({
    key: 'pidfile',
    short: 'p',
    default: '/run/berth.pid',
    pattern: /^(\/.*)?$/,
    placeholder: 'path',
    help: 'file that holds the process id; empty for none',
  }),
  instance: text({
    key: 'instance',
    default: '',
    pattern: INSTANCE,
    placeholder: 'name',
    help: 'tells several daemons of one host apart; part of the names of bridge, interfaces, nftables table and cgroup',
  }),

  // API
  hosts: list({
    key: 'hosts',
    flag: 'host',
    short: 'H',
    default: ['unix:///run/berth.sock'],
    pattern: /^(unix|fd|tcp):\/\//,
    placeholder: 'address',
    help: 'address to listen on: unix:///path, fd:// (socket passed by systemd), tcp://address:port',
  }),
  metricsAddr: text({
    key: 'metrics-addr',
    default: '',
    pattern: LISTEN_ADDRESS,
    placeholder: 'address:port',
    help: 'address of metrics for Prometheus, plain HTTP without a password, path /metrics; empty for none',
  }),
  apiCorsHeader: text({
    key: 'api-cors-header',
    default: '',
    pattern: /^(?:|\*|https?:\/\/[^\s,/?#]+)$/,
    placeholder: 'origin',
    help: 'web site whose pages may use the API, with all that root can do; * for every site, empty for none',
  }),
  group: text({
    key: 'group',
    short: 'G',
    default: 'docker',
    placeholder: 'name',
    help: 'group that may use the Unix socket; its members are as powerful as root',
  }),
  tls: toggle({ key: 'tls', default: false, help: 'implied by tlsverify; not supported without it' }),
  tlsVerify: toggle({
    key: 'tlsverify',
    default: false,
    help: 'use TLS on TCP and demand client certificates',
  }),
  tlsCaCert: text({
    key: 'tlscacert',
    default: '',
    placeholder: 'path',
    help: 'the only authority whose client certificates are trusted',
  }),
  tlsCert: text({ key: 'tlscert', default: '', placeholder: 'path', help: 'certificate of this daemon' }),
  tlsKey: text({ key: 'tlskey', default: '', placeholder: 'path', help: 'key of that certificate' }),

  // The daemon itself
  debug: toggle({
    key: 'debug',
    short: 'D',
    default: false,
    isReloadable: true,
    help: 'log at level debug',
  }),
  logLevel: text({
    key: 'log-level',
    short: 'l',
    default: 'info',
    oneOf: ['debug', 'info', 'warn', 'error', 'fatal'],
    isReloadable: true,
    help: 'least important level that is logged',
  }),
  logFormat: text({
    key: 'log-format',
    default: 'auto',
    oneOf: ['auto', 'text', 'json'],
    help: 'format of the log; auto: text on a terminal, JSON elsewhere',
  }),
  labels: list({
    key: 'labels',
    flag: 'label',
    default: [],
    pattern: /^[^=]+(=.*)?$/,
    placeholder: 'key=value',
    isReloadable: true,
    help: 'label of this engine, shown by docker info',
  }),
  nodeGenericResources: list({
    key: 'node-generic-resources',
    flag: 'node-generic-resource',
    default: [],
    placeholder: 'kind=value',
    isReloadable: true,
    help: 'what this node offers to services of a swarm: a count, gpu=2, or gpu=NAME once for each',
  }),
  shutdownTimeout: integer({
    key: 'shutdown-timeout',
    default: 2,
    minimum: 0,
    maximum: 600,
    isReloadable: true,
    help: 'seconds that requests may take to end when the daemon stops; containers run on',
  }),
  liveRestore: toggle({
    key: 'live-restore',
    default: true,
    isReloadable: true,
    help: 'containers run on while the daemon is down; always true, false is refused',
  }),

  pluginFolders: list({
    key: 'plugin-folders',
    flag: 'plugin-folder',
    default: ['/run/docker/plugins', '/etc/docker/plugins', '/usr/lib/docker/plugins'],
    pattern: ABSOLUTE,
    placeholder: 'path',
    help: 'directory searched for volume plugins: NAME.sock, NAME.spec, NAME.json',
  }),
  pluginTimeout: integer({
    key: 'plugin-timeout',
    default: 60,
    minimum: 1,
    maximum: 3600,
    help: 'seconds that a volume plugin may take to answer; twice as many for create and mount',
  }),

  // Containers
  cgroupParent: text({
    key: 'cgroup-parent',
    default: '',
    pattern: /^[^\0]*$/,
    placeholder: 'path',
    help: 'parent cgroup of containers (default /berth, or berth.slice with the systemd driver)',
  }),
  execOpts: list({
    key: 'exec-opts',
    flag: 'exec-opt',
    default: [],
    pattern: /^native\.cgroupdriver=(cgroupfs|systemd)$/,
    placeholder: 'native.cgroupdriver=cgroupfs|systemd',
    help: 'cgroup driver (default systemd where it runs with cgroup v2, else cgroupfs)',
  }),
  defaultRuntime: text({
    key: 'default-runtime',
    default: 'runc',
    placeholder: 'name',
    help: 'runtime of containers that ask for none',
  }),
  runtimes: runtimes({
    key: 'runtimes',
    flag: 'add-runtime',
    help: 'program of the runtime with this name; for runc, in place of the one on the PATH',
  }),
  defaultShmSize: bytes({
    key: 'default-shm-size',
    default: 64 * 2 ** 20,
    minimum: 1,
    help: 'size of /dev/shm of containers that ask for none',
  }),
  defaultUlimits: ulimits({
    key: 'default-ulimits',
    flag: 'default-ulimit',
    help: 'limit of the processes in containers that ask for none',
  }),
  defaultIpcMode: text({
    key: 'default-ipc-mode',
    default: 'private',
    oneOf: ['private', 'shareable'],
    help: 'IPC namespace of containers that ask for none',
  }),
  defaultCgroupnsMode: text({
    key: 'default-cgroupns-mode',
    default: '',
    oneOf: ['private', 'host'],
    help: 'cgroup namespace of containers that ask for none (default private with cgroup v2, else host)',
  }),
  init: toggle({ key: 'init', default: false, help: 'run an init in containers that do not choose' }),
  initPath: text({
    key: 'init-path',
    default: '',
    pattern: /^(\/.*)?$/,
    placeholder: 'path',
    help: 'program of that init (default docker-init, tini-static, tini or catatonit from the PATH)',
  }),
  noNewPrivileges: toggle({
    key: 'no-new-privileges',
    default: false,
    help: 'forbid set-user-id programs in containers that do not choose',
  }),
  cdiSpecDirs: list({
    key: 'cdi-spec-dirs',
    flag: 'cdi-spec-dir',
    default: ['/etc/cdi', '/var/run/cdi'],
    help: 'where programs of vendors describe devices for --device vendor.com/class=name; given: instead of these',
  }),
  seccompProfile: text({
    key: 'seccomp-profile',
    default: 'builtin',
    placeholder: 'path',
    pattern: /^(builtin|unconfined|\/.*)$/,
    help: 'profile of containers that ask for none: builtin, unconfined or a file',
  }),
  logDriver: text({
    key: 'log-driver',
    default: 'json-file',
    oneOf: [...LOG_DRIVERS],
    help: 'log driver of containers that ask for none',
  }),
  logOpts: map({
    key: 'log-opts',
    flag: 'log-opt',
    default: {},
    help: 'options of that driver, for example max-size=10m',
  }),
  storageDriver: text({
    key: 'storage-driver',
    short: 's',
    default: 'overlay2',
    oneOf: ['overlay2'],
    help: 'storage driver; only overlay2',
  }),

  ...networkSettings,
  ...builderSettings,

  // Registries
  insecureRegistries: list({
    key: 'insecure-registries',
    flag: 'insecure-registry',
    default: [],
    placeholder: 'host[:port]|cidr',
    isReloadable: true,
    help: 'registry that may be reached without verified TLS',
  }),
  registryMirrors: list({
    key: 'registry-mirrors',
    flag: 'registry-mirror',
    default: [],
    pattern: /^https?:\/\/[^/?#]+\/?$/,
    placeholder: 'url',
    isReloadable: true,
    help: 'mirror of Docker Hub to ask first',
  }),
  httpProxy: text({
    key: 'http-proxy',
    section: 'proxies',
    default: '',
    placeholder: 'url',
    help: 'proxy for requests of the daemon to http:// addresses (default HTTP_PROXY of the environment)',
  }),
  httpsProxy: text({
    key: 'https-proxy',
    section: 'proxies',
    default: '',
    placeholder: 'url',
    help: 'proxy for requests of the daemon to https:// addresses (default HTTPS_PROXY of the environment)',
  }),
  noProxy: text({
    key: 'no-proxy',
    section: 'proxies',
    default: '',
    placeholder: 'list',
    help: 'hosts, domains, networks reached without proxy, separated by commas (default NO_PROXY of the environment)',
  }),
  maxConcurrentDownloads: integer({
    key: 'max-concurrent-downloads',
    default: 3,
    minimum: 1,
    maximum: 100,
    isReloadable: true,
    help: 'layers downloaded at the same time for one pull',
  }),
  maxConcurrentUploads: integer({
    key: 'max-concurrent-uploads',
    default: 5,
    minimum: 1,
    maximum: 100,
    isReloadable: true,
    help: 'layers uploaded at the same time for one push',
  }),

  ...hubSettings,
  ...clusterSettings,
};

export type Settings = typeof settings;
export type SettingName = keyof Settings;

/** The configuration of a running daemon: frozen, checked, complete. */
export type Config = { readonly [Name in SettingName]: Settings[Name] extends Setting<infer T> ? T : never };

/** Name and definition of every setting, in the order of the table. */
export const settingEntries: readonly (readonly [SettingName, Setting<unknown>])[] =
  // Object.entries forgets the names; these are the keys of the literal above.
  Object.entries(settings) as [SettingName, Setting<unknown>][];
