/**
 * Execs pass it on their way into a container. A pause closes the gate before it freezes the container, and waits until
 * the execs inside have their process: a process that is started in a frozen cgroup hangs until it is thawed.
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

  /** Lets no exec in until it is disposed. One pause closes it at a time. */
  close(): Disposable {
    this.#closed = true;
    return {
      [Symbol.dispose]: () => {
        this.#closed = false;
      },
    };
  }

  /** Resolves when no exec is inside. */
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
