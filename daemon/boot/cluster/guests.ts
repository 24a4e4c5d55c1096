import type { RecordsGuest } from '../../../swarm/records/ports.ts';

/** Several parts of the engine that keep records in a swarm, as one. They leave one after another. */
export function allGuests(guests: readonly RecordsGuest[]): RecordsGuest {
  return {
    opened: (place) => guests.forEach((guest) => guest.opened(place)),
    leaving: async (others) => {
      for (const guest of guests) {
        await guest.leaving(others);
      }
    },
    leavingAsWorker: async () => {
      for (const guest of guests) {
        await guest.leavingAsWorker?.();
      }
    },
    get stays(): string {
      return guests.flatMap(({ stays = '' }) => (stays === '' ? [] : [stays])).join(' and ');
    },
    closed: async () => {
      await Promise.all(guests.map((guest) => guest.closed()));
    },
    changed: () => guests.forEach((guest) => guest.changed()),
  };
}
