import { EngineError, type ErrorCode } from '../../base/errors.ts';

/** Kubernetes: `meta/v1.StatusCause`. */
export interface Cause {
  reason: string;
  message: string;
  field: string;
}

/** What errors call events, and what they call one. */
const RESOURCE = 'events.events.k8s.io';

function problem(
  code: ErrorCode,
  reason: string,
  message: string,
  details: Readonly<Record<string, unknown>> = {},
): EngineError {
  return new EngineError(code, message, { details: { ...details, reason } });
}

function named(name: string): object {
  return { name, group: 'events.k8s.io', kind: 'events' };
}

export function noSuchEvent(name: string): EngineError {
  return problem('not_found', 'NotFound', `${RESOURCE} "${name}" not found`, { object: named(name) });
}

export function alreadyExists(name: string): EngineError {
  return problem('conflict', 'AlreadyExists', `${RESOURCE} "${name}" already exists`, {
    object: named(name),
  });
}

/** Somebody else has changed the event, or a precondition of the request does not hold. */
export function changedMeanwhile(
  name: string,
  text = 'the object has been modified; please apply your changes to the latest version and try again',
): EngineError {
  const message = `Operation cannot be fulfilled on ${RESOURCE} "${name}": ${text}`;
  return problem('conflict', 'Conflict', message, { object: named(name) });
}

/** Fields that another manager owns. */
export function ownedByOthers(name: string, causes: readonly Cause[]): EngineError {
  const all = causes.map(({ message, field }) => `${message}: ${field}`).join(', ');
  const text = `Apply failed with ${causes.length} conflict${causes.length === 1 ? '' : 's'}: ${all}`;
  return problem('conflict', 'Conflict', text, { object: named(name), causes });
}

export function badRequest(message: string, cause?: unknown): EngineError {
  return new EngineError('invalid_argument', message, { cause, details: { reason: 'BadRequest' } });
}

export function tooMany(message: string): EngineError {
  return problem('resource_exhausted', 'TooManyRequests', message);
}

/** A revision that is forgotten, or a page that is. */
export function expired(message: string, next?: string): EngineError {
  return problem('failed_precondition', 'Expired', message, next === undefined ? {} : { continue: next });
}

/** A list of what is wrong with an event, in Kubernetes' words. */
export class Faults {
  readonly causes: Cause[] = [];

  required(field: string, text = ''): void {
    this.#add('FieldValueRequired', field, `Required value${text === '' ? '' : `: ${text}`}`);
  }

  invalid(field: string, value: unknown, text: string): void {
    this.#add('FieldValueInvalid', field, `Invalid value: ${JSON.stringify(value) ?? 'null'}: ${text}`);
  }

  tooLong(field: string, text: string): void {
    this.#add('FieldValueTooLong', field, `Too long: ${text}`);
  }

  /** Throws invalid_argument (422) when there is anything. */
  refuse(name: string): void {
    if (this.causes.length === 0) {
      return;
    }
    const texts = this.causes.map(({ field, message }) => `${field}: ${message}`);
    const list = texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`;
    throw problem('invalid_argument', 'Invalid', `Event.events.k8s.io "${name}" is invalid: ${list}`, {
      object: { name, group: 'events.k8s.io', kind: 'Event' },
      causes: this.causes,
    });
  }

  #add(reason: string, field: string, message: string): void {
    this.causes.push({ reason, message, field });
  }
}
