/** Rules of names (Kubernetes: apimachinery/pkg/util/validation). Each answers what is wrong, or undefined. */

const LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const SUBDOMAIN = new RegExp(`^${LABEL}(\\.${LABEL})*$`);
const DNS_LABEL = new RegExp(`^${LABEL}$`);
const NAME_PART = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;

/** RFC 1123 subdomain. */
export function subdomainProblem(text: string): string | undefined {
  if (text.length > 253) {
    return 'must be no more than 253 bytes';
  }
  return SUBDOMAIN.test(text)
    ? undefined
    : "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must " +
        "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is " +
        "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
}

export function namespaceProblem(text: string): string | undefined {
  if (text.length > 63) {
    return 'must be no more than 63 bytes';
  }
  return DNS_LABEL.test(text)
    ? undefined
    : "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end " +
        "with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is " +
        "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
}

/** `[prefix/]name`. */
export function qualifiedNameProblem(text: string): string | undefined {
  const parts = text.split('/');
  const name = parts.at(-1) ?? '';
  if (parts.length > 2) {
    return `a qualified name ${NAME_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`;
  }
  if (parts.length === 2) {
    const prefix = parts[0] ?? '';
    const problem = prefix === '' ? 'must be non-empty' : subdomainProblem(prefix);
    if (problem !== undefined) {
      return `prefix part ${problem}`;
    }
  }
  if (name === '') {
    return 'name part must be non-empty';
  }
  if (name.length > 63) {
    return 'name part must be no more than 63 bytes';
  }
  return NAME_PART.test(name) ? undefined : `name part ${NAME_RULE}`;
}

const NAME_RULE =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character " +
  "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
  "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

export function labelValueProblem(text: string): string | undefined {
  if (text.length > 63) {
    return 'must be no more than 63 bytes';
  }
  return text === '' || NAME_PART.test(text)
    ? undefined
    : "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start " +
        "and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for " +
        "validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
}
