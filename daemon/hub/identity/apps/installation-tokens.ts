import type { Clock } from '../../../base/clock.ts';
import { EngineError } from '../../../base/errors.ts';
import { failpoint } from '../../../base/failpoint.ts';
import { refuseInvalid, type InvalidField } from '../../../base/invalid-fields.ts';
import { limits } from '../../../base/limits.ts';
import { Collection } from '../../records/collection.ts';
import { Counters } from '../../records/counters.ts';
import type { Mirror } from '../../records/mirror.ts';
import { beyond, readPermissions, type Permissions } from '../tokens/permissions.ts';
import { hashSecret, newSecret } from '../tokens/secret.ts';
import type { InstallationToken, Selection, Token } from '../tokens/token.ts';
import type { App, Installation } from './app.ts';
import type { Installations } from './installations.ts';

export interface InstallationTokensDeps {
  mirror: Mirror;
  clock: Clock;
  installations: Installations;
  /** Ids by name of the repositories of an account. */
  repositoriesOf: (account: { id: number }) => readonly { id: number; name: string }[];
}

/** What a token shall have less than its installation; absent = nothing. */
export interface Narrowing {
  permissions?: Readonly<Record<string, string>>;
  /** Names without the owner. */
  repositories?: readonly string[];
  repositoryIds?: readonly number[];
}

/** Tokens by which an app acts as itself at one account, for an hour. */
export class InstallationTokens {
  readonly #deps: InstallationTokensDeps;
  readonly #tokens: Collection<Token>;
  readonly #counters: Counters;

  constructor(deps: InstallationTokensDeps) {
    this.#deps = deps;
    this.#tokens = new Collection(deps.mirror, 'token/');
    this.#counters = new Counters(deps.mirror);
  }

  /** Throws InvalidFieldsError for what the installation itself has not; forbidden while it is suspended. */
  async mint(
    app: App,
    installation: Installation,
    narrowing: Narrowing,
  ): Promise<{ token: InstallationToken; secret: string }> {
    const secret = newSecret('installation');
    const hash = hashSecret(secret);
    const token = await this.#deps.mirror.change(() => {
      if (installation.suspendedMs !== null) {
        throw new EngineError('forbidden', 'This installation has been suspended');
      }
      this.#refuseMany(installation);
      const { permissions, problems } = narrowed(app, narrowing);
      const { repositories, unknown } = this.#selection(installation, narrowing);
      refuseInvalid([...problems, ...unknown]);
      const { id, change } = this.#counters.next('token');
      const nowMs = Number(this.#deps.clock.nowNano() / 1_000_000n);
      const minted: InstallationToken = {
        kind: 'installation',
        id,
        hash,
        lastEight: secret.slice(-8),
        installation: installation.id,
        permissions,
        repositories,
        createdMs: nowMs,
        expiresMs: nowMs + limits.hubInstallationTokenMs,
        lastUsedMs: null,
      };
      failpoint('hub.installation-token.mint');
      return {
        changes: [change, this.#deps.installations.unchanged(installation), this.#tokens.put(hash, minted)],
        answer: minted,
      };
    });
    return { token, secret };
  }

  /** At once. */
  revoke({ hash }: InstallationToken): Promise<void> {
    return this.#deps.mirror.change(() => ({ changes: [this.#tokens.delete(hash)], answer: undefined }));
  }

  #refuseMany({ id }: Installation): void {
    const living = this.#tokens
      .all()
      .filter((token) => token.kind === 'installation' && token.installation === id);
    if (living.length >= limits.hubInstallationTokensMax) {
      throw new EngineError(
        'resource_exhausted',
        `the installation has ${limits.hubInstallationTokensMax} tokens already: use one until its hour is over`,
      );
    }
  }

  #selection(
    { account, repositories: selected }: Installation,
    { repositories: names, repositoryIds: ids }: Narrowing,
  ): { repositories: Selection; unknown: InvalidField[] } {
    if (names === undefined && ids === undefined) {
      return { repositories: selected, unknown: [] };
    }
    const known = this.#deps
      .repositoriesOf(account)
      .filter(({ id }) => selected === 'all' || selected.includes(id));
    const byName = new Map(known.map(({ id, name }) => [name.toLowerCase(), id]));
    const asked = [
      ...(names ?? []).map((value) => ({
        field: 'repositories',
        value,
        id: byName.get(value.toLowerCase()),
      })),
      ...(ids ?? []).map((value) => ({
        field: 'repository_ids',
        value,
        id: known.find(({ id }) => id === value)?.id,
      })),
    ];
    const unknown = asked
      .filter(({ id }) => id === undefined)
      .map(({ field, value }): InvalidField => ({
        resource: 'Installation',
        field,
        code: 'missing',
        message: 'must be repositories that the app is installed for',
        value,
      }));
    return { repositories: asked.flatMap(({ id }) => (id === undefined ? [] : [id])), unknown };
  }
}

function narrowed(
  app: App,
  { permissions: asked }: Narrowing,
): {
  permissions: Permissions;
  problems: InvalidField[];
} {
  if (asked === undefined) {
    return { permissions: app.permissions, problems: [] };
  }
  const { permissions, problems } = readPermissions(asked);
  const more = beyond(permissions, app.permissions).map((name): InvalidField => ({
    resource: 'Installation',
    field: `permissions.${name}`,
    code: 'invalid',
    message: 'is not granted to this installation',
    value: permissions[name],
  }));
  return { permissions, problems: [...problems, ...more] };
}
