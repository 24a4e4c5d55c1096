import { namespaceProblem } from '../rules/names.ts';

const DEFAULT_NAMESPACE = 'default';

/** The stack, where its name may be one of a namespace. */
export function namespaceOf(stack: string | undefined): string {
  const name = (stack ?? '').toLowerCase();
  return name !== '' && namespaceProblem(name) === undefined ? name : DEFAULT_NAMESPACE;
}
