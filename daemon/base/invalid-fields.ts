import { EngineError } from './errors.ts';

/** One thing that is wrong with what a client sent to the hub. */
export interface InvalidField {
  /** Kind of object, `Repository`. */
  resource: string;
  /** Dotted, `config.url`; '' = the body as a whole. */
  field: string;
  code: 'missing' | 'missing_field' | 'invalid' | 'already_exists' | 'unprocessable' | 'custom';
  /** A sentence: what the field has to be. */
  message: string;
  /** As it was sent; absent where it is secret or was not sent. */
  value?: unknown;
}

/** A request whose fields break rules: all of them at once. The hub answers 422, all else 400. */
export class InvalidFieldsError extends EngineError {
  readonly fields: readonly InvalidField[];

  constructor(fields: readonly InvalidField[]) {
    super(
      'invalid_argument',
      fields
        .map(({ field, message, value }) => `${field === '' ? '' : `${field}: `}${message}${shown(value)}`)
        .join('; '),
    );
    this.fields = fields;
  }
}

/** Throws InvalidFieldsError when anything is wrong. */
export function refuseInvalid(fields: readonly (InvalidField | undefined)[]): void {
  const wrong = fields.filter((field) => field !== undefined);
  if (wrong.length > 0) {
    throw new InvalidFieldsError(wrong);
  }
}

function shown(value: unknown): string {
  return value === undefined ? '' : `, not ${JSON.stringify(value)?.slice(0, 120) ?? 'nothing'}`;
}
