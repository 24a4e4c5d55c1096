import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import path from 'node:path';
import type { ContainerInspect, ContainerSummary } from '../../../api/types/container.ts';
import type { NetworkInspect } from '../../../api/types/system.ts';
import { hubDifferences } from './oracle-hub.ts';
import { cgroupDirectories, mountsBelow, pidsInCgroup, processes } from './cleanup.ts';
import type { TestDaemon } from './daemon.ts';
import { readDatabase } from '../storage/database-copy.ts';
import { until } from './http.ts';
import { processFile } from '../process.ts';

/**
 * The convergence oracle: what the API says, against everything that exists for it in the kernel and on disk. It
 * reads public facts only (the daemon's roots, its cgroup parent, its network namespace, its database), and none of
 * the engine's code, so that it cannot share a mistake with it.
 *
 * Answers one sentence per difference; nothing leaked and nothing missing is an empty list. A verb in flight is a
 * difference: poll it.
 */
export async function differences(daemon: TestDaemon): Promise<string[]> {
  const view = await apiView(daemon);
  const found = observe(daemon);
  return [
    ...compareRuntime(view, found),
    ...compareProcesses(daemon, view),
    ...(await compareNetwork(daemon, view)),
    ...compareDisk(daemon, view),
    ...(await compareDatabase(daemon, view)),
  ].toSorted();
}

/** Open descriptors of the daemon, by what they point to; numbers of sockets and pipes are left out. */
export function descriptorCounts(daemon: TestDaemon): Record<string, number> {
  const counts: Record<string, number> = {};
  const folder = `/proc/${daemon.pid}/fd`;
  for (const fd of readdirSync(folder)) {
    const target = linkOrEmpty(path.join(folder, fd)).replace(/\d+/g, 'N');
    counts[target] = (counts[target] ?? 0) + 1;
  }
  return counts;
}

/** Threads that had no work for five seconds end, and the one that is kept ready comes. */
const THREADS_SETTLE_MS = 6_500;

/**
 * Open descriptors by kind, once nothing has changed for longer than the engine's threads take to come and go: one is
 * kept ready, and those that had work end.
 */
export async function restingDescriptors(daemon: TestDaemon): Promise<Record<string, number>> {
  daemon.http.hangUp();
  let counts = descriptorCounts(daemon);
  let since = performance.now();
  await until('descriptors to rest', () => {
    const now = descriptorCounts(daemon);
    if (JSON.stringify(now) !== JSON.stringify(counts)) {
      counts = now;
      since = performance.now();
    }
    return performance.now() - since > THREADS_SETTLE_MS;
  });
  return counts;
}

/**
 * Kinds of descriptors of which there are more than before: a worker thread that was idle may have ended meanwhile.
 * Connections that the test's client keeps are closed: how many there are is a matter of what overlapped.
 */
export function descriptorGrowth(before: Record<string, number>, daemon: TestDaemon): Record<string, number> {
  daemon.http.hangUp();
  const grown = Object.entries(descriptorCounts(daemon)).filter(
    ([target, count]) => count > (before[target] ?? 0),
  );
  return Object.fromEntries(grown);
}

interface ApiView {
  all: ContainerInspect[];
  running: ContainerInspect[];
  volumes: string[];
  networks: NetworkInspect[];
}

/** Ids found per kind of remains. */
type Observed = Record<
  | 'bundles'
  | 'runc states'
  | 'exit files'
  | 'cgroups'
  | 'root mounts'
  | 'volume mounts'
  | 'shared memories'
  | 'namespaces'
  | 'views'
  | 'task files'
  | 'task mounts',
  string[]
>;

async function apiView(daemon: TestDaemon): Promise<ApiView> {
  const list = await daemon.http.ok<ContainerSummary[]>('GET', '/containers/json?all=1');
  const all: ContainerInspect[] = [];
  for (const { Id } of list) {
    all.push(await daemon.http.ok<ContainerInspect>('GET', `/containers/${Id}/json`));
  }
  const volumes = await daemon.http.ok<{ Volumes: { Name: string; Driver: string }[] | null }>(
    'GET',
    '/volumes',
  );
  return {
    all,
    running: all.filter(({ State }) => State.Running),
    volumes: (volumes.Volumes ?? []).filter(({ Driver }) => Driver === 'local').map(({ Name }) => Name),
    networks: await daemon.http.ok<NetworkInspect[]>('GET', '/networks'),
  };
}

function observe(daemon: TestDaemon): Observed {
  const { dataRoot, execRoot } = daemon.paths;
  const mounts = [...mountsBelow(dataRoot), ...mountsBelow(execRoot)];
  return {
    bundles: ids(entries(path.join(execRoot, 'containers'))),
    'runc states': ids(entries(path.join(execRoot, 'runc'))),
    'exit files': ids(entries(path.join(execRoot, 'exits'))),
    cgroups: ids(cgroupDirectories(daemon.cgroupParent).map((folder) => path.basename(folder))),
    'root mounts': ids(mounts.filter((mount) => mount.startsWith(`${dataRoot}/containers/`))),
    'volume mounts': mounts
      .filter((mount) => mount.startsWith(`${dataRoot}/volumes/`))
      .map((mount) => path.basename(path.dirname(mount))),
    'shared memories': ids(mounts.filter((mount) => mount.endsWith('/shm'))),
    namespaces: ids(mounts.filter((mount) => mount.includes('/netns/'))),
    // Where overlays out of sight are mounted for a moment.
    views: mounts.filter((mount) => mount === `${execRoot}/view`),
    'task files': entries(path.join(execRoot, 'tasks')),
    'task mounts': mounts.filter((mount) => mount === `${execRoot}/tasks`),
  };
}

function compareRuntime(view: ApiView, found: Observed): string[] {
  const running = view.running.map(({ Id }) => Id);
  const ownNamespace = view.running
    .filter(({ HostConfig }) => !/^(host$|container:)/.test(HostConfig.NetworkMode ?? ''))
    .map(({ Id }) => Id);
  const sharesMemory = view.running
    .filter(({ HostConfig }) => /^(shareable$|container:)/.test(HostConfig.IpcMode ?? ''))
    .map(({ Id }) => Id);
  return [
    ...compare('bundle', running, found.bundles),
    ...compare('runc state', running, found['runc states']),
    ...compare('exit file', [], found['exit files']),
    ...compare('cgroup', running, found.cgroups),
    ...compare('root mount', running, found['root mounts']),
    ...found['volume mounts']
      .filter((name) => !view.running.some(({ Mounts }) => Mounts.some(({ Name }) => Name === name)))
      .map((name) => `volume ${name} is mounted for nobody`),
    ...compare('shared memory', sharesMemory, found['shared memories']),
    ...compare('network namespace', ownNamespace, found.namespaces),
    ...compare('hidden mount', [], found.views),
    ...compareTaskFiles(view, found),
  ];
}

/** Secrets and configs are there for containers of tasks, and their file system for as long as there are any. */
function compareTaskFiles(view: ApiView, found: Observed): string[] {
  const tasks = new Set(view.all.map(({ Config }) => Config.Labels?.['com.docker.swarm.task.id']));
  const files = found['task files'];
  return [
    ...files.filter((id) => !tasks.has(id)).map((id) => `files of task ${id} have no owner`),
    ...(found['task mounts'].length === Math.min(files.length, 1)
      ? []
      : [`${found['task mounts'].length} file systems for the files of ${files.length} tasks`]),
  ];
}

function compareProcesses(daemon: TestDaemon, view: ApiView): string[] {
  const monitors = processes()
    .filter(
      ({ commandLine }) => commandLine.includes('conmon') && commandLine.includes(daemon.paths.execRoot),
    )
    .map(({ commandLine }) => /[0-9a-f]{64}/.exec(commandLine)?.[0] ?? commandLine);
  const inside = pidsInCgroup(daemon.cgroupParent);
  const running = view.running.map(({ Id }) => Id);
  const dead = view.running.filter(({ State }) => !inside.includes(State.Pid));
  const wrongPid = view.all.filter(({ State }) => !State.Running && State.Pid !== 0);
  const strangers = inside.filter((pid) => {
    // Empty for one that has ended since.
    const cgroup = processFile(pid, 'cgroup');
    return cgroup !== '' && view.running.every(({ Id }) => !cgroup.includes(Id));
  });
  return [
    ...compare('monitor', running, monitors),
    ...dead.map(({ Id, State }) => `${short(Id)} runs as pid ${State.Pid}, which is not in its cgroup`),
    ...wrongPid.map(({ Id, State }) => `${short(Id)} is ${State.Status} and shows pid ${State.Pid}`),
    ...strangers.map((pid) => `pid ${pid} runs in the cgroup of no running container`),
  ];
}

async function compareNetwork(daemon: TestDaemon, view: ApiView): Promise<string[]> {
  const endpoints = view.running.flatMap(({ NetworkSettings }) =>
    Object.entries(NetworkSettings.Networks).map(([network, endpoint]) => ({ network, ...endpoint })),
  );
  const plugged = endpoints.filter(({ IPAddress, GlobalIPv6Address }) => IPAddress || GlobalIPv6Address);
  const addresses = plugged.flatMap(({ network, IPAddress, GlobalIPv6Address }) =>
    [IPAddress, GlobalIPv6Address].flatMap((address) => (address ? [`${network} ${address}`] : [])),
  );
  const overlays = entries(path.join(daemon.paths.execRoot, 'overlays'));
  const shown = new Set(plugged.map(({ NetworkID }) => NetworkID));
  const [links, ruleset] = await Promise.all([readLinks(daemon), readRuleset(daemon)]);
  return [
    ...compareLinks(links, ruleset, view, cablesOf(view, plugged, overlays)),
    ...overlays
      .filter((id) => view.networks.every(({ Id }) => Id !== id))
      .map((id) => `overlay namespace ${id} has no network`),
    ...compareMesh(links, ruleset, view, overlays),
    ...compare(
      'nftables element',
      view.running.flatMap(publishedPorts),
      portElements(ruleset, ({ name }) => name !== 'mesh'),
    ),
    ...addresses
      .filter((address, index) => addresses.indexOf(address) !== index)
      .map((address) => `address "${address}" is given twice`),
    ...view.networks
      .filter(
        ({ Id, Containers }) => Object.keys(Containers).length > 0 && !shown.has(Id) && Id.length === 64,
      )
      .filter(({ Driver }) => Driver === 'bridge')
      .map(({ Name }) => `network ${Name} shows containers that do not run in it`),
    ...view.all
      .filter(
        ({ State, NetworkSettings }) => !State.Running && publishedPortsOf(NetworkSettings.Ports).length > 0,
      )
      .map(({ Id }) => `${short(Id)} does not run and shows published ports`),
  ];
}

/**
 * How many interfaces of the host lead to others: one per endpoint, but for those in overlay networks, whose ends are
 * in the network's namespace. A container that is in such networks alone has one to the host, as the ingress network.
 */
function cablesOf(
  { running, networks }: ApiView,
  plugged: readonly { NetworkID?: string }[],
  overlays: readonly string[],
): number {
  const overlayIds = new Set(networks.filter(({ Driver }) => Driver === 'overlay').map(({ Id }) => Id));
  const isOverlay = ({ NetworkID = '' }: { NetworkID?: string }): boolean => overlayIds.has(NetworkID);
  const outlets = running.filter(({ NetworkSettings }) => {
    const endpoints = Object.values(NetworkSettings.Networks);
    return endpoints.length > 0 && endpoints.every(isOverlay);
  });
  const ways = networks.filter(({ Id, Ingress }) => Ingress && overlays.includes(Id));
  return plugged.filter((endpoint) => !isOverlay(endpoint)).length + outlets.length + ways.length;
}

/** Published ports of a swarm lead to the namespace of its ingress network, where there is one. */
function compareMesh(
  links: Link[],
  ruleset: Ruleset,
  { networks }: ApiView,
  overlays: readonly string[],
): string[] {
  const ways = links.filter(({ ifname }) => ifname.endsWith('ingress'));
  const expected = networks.filter(({ Id, Ingress }) => Ingress && overlays.includes(Id)).length;
  const targets = new Set(
    portElements(ruleset, ({ name }) => name === 'mesh').map((element) => /->(.*):/.exec(element)?.[1]),
  );
  return [
    ...(ways.length === expected ? [] : [`${ways.length} ways into ${expected} ingress networks`]),
    ...(targets.size <= expected ? [] : [`ports of the mesh lead to ${[...targets].join(', ')}`]),
  ];
}

interface Link {
  ifname: string;
  linkinfo?: { info_kind?: string };
}
type Ruleset = Record<string, unknown>[];

async function readLinks(daemon: TestDaemon): Promise<Link[]> {
  const links: Link[] = JSON.parse(await daemon.netns.run('ip', '-j', '-d', 'link'));
  return links;
}

async function readRuleset(daemon: TestDaemon): Promise<Ruleset> {
  const { nftables }: { nftables: Ruleset } = JSON.parse(
    await daemon.netns.run('nft', '-j', 'list', 'ruleset'),
  );
  return nftables;
}

/** One veth per endpoint, one bridge per network, and the firewall knows exactly these bridges. */
function compareLinks(links: Link[], ruleset: Ruleset, view: ApiView, endpoints: number): string[] {
  const ofKind = (kind: string): string[] =>
    links
      .filter(({ ifname, linkinfo }) => linkinfo?.info_kind === kind && ifname !== 'eth0')
      .map(({ ifname }) => ifname);
  const veths = ofKind('veth').length;
  const bridges = ofKind('bridge');
  const networks = view.networks.filter(({ Driver }) => Driver === 'bridge').length;
  return [
    ...(veths === endpoints ? [] : [`${endpoints} endpoints and ${veths} veths`]),
    ...(bridges.length === networks ? [] : [`${networks} bridge networks and bridges ${bridges.join(', ')}`]),
    ...compare('place in the firewall', bridges, filteredBridges(ruleset)),
  ];
}

function filteredBridges(ruleset: Ruleset): string[] {
  return ruleset.flatMap((object) => {
    const set = object['set'];
    return isObject(set) && set['family'] === 'ip' && set['name'] === 'bridges' && Array.isArray(set['elem'])
      ? set['elem'].map(String)
      : [];
  });
}

/** `tcp/8080->172.17.0.2:80`, once per binding: they lead to one endpoint, which the elements tell. */
function publishedPorts({ NetworkSettings }: ContainerInspect): string[] {
  const endpoints = Object.entries(NetworkSettings.Networks)
    .filter(([, { Gateway, IPv6Gateway }]) => Gateway || IPv6Gateway)
    .toSorted(([a, one], [b, two]) => (two.GwPriority ?? 0) - (one.GwPriority ?? 0) || (a < b ? -1 : 1));
  const { IPAddress, GlobalIPv6Address } = endpoints[0]?.[1] ?? {};
  return publishedPortsOf(NetworkSettings.Ports).map(
    ({ protocol, hostPort, port, isIpv6 }) =>
      `${protocol}/${hostPort}->${isIpv6 ? GlobalIPv6Address : IPAddress}:${port}`,
  );
}

function publishedPortsOf(
  ports: ContainerInspect['NetworkSettings']['Ports'] | null,
): { protocol: string; hostPort: string; port: string; isIpv6: boolean }[] {
  return Object.entries(ports ?? {}).flatMap(([key, bindings]) => {
    const [port = '', protocol = ''] = key.split('/');
    return (bindings ?? []).map(({ HostIp, HostPort }) => ({
      protocol,
      port,
      hostPort: HostPort ?? '',
      isIpv6: (HostIp ?? '').includes(':'),
    }));
  });
}

/** Elements of the maps of the namespace, in the same form. */
function portElements(ruleset: Ruleset, isAsked: (map: Record<string, unknown>) => boolean): string[] {
  return ruleset.flatMap((object) => {
    const { map } = object;
    const elem = isObject(map) && isAsked(map) ? map['elem'] : undefined;
    return Array.isArray(elem) ? elem.map(describeElement) : [];
  });
}

function describeElement(element: unknown): string {
  const [key, value] = Array.isArray(element) ? element.map(concatenation) : [];
  const hostPort = key?.at(-1) ?? '?';
  return `${key?.[0] ?? '?'}/${hostPort}->${value?.[0] ?? '?'}:${value?.[1] ?? '?'}`;
}

/** The parts of `{"concat": [...]}`, also inside `{"elem": {"val": ...}}`, as text. */
function concatenation(value: unknown): string[] {
  if (isObject(value) && isObject(value['elem'])) {
    return concatenation(value['elem']['val']);
  }
  if (isObject(value) && Array.isArray(value['concat'])) {
    return value['concat'].map(String);
  }
  return [String(value)];
}

const DATA_ROOT_ENTRIES =
  /^(berth\.(lock|db|db-wal)|layers|containers|volumes|overlays|swarm|tmp|hub|builds)$/;

/** What a node that is in no swarm has of one. */
function swarmRemains(directory: string): string[] {
  const names = entries(directory);
  return names.includes('node.json') ? [] : names.map((name) => `${name} is left of a swarm`);
}

function compareDisk(daemon: TestDaemon, view: ApiView): string[] {
  const { dataRoot, execRoot } = daemon.paths;
  const all = view.all.map(({ Id }) => Id);
  const odd = entries(dataRoot).filter((name) => !DATA_ROOT_ENTRIES.test(name));
  const temporary = [path.join(dataRoot, 'tmp'), path.join(execRoot, 'tmp')].flatMap((folder) =>
    entries(folder).map((name) => path.join(folder, name)),
  );
  return [
    ...compare('directory', all, ids(entries(path.join(dataRoot, 'containers')))),
    ...compare('volume directory', view.volumes, volumeDirectories(dataRoot)),
    ...odd.map((name) => `the data root holds ${name}`),
    ...swarmRemains(path.join(dataRoot, 'swarm')),
    ...temporary.map((file) => `left behind: ${file}`),
    ...view.running
      .filter(({ LogPath }) => LogPath !== '' && !existsSync(LogPath))
      .map(({ Id, LogPath }) => `${short(Id)} has no log at ${LogPath}`),
  ];
}

async function compareDatabase(daemon: TestDaemon, view: ApiView): Promise<string[]> {
  const images = await daemon.http.ok<{ Id: string }[]>('GET', '/images/json?all=1');
  return readDatabase(path.join(daemon.paths.dataRoot, 'berth.db'), (database) => {
    const integrity = database.pragma('integrity_check', { simple: true });
    const foreign = database.pragma('foreign_key_check');
    const column = (sql: string): string[] =>
      database
        .prepare<[], { value: unknown }>(sql)
        .all()
        .map(({ value }) => String(value));
    return [
      ...(integrity === 'ok' ? [] : [`integrity_check: ${String(integrity)}`]),
      ...(Array.isArray(foreign) ? foreign : []).map((row) => `foreign_key_check: ${JSON.stringify(row)}`),
      ...compare(
        'row',
        view.all.map(({ Id }) => Id),
        column('SELECT id AS value FROM containers'),
      ),
      ...compare('row', view.volumes, column("SELECT name AS value FROM volumes WHERE driver = 'local'")),
      // Mounts that plugins were asked for.
      ...compare(
        'volume hold',
        view.running.flatMap(({ Id, Mounts }) =>
          Mounts.flatMap(({ Driver, Name }) => (Driver && Driver !== 'local' ? [`${Name} ${Id}`] : [])),
        ),
        column("SELECT volume || ' ' || holder AS value FROM volume_holds"),
      ),
      ...compare('volume without a row', [], column('SELECT volume AS value FROM volume_makings')),
      ...compare(
        'row',
        // Those of a swarm are its managers' to keep.
        view.networks.flatMap(({ Id, Name, Scope }) =>
          Scope === 'swarm' || /^(bridge|host|none)$/.test(Name) ? [] : [Id],
        ),
        column('SELECT id AS value FROM networks'),
      ),
      ...compare(
        'row',
        images.map(({ Id }) => Id),
        column(LISTED_IMAGES),
      ),
      ...compare(
        'layer directory',
        column('SELECT id AS value FROM layers').map((id) => Number(id).toString(36)),
        entries(path.join(daemon.paths.dataRoot, 'layers')),
      ),
      ...compare(
        'directory of a cache mount',
        column("SELECT id AS value FROM build_records WHERE type = 'exec.cachemount'"),
        entries(path.join(daemon.paths.dataRoot, 'builds')),
      ),
      ...hubDifferences(path.join(daemon.paths.dataRoot, 'hub'), column),
      ...column('SELECT row_key AS value FROM quarantine').map((key) => `quarantined row ${key}`),
    ];
  });
}

/** One each; and one of notes about copies that did not end, which belong to volumes that are there. */
function volumeDirectories(dataRoot: string): string[] {
  return entries(path.join(dataRoot, 'volumes')).filter((name) => name !== '.filling');
}

/** All but those that are here only beside another one, for another platform. */
const LISTED_IMAGES = `SELECT id AS value FROM images WHERE id IN (SELECT image_id FROM tags UNION
  SELECT image_id FROM image_digests) OR id NOT IN (SELECT listed.image_id FROM manifest_list_images AS listed
  JOIN manifest_lists AS list ON list.id = list_id WHERE list.image_id <> listed.image_id)`;

/** Both directions: an owner without the thing, and the thing without an owner. */
function compare(what: string, expected: readonly string[], found: readonly string[]): string[] {
  return [
    ...expected.filter((id) => !found.includes(id)).map((id) => `${short(id)} has no ${what}`),
    ...found.filter((id) => !expected.includes(id)).map((id) => `${what} ${short(id)} has no owner`),
  ];
}

function ids(names: readonly string[]): string[] {
  return [...new Set(names.flatMap((name) => /[0-9a-f]{64}/.exec(name)?.[0] ?? []))];
}

function short(id: string): string {
  return id.replace(/([0-9a-f]{12})[0-9a-f]{52}/, '$1');
}

function entries(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    // Not there, or not any more.
    return [];
  }
}

function linkOrEmpty(file: string): string {
  try {
    return readlinkSync(file);
  } catch {
    // Closed meanwhile.
    return '';
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
