/** Maps that many wire shapes have. */

export type StringMap = Record<string, string>;
export type EmptyObjectMap = Record<string, Record<string, never>>;
