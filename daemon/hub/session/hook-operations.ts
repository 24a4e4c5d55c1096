import type {
  HookConfigRequest,
  HookCreateRequest,
  HookEditRequest,
  HubHook,
  HubHookConfig,
  HubHooksPort,
} from '../../../api/types/hub/hooks.ts';
import { refuseInvalid } from '../../base/invalid-fields.ts';
import type { ConfigEdit } from '../hooks/hook-edits.ts';
import type { Hook } from '../hooks/hook.ts';
import type { Caller } from '../identity/caller.ts';
import type { Repository } from '../repositories/repository.ts';
import { configView, hookView } from '../views/hook-view.ts';
import { actorOf } from './actor.ts';
import { NEEDS } from './needs.ts';
import type { SessionDeps } from './session-deps.ts';

type SomeNeed = 'readHooks' | 'writeHooks' | 'removeHooks';

/** Webhooks of the repositories that the caller administers. */
export class HookOperations implements HubHooksPort {
  readonly #deps: SessionDeps;
  readonly #caller: Caller;

  constructor(deps: SessionDeps, caller: Caller) {
    this.#deps = deps;
    this.#caller = caller;
  }

  list(owner: string, name: string): HubHook[] {
    const repository = this.#repository(owner, name, 'readHooks');
    return this.#deps.hooks.ofRepository(repository).map((hook) => this.#view(hook, repository));
  }

  async create(owner: string, name: string, request: HookCreateRequest): Promise<HubHook> {
    const repository = this.#repository(owner, name, 'writeHooks');
    const { config = {}, events, active } = request;
    refuseInvalid([
      config.url === undefined
        ? { resource: 'Hook', field: 'config.url', code: 'missing_field', message: 'is missing' }
        : undefined,
    ]);
    const hook = await this.#deps.hooks.create(
      repository,
      {
        config: configEdit(config),
        ...(events && { events }),
        ...(active !== undefined && { isActive: active }),
      },
      actorOf(this.#caller),
    );
    return this.#view(hook, repository);
  }

  get(owner: string, name: string, id: number): HubHook {
    const repository = this.#repository(owner, name, 'readHooks');
    return this.#view(this.#deps.hooks.get(repository, id), repository);
  }

  async edit(owner: string, name: string, id: number, request: HookEditRequest): Promise<HubHook> {
    const repository = this.#repository(owner, name, 'writeHooks');
    const { config, events, add_events: addEvents, remove_events: removeEvents, active } = request;
    const hook = await this.#deps.hooks.edit(repository, id, {
      ...(config && { config: configEdit(config) }),
      ...(events && { events }),
      ...(addEvents && { addEvents }),
      ...(removeEvents && { removeEvents }),
      ...(active !== undefined && { isActive: active }),
    });
    return this.#view(hook, repository);
  }

  async remove(owner: string, name: string, id: number): Promise<void> {
    const repository = this.#repository(owner, name, 'removeHooks');
    await this.#deps.hooks.remove(repository, id, actorOf(this.#caller));
  }

  config(owner: string, name: string, id: number): HubHookConfig {
    return configView(this.#deps.hooks.get(this.#repository(owner, name, 'readHooks'), id).config);
  }

  async editConfig(
    owner: string,
    name: string,
    id: number,
    request: HookConfigRequest,
  ): Promise<HubHookConfig> {
    const repository = this.#repository(owner, name, 'writeHooks');
    return configView((await this.#deps.hooks.editConfig(repository, id, configEdit(request))).config);
  }

  async ping(owner: string, name: string, id: number): Promise<void> {
    const repository = this.#repository(owner, name, 'readHooks');
    const hook = this.#deps.hooks.get(repository, id);
    await this.#deps.intents.ping(hook, repository, actorOf(this.#caller));
  }

  async test(owner: string, name: string, id: number): Promise<void> {
    const repository = this.#repository(owner, name, 'readHooks');
    await this.#deps.intents.test(this.#deps.hooks.get(repository, id));
  }

  #repository(owner: string, name: string, need: SomeNeed): Repository {
    return this.#deps.grants.granted(this.#caller, { owner, name }, NEEDS[need]);
  }

  #view(hook: Hook, repository: Repository): HubHook {
    const [last] = this.#deps.deliveries.list({ hook: hook.id, limit: 1 });
    return hookView(hook, repository, last?.outcome ?? null, this.#deps.addresses);
  }
}

function configEdit({
  url,
  content_type: contentType,
  secret,
  insecure_ssl: ssl,
}: HookConfigRequest): ConfigEdit {
  return {
    ...(url !== undefined && { url }),
    ...(contentType !== undefined && { contentType }),
    ...(secret !== undefined && { secret }),
    ...(ssl !== undefined && { insecureSsl: String(ssl) === '1' ? '1' : '0' }),
  };
}
