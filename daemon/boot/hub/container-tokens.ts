import { errorText, isEngineError } from '../../base/errors.ts';
import { HUB_PERMISSIONS_LABEL, HUB_TOKEN_LABEL, labelError } from '../../base/hub-token-labels.ts';
import type { HubTokenRequest } from '../../base/hub-token-labels.ts';
import type { Logger } from '../../base/logger.ts';
import type { HubTokens } from '../../containers/ports.ts';
import type { WorkflowTokens } from '../../hub/identity/workflow/workflow-tokens.ts';

interface OpenHub {
  workflowTokens: Pick<WorkflowTokens, 'plan' | 'mint' | 'revoke' | 'tasks'>;
  baseUrl: string;
  /** Calls back whenever the hub is there again after it was not; absent = it always is. */
  whenOpened?(listener: () => void): void;
}

/** Leads containers to the hub, which is there after them. */
export class ContainerTokens implements HubTokens {
  readonly #log: Logger;
  #hub: OpenHub | undefined;
  #isOpen = false;
  /** Containers that ended while no hub was there. */
  readonly #missed = new Set<string>();
  #opened!: () => void;
  readonly #opening = new Promise<void>((resolve) => {
    this.#opened = resolve;
  });

  constructor({ log }: { log: Logger }) {
    this.#log = log;
  }

  get url(): string {
    return this.#hub?.baseUrl ?? '';
  }

  /**
   * From here on tokens are minted. Ends those of containers that ended while no daemon, or no hub, was there to see
   * it. Undefined = this engine has no hub.
   */
  async open(hub: OpenHub | undefined, isLive: (containerId: string) => boolean): Promise<void> {
    this.#hub = hub;
    await this.#sweep(isLive);
    hub?.whenOpened?.(() => {
      this.#sweep(isLive).catch((error: unknown) => {
        const text = 'tokens of containers that have ended stay until the hub is opened again';
        this.#log.warn({ reason: errorText(error) }, text);
      });
    });
    this.#isOpen = true;
    this.#opened();
  }

  async #sweep(isLive: (containerId: string) => boolean): Promise<void> {
    const ended = (this.#hub?.workflowTokens.tasks() ?? []).filter(
      (task) => this.#missed.has(task) || !isLive(task),
    );
    for (const task of ended) {
      await this.#hub?.workflowTokens.revoke(task);
      this.#missed.delete(task);
    }
  }

  async check(request: HubTokenRequest): Promise<void> {
    await this.#plan(request);
  }

  async mint(request: HubTokenRequest, containerId: string): Promise<string> {
    const { tokens, repository, permissions } = await this.#plan(request);
    return await tokens.mint(repository, permissions, containerId);
  }

  async revoke(containerId: string): Promise<void> {
    if (!this.#isOpen) {
      this.#missed.add(containerId);
      return;
    }
    try {
      await this.#hub?.workflowTokens.revoke(containerId);
    } catch (error) {
      // The container goes; its token when the hub is there again.
      if (!isEngineError(error, 'unavailable')) {
        throw error;
      }
      this.#missed.add(containerId);
    }
  }

  async #plan(request: HubTokenRequest) {
    await this.#opening;
    const { owner, repository: name, permissions: asked } = request;
    const full = `${owner}/${name}`;
    if (this.#hub === undefined) {
      throw labelError(HUB_TOKEN_LABEL, full, 'this engine has no hub (hub.address)');
    }
    const tokens = this.#hub.workflowTokens;
    const { repository, permissions, problems } = tokens.plan(owner, name, asked);
    if (repository === undefined) {
      throw labelError(HUB_TOKEN_LABEL, full, 'the hub has no such repository');
    }
    const [problem] = problems;
    if (problem !== undefined) {
      const text = Object.entries(asked).map(([key, level]) => `${key}:${level}`);
      throw labelError(HUB_PERMISSIONS_LABEL, text.join(','), `${problem.field} ${problem.message ?? ''}`);
    }
    return { tokens, repository, permissions };
  }
}
