import { closeSync } from 'node:fs';
import { errnoOf } from '../../errors.ts';
import { declare } from '../libc.ts';

/**
 * Says when descriptors that Node.js cannot watch become readable or writable: epoll(7), waited for on a pool thread.
 *
 * One pool thread is busy while anything is watched, none otherwise. Every watch fires once and must be armed again
 * (EPOLLONESHOT): a reader that is full simply does not arm, and the kernel holds the writer back. A hang-up is told
 * once even to a watch that is not armed, so `ready` means "try what you want to do", not "there is something".
 */
const epollCreate = declare('int epoll_create1(int flags)');
const epollControl = declare('int epoll_ctl(int epfd, int op, int fd, void *event)');
const epollWait = declare('int epoll_wait(int epfd, void *events, int max, int timeout)');
const eventfd = declare('int eventfd(unsigned int initial, int flags)');
const eventfdWrite = declare('int eventfd_write(int fd, uint64_t value)');
const eventfdRead = declare('int eventfd_read(int fd, void *value)');

const CLOEXEC = 0o2000000;
const NONBLOCK = 0o4000;
const EPOLL_CTL_ADD = 1;
const EPOLL_CTL_DEL = 2;
const EPOLL_CTL_MOD = 3;
const EPOLLIN = 0x1;
const EPOLLOUT = 0x4;
const EPOLLONESHOT = 0x40000000;

/** struct epoll_event: 32-bit events, 64-bit data; packed on x86-64 only. */
const EVENT_BYTES = process.arch === 'x64' ? 12 : 16;
const DATA_OFFSET = process.arch === 'x64' ? 4 : 8;
const EVENTS_MAX = 64;
/**
 * A wait ends at once when there is something to do, and when the process exits. It is bounded all the same: it holds
 * one of the few pool threads, and what queues behind it must not stand still.
 */
const WAIT_MS = 1000;

/** What a watched descriptor is asked for. */
export interface Interest {
  read: boolean;
  write: boolean;
}

/** One descriptor in a poller. `dispose` before closing the descriptor. */
export interface Watch extends Disposable {
  /** Asks for the next event; replaces what was asked before. Nothing wanted = paused. */
  arm(interest: Interest): void;
}

export class Poller {
  readonly #watches = new Map<number, () => void>();
  /** A process that ends joins its pool threads. */
  readonly #wakeUp = (): void => {
    eventfdWrite('eventfd', this.#wake, 1);
  };
  #epoll: number | undefined;
  #wake = -1;
  #waiting = false;

  /** Adds a descriptor, not armed. `ready` is called on the main thread and must not throw. */
  watch(fd: number, ready: () => void): Watch {
    const epoll = this.#open();
    epollControl('epoll', epoll, EPOLL_CTL_ADD, fd, event(fd, EPOLLONESHOT));
    this.#watches.set(fd, ready);
    this.#wait(epoll);
    return {
      arm: (interest) => {
        const events = (interest.read ? EPOLLIN : 0) | (interest.write ? EPOLLOUT : 0);
        if (this.#watches.get(fd) === ready) {
          epollControl('epoll', epoll, EPOLL_CTL_MOD, fd, event(fd, events | EPOLLONESHOT));
        }
      },
      [Symbol.dispose]: () => {
        if (this.#watches.get(fd) === ready) {
          epollControl('epoll', epoll, EPOLL_CTL_DEL, fd, event(fd, 0));
          this.#watches.delete(fd);
          this.#wakeIfIdle();
        }
      },
    };
  }

  #open(): number {
    if (this.#epoll === undefined) {
      this.#epoll = epollCreate('epoll', CLOEXEC);
      this.#wake = eventfd('eventfd', 0, CLOEXEC | NONBLOCK);
      epollControl('epoll', this.#epoll, EPOLL_CTL_ADD, this.#wake, event(this.#wake, EPOLLIN));
      process.once('exit', this.#wakeUp);
    }
    return this.#epoll;
  }

  /** Keeps one wait under way while there is something to wait for. */
  #wait(epoll: number): void {
    if (this.#waiting) {
      return;
    }
    this.#waiting = true;
    this.#loop(epoll).catch((error: unknown) => {
      // A bug of ours: better a daemon that ends with an error, while containers go on, than one whose clients hang.
      setImmediate(() => {
        throw error;
      });
    });
  }

  async #loop(epoll: number): Promise<void> {
    const events = Buffer.alloc(EVENTS_MAX * EVENT_BYTES);
    while (this.#watches.size > 0) {
      this.#dispatch(events, await wait(epoll, events));
    }
    this.#waiting = false;
    this.#close();
  }

  #dispatch(events: Buffer, count: number): void {
    // Collected first: a callback may close a descriptor whose number the next callback opens again.
    const ready = new Set<() => void>();
    for (let index = 0; index < count; index += 1) {
      const fd = events.readInt32LE(index * EVENT_BYTES + DATA_OFFSET);
      if (fd === this.#wake) {
        eventfdRead('eventfd', this.#wake, Buffer.alloc(8));
        continue;
      }
      const callback = this.#watches.get(fd);
      if (callback) {
        ready.add(callback);
      }
    }
    for (const callback of ready) {
      callback();
    }
  }

  #wakeIfIdle(): void {
    if (this.#watches.size === 0 && this.#waiting) {
      this.#wakeUp();
    }
  }

  #close(): void {
    if (this.#epoll !== undefined) {
      process.off('exit', this.#wakeUp);
      closeSync(this.#epoll);
      closeSync(this.#wake);
      this.#epoll = undefined;
      this.#wake = -1;
    }
  }
}

/** Number of events put into the buffer; 0 when none came in time. */
async function wait(epoll: number, events: Buffer): Promise<number> {
  try {
    return await epollWait.async('epoll', epoll, events, EVENTS_MAX, WAIT_MS);
  } catch (error) {
    if (errnoOf(error) === 'EINTR') {
      return 0;
    }
    throw error;
  }
}

function event(fd: number, events: number): Buffer {
  const buffer = Buffer.alloc(EVENT_BYTES);
  buffer.writeUInt32LE(events, 0);
  buffer.writeInt32LE(fd, DATA_OFFSET);
  return buffer;
}
