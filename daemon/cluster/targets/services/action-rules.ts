import { idOf } from '../input/identifiers.ts';
import type { Fields } from '../input/fields.ts';
import { targetLimits } from '../limits.ts';
import type { Action, WeightedGroup } from './service.ts';

/** The field `defaultAction`: a union of `forward` and `fixedResponse`. Problems are noted in `fields`. */
export function readAction(fields: Fields): Action | undefined {
  return fields.required('defaultAction', (name) => {
    const action = fields.inside(name);
    action?.only('forward', 'fixedResponse');
    if (action === undefined || action.has('forward') === action.has('fixedResponse')) {
      return fields.wrong(name, 'must have exactly one key, forward or fixedResponse');
    }
    const forward = action.inside('forward');
    return forward === undefined ? readFixed(action) : readForward(forward);
  });
}

function readFixed(action: Fields): Action | undefined {
  const fixed = action.inside('fixedResponse');
  fixed?.only('statusCode');
  const statusCode = fixed?.required('statusCode', (name) => fixed.integer(name, 100, 599));
  if (statusCode !== undefined && statusCode < 200) {
    return fixed?.wrong('statusCode', 'must be a final status, from 200 to 599', statusCode);
  }
  return statusCode === undefined ? undefined : { fixedResponse: { statusCode } };
}

function readForward(forward: Fields): Action {
  forward.only('targetGroups');
  const elements = forward.elements('targetGroups', 1, targetLimits.groupsOfActionMax);
  if (!forward.has('targetGroups')) {
    forward.wrong('targetGroups', 'is required');
  }
  const targetGroups = elements.map((element): WeightedGroup => {
    element.only('targetGroupIdentifier', 'weight');
    const identifier = element.required('targetGroupIdentifier', (name) =>
      element.text(name, { max: 2048, must: 'must be the id or the ARN of a target group' }),
    );
    return {
      targetGroupIdentifier: idOf(identifier ?? ''),
      weight: element.integer('weight', 0, 999) ?? 100,
    };
  });
  const ids = targetGroups.map(({ targetGroupIdentifier }) => targetGroupIdentifier);
  if (new Set(ids).size < ids.length) {
    forward.wrong('targetGroups', 'must name each target group once', ids);
  }
  return { forward: { targetGroups } };
}
