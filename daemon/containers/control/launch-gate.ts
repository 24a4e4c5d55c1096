/**
 * Where execs pass on their way into a container. Whoever is about to freeze it closes the gate, and waits until those
 * that came before have their process: one that arrives in a frozen cgroup would hang until it is thawed.
 */
export class LaunchGate {
  #inside = 0;
  #closed = false;
  #waiting: (() => void)[] = [];

  /** Goes in; dispose to leave. Undefined when the gate is closed. */
  enter(): Disposable | undefined {
    if (this.#closed) {
      return undefined;
    }
    this.#inside += 1;
    let inside = true;
    return {
      [Symbol.dispose]: () => {
        if (inside) {
          inside = false;
          this.#leave();
        }
      },
    };
  }

  /** Lets nobody in until it is disposed. Only one may close it at a time. */
  close(): Disposable {
    this.#closed = true;
    return {
      [Symbol.dispose]: () => {
        this.#closed = false;
      },
    };
  }

  /** Resolves when nobody is inside. */
  empty(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#inside === 0) {
        resolve();
      } else {
        this.#waiting.push(resolve);
      }
    });
  }

  #leave(): void {
    this.#inside -= 1;
    if (this.#inside === 0) {
      this.#waiting.splice(0).forEach((resolve) => resolve());
    }
  }
}
