import type { ClusterEventsPort } from './events.ts';
import type { ClusterTargetsPort } from './targets.ts';

/** What a request of the cluster interface shows of who sends it. */
export interface ClusterCredentials {
  /** `engine`: over the engine's socket, which is root in effect. */
  entrance: 'listener' | 'engine';
  /** Common name of a certificate of the trusted authority; undefined = none was shown. */
  certificate: string | undefined;
  /** The header `Authorization`; undefined = not sent. */
  authorization: string | undefined;
  /** Where the request comes from. */
  address: string;
}

/** Who makes a request of the cluster interface. */
export interface ClusterCaller {
  name: string;
  /** False = may only look. */
  mayWrite: boolean;
}

export interface ClusterIdentityPort {
  /** Throws unauthorized; forbidden for who may not use the interface; unavailable while nobody can say. */
  identify(credentials: ClusterCredentials): ClusterCaller;
  /** What a user may whose access key has signed a request. Throws forbidden. */
  user(name: string): ClusterCaller;
  /** Who requests about target groups are that show nothing; undefined = they are refused. */
  unsigned(): ClusterCaller | undefined;
}

/** What the cluster interface's HTTP needs of the cluster. All methods throw `EngineError`. */
export interface ClusterPorts {
  identity: ClusterIdentityPort;
  /** Throws unavailable while its records are not within reach. */
  events(): ClusterEventsPort;
  /** The same. */
  targets(): ClusterTargetsPort;
}
