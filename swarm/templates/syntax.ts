/** What a template is made of, after parsing. */
export type TemplateNode =
  | { kind: 'text'; text: string }
  | { kind: 'action'; pipeline: Pipeline }
  | { kind: 'if' | 'with' | 'range'; pipeline: Pipeline; body: TemplateNode[]; otherwise: TemplateNode[] };

/** `$k, $v := a | b c`: commands whose results are the next one's last argument. */
export interface Pipeline {
  /** Names with their dollar sign, of the variables that get the result; two only in a range. */
  variables: string[];
  /** `=` instead of `:=`. */
  isAssignment: boolean;
  commands: Operand[][];
  /** As written, for errors. */
  text: string;
  line: number;
}

/** A value with the fields that are taken of it one after the other. */
export interface Operand {
  base:
    | { kind: 'literal'; value: string | number | boolean | null }
    | { kind: 'dot' }
    | { kind: 'variable'; name: string }
    | { kind: 'function'; name: string }
    | { kind: 'pipeline'; pipeline: Pipeline };
  fields: string[];
  text: string;
  /** Where errors say that it stands in the template: of several fields the second, as in Go. */
  at: number;
}
