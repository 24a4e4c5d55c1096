import { change } from '../../change.ts';
import { CLUSTER_READS, newFields, toldOfCluster } from './fields.ts';

const addressPool = change({
  id: 'swarm-address-pool',
  since: 39,
  routes: ['swarm.init', ...CLUSTER_READS],
  description: 'POST /swarm/init takes DefaultAddrPool and SubnetSize, and the swarm tells them.',
  ...newFields(
    { sent: ['DefaultAddrPool', 'SubnetSize'], answered: [] },
    toldOfCluster('DefaultAddrPool', 'SubnetSize'),
  ),
});

export const changes = [addressPool];
