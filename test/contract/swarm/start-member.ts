/**
 * A daemon that starts a member of the store, says so, and stays until it is killed.
 *
 *   node --import tsx start-member.ts <etcd> <run directory> <settings as JSON>
 */
import { systemClock } from '../../../daemon/base/clock.ts';
import { EtcdProcess } from '../../../swarm/store/etcd-process/etcd-process.ts';
import type { MemberSettings } from '../../../swarm/store/etcd-process/settings.ts';

const [etcd = '', runDirectory = '', settings = ''] = process.argv.slice(2);
const member: MemberSettings = JSON.parse(settings);
const started = await EtcdProcess.start({ clock: systemClock, etcd, runDirectory }, member);
process.stdout.write(`${started.process.pid}\n`);
setInterval(() => undefined, 60_000);
