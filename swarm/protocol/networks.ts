/** What a node is told of networks of swarm scope; the engine reads it too. */
export type { NetworksChange } from '../../api/types/swarm/overlay.ts';
