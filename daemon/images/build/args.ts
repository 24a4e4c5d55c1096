import { invalidArgument } from '../../base/errors.ts';

/** Proxies of the host that a build may be told without an ARG; they count neither for the cache nor the history. */
const PREDEFINED = new Set(
  ['HTTP_PROXY', 'HTTPS_PROXY', 'FTP_PROXY', 'NO_PROXY', 'ALL_PROXY'].flatMap((name) => [
    name,
    name.toLowerCase(),
  ]),
);

type Values = ReadonlyMap<string, string>;

/**
 * Build arguments: what the client gave, what ARG declares before the first FROM, and what ARG declares in the stage
 * that is being built.
 */
export class BuildArgs {
  readonly #given: ReadonlyMap<string, string | null>;
  readonly #global = new Map<string, string | undefined>();
  readonly #used = new Set<string>();
  #stage = new Map<string, string | undefined>();

  constructor(given: ReadonlyMap<string, string | null>) {
    this.#given = given;
  }

  declareGlobal(name: string, fallback: string | undefined): void {
    this.#used.add(name);
    this.#global.set(name, fallback);
  }

  /** In the current stage; without a default that of the same name before the first FROM counts. */
  declare(name: string, fallback: string | undefined): void {
    this.#used.add(name);
    this.#stage.set(name, fallback ?? this.#value(name, this.#global.get(name)));
  }

  newStage(): void {
    this.#stage = new Map();
  }

  /** For FROM. */
  get globals(): Values {
    return this.#resolve(this.#global);
  }

  /** For instructions of the stage; predefined ones as well. */
  get values(): Values {
    const predefined = [...this.#given].filter(([name]) => PREDEFINED.has(name) && !this.#stage.has(name));
    return new Map([
      ...this.#resolve(this.#stage),
      ...predefined.flatMap(([name, value]): [string, string][] => (value === null ? [] : [[name, value]])),
    ]);
  }

  /** What of `values` a RUN is known by. */
  get known(): Values {
    return this.#resolve(this.#stage);
  }

  /** Given, but no ARG wanted them. */
  get unused(): string[] {
    return [...this.#given.keys()]
      .filter((name) => !this.#used.has(name) && !PREDEFINED.has(name))
      .toSorted();
  }

  #resolve(declared: ReadonlyMap<string, string | undefined>): Map<string, string> {
    return new Map(
      [...declared].flatMap(([name, fallback]): [string, string][] => {
        const value = this.#value(name, fallback);
        return value === undefined ? [] : [[name, value]];
      }),
    );
  }

  #value(name: string, fallback: string | undefined): string | undefined {
    return this.#given.get(name) ?? fallback;
  }
}

/** `NAME` or `NAME=default` of an ARG, its words already expanded. Throws invalid_argument. */
export function parseArg(word: string, where: string): { name: string; fallback: string | undefined } {
  const equals = word.indexOf('=');
  const name = equals === -1 ? word : word.slice(0, equals);
  if (name === '') {
    throw invalidArgument(`${where}: names can not be blank`);
  }
  return { name, fallback: equals === -1 ? undefined : word.slice(equals + 1) };
}
