import type {
  ClusterCaller,
  ClusterCredentials,
  ClusterIdentityPort,
} from '../../../api/types/cluster/ports.ts';
import type { HubCredentials } from '../../../api/types/hub/credentials.ts';
import { EngineError } from '../../base/errors.ts';

interface Deps {
  /** Of the hub of this host (`Hub.userName`); undefined = it has none. Throws unavailable while it is away. */
  userName: ((credentials: HubCredentials) => string | undefined) | undefined;
  /** `cluster.users`: `alice`, `bob:read`, `*:read`. */
  users: readonly string[];
  /** `cluster.targets-unsigned`: whether whoever reaches the interface may change target groups. */
  isUnsignedTaken: boolean;
}

/**
 * Who may use the cluster interface: root by the engine's socket, whoever has a certificate of the configured
 * authority, and users of the hub by their tokens, as far as `cluster.users` lets them. A token that acts for no user
 * (of a task, an app, an organization) may not.
 */
export class ClusterIdentity implements ClusterIdentityPort {
  readonly #userName: Deps['userName'];
  /** By name in lower case: whether it may change something. */
  readonly #users: ReadonlyMap<string, boolean>;
  readonly #isUnsignedTaken: boolean;

  constructor({ userName, users, isUnsignedTaken }: Deps) {
    this.#isUnsignedTaken = isUnsignedTaken;
    this.#userName = userName;
    const known = new Map<string, boolean>();
    for (const entry of users) {
      const [name = '', right] = entry.toLowerCase().split(':');
      known.set(name, known.get(name) === true || right === undefined);
    }
    this.#users = known;
  }

  identify({ entrance, certificate, ...shown }: ClusterCredentials): ClusterCaller {
    if (entrance === 'engine') {
      return { name: 'root', mayWrite: true };
    }
    if (certificate !== undefined) {
      return { name: certificate, mayWrite: true };
    }
    if (this.#userName === undefined || shown.authorization === undefined) {
      throw new EngineError('unauthorized', 'Unauthorized');
    }
    const name = this.#userName(shown);
    if (name === undefined) {
      throw new EngineError('forbidden', 'only tokens of users may use the cluster interface');
    }
    return this.user(name);
  }

  unsigned(): ClusterCaller | undefined {
    return this.#isUnsignedTaken ? { name: 'anyone', mayWrite: true } : undefined;
  }

  user(name: string): ClusterCaller {
    const mayWrite = this.#users.get(name.toLowerCase()) ?? this.#users.get('*');
    if (mayWrite === undefined) {
      throw new EngineError('forbidden', `user ${name} is not among cluster.users`);
    }
    return { name, mayWrite };
  }
}
