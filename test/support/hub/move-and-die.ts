/** A process of its own that moves the records of a hub, to be killed at a failpoint. Arguments: `MoveArguments`. */
import { movedHub, type MoveArguments } from './moved-hub.ts';

// The test that starts it gives them all.
console.log(JSON.stringify(await movedHub(...(process.argv.slice(2) as MoveArguments))));
