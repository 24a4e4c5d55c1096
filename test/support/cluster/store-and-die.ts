import { anEvent } from './event.ts';
import { openEvents } from './memory-events.ts';

/** Makes events in a database until a failpoint ends it; prints the name of each that was answered. */
const [file = ''] = process.argv.slice(2);
// As a daemon's sockets do: timers of the engine alone keep no process.
setInterval(() => undefined, 1_000);
await using open = await openEvents({ file });
const write = { fields: 'events', isDryRun: false, manager: undefined } as const;
for (let count = 0; count < 100; count += 1) {
  const names = [0, 1, 2].map((index) => `event-${count}-${index}`);
  const made = await Promise.all(
    names.map((name) =>
      open.events.create(anEvent(name, { metadata: { name, namespace: 'default' } }), write),
    ),
  );
  process.stdout.write(made.map(({ name }) => `${name}\n`).join(''));
}
