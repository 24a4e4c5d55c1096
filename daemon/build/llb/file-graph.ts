import { invalidArgument } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { ActionMessage } from './messages.ts';

/** What of a file operation's actions stands on what. A place is one of an input, or of an action behind the inputs. */
export interface ActionGraph {
  /** Places of actions by the results that they are. */
  outputs: ReadonlyMap<number, number>;
  /** Places of actions that more than the next one needs: their results are trees of their own. */
  kept: ReadonlySet<number>;
}

/** Throws invalid_argument, by the field, for places that are none, results that are missing or double, and circles. */
export function actionGraph(actions: readonly ActionMessage[], inputs: number): ActionGraph {
  if (actions.length === 0) {
    throw invalidArgument('a file operation without actions');
  }
  if (actions.length > limits.llbActionsMax) {
    throw invalidArgument(`a file operation of more than ${limits.llbActionsMax} actions`);
  }
  const outputs = outputsOf(actions, inputs);
  const used = new Map<number, number>();
  const use = (place: number): void => {
    used.set(place, (used.get(place) ?? 0) + 1);
  };
  for (const [position, action] of actions.entries()) {
    const all = placesOf(action);
    for (const [name, place] of Object.entries(all)) {
      if (place < -1 || place >= inputs + actions.length) {
        const known = `${inputs} inputs and ${actions.length} actions`;
        throw invalidArgument(`file action ${position}: ${name} ${place} of ${known}`);
      }
      if (place >= inputs) {
        use(place);
      }
    }
  }
  refuseCircles(actions, inputs);
  for (const place of outputs.values()) {
    // A result is wanted as it is.
    use(place);
    use(place);
  }
  const secondary = actions
    .map((action) => placesOf(action))
    .flatMap((places) =>
      Object.entries(places).flatMap(([name, place]) => (name === 'input' ? [] : [place])),
    );
  const kept = new Set([...used].flatMap(([place, count]) => (count > 1 ? [place] : [])));
  return { outputs, kept: new Set([...kept, ...secondary.filter((place) => place >= inputs)]) };
}

/** Of an action, what it stands on and reads. An owner named in the tree that is changed is nothing more. */
export function placesOf(action: ActionMessage): { input: number } & Record<string, number> {
  const { input, secondaryInput, copy, makeFile, makeDirectory, symlink } = action;
  const owner = (copy ?? makeFile ?? makeDirectory ?? symlink)?.owner;
  const accounts = Object.entries({ 'owner.user': owner?.user, 'owner.group': owner?.group }).flatMap(
    ([name, one]): [string, number][] =>
      one?.byName === undefined || one.byName.input === input ? [] : [[name, one.byName.input]],
  );
  return { input, ...(copy && { secondaryInput }), ...Object.fromEntries(accounts) };
}

function outputsOf(actions: readonly ActionMessage[], inputs: number): Map<number, number> {
  const outputs = new Map<number, number>();
  for (const [position, { output }] of actions.entries()) {
    if (output < -1 || output >= actions.length) {
      throw invalidArgument(`file action ${position}: output ${output} of ${actions.length} actions`);
    }
    if (output !== -1) {
      if (outputs.has(output)) {
        throw invalidArgument(`file action ${position}: output ${output} is that of another action, too`);
      }
      outputs.set(output, inputs + position);
    }
  }
  if (outputs.size === 0) {
    throw invalidArgument('a file operation without outputs');
  }
  for (let output = 0; output < outputs.size; output += 1) {
    if (!outputs.has(output)) {
      throw invalidArgument(`a file operation without output ${output} has others`);
    }
  }
  return outputs;
}

/** Takes away, as often as there are any, actions that stand on none that is left: of a circle some always are. */
function refuseCircles(actions: readonly ActionMessage[], inputs: number): void {
  const needs = actions.map((action) => Object.values(placesOf(action)).filter((place) => place >= inputs));
  const readers = new Map<number, number[]>();
  for (const [position, places] of needs.entries()) {
    for (const place of places) {
      readers.set(place, [...(readers.get(place) ?? []), position]);
    }
  }
  const missing = needs.map((places) => places.length);
  const free = missing.flatMap((count, position) => (count === 0 ? [position] : []));
  let done = 0;
  for (let next = free.pop(); next !== undefined; next = free.pop()) {
    done += 1;
    for (const reader of readers.get(inputs + next) ?? []) {
      const left = (missing[reader] ?? 0) - 1;
      missing[reader] = left;
      if (left === 0) {
        free.push(reader);
      }
    }
  }
  const stuck = missing.findIndex((count) => count > 0);
  if (done < actions.length) {
    throw invalidArgument(`file action ${stuck}: its input leads back to itself`);
  }
}
