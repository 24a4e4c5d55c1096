import { invalidArgument, notImplemented } from '../../base/errors.ts';

/** Options of an exporter that nobody has read yet. */
export class OptionsLeft {
  readonly all: Map<string, string>;

  constructor(all: ReadonlyMap<string, string>) {
    this.all = new Map(all);
  }

  /** `''` = it is not said. */
  take(name: string): string {
    const value = this.all.get(name) ?? '';
    this.all.delete(name);
    return value;
  }

  flag(name: string, usual: boolean): boolean {
    const value = this.take(name);
    if (!/^(?:|1|t|true|0|f|false)$/i.test(value)) {
      throw invalidArgument(`option ${name}=${value}: must be true or false`);
    }
    return value === '' ? usual : /^(?:1|t)/i.test(value);
  }

  /** Leaves what has another value, which is refused by its name. */
  only(name: string, values: readonly string[]): void {
    if (values.includes(this.all.get(name) ?? '')) {
      this.all.delete(name);
    }
  }

  /** Throws not_implemented that names the first. */
  refuse(exporter: string): void {
    for (const [name, value] of this.all) {
      throw notImplemented(`exporter ${exporter}: option ${name}=${value} is not supported`);
    }
  }
}
