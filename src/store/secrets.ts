/** Finds secrets in texts and masks them. */

export const REDACTED = '<redacted>';

const SECRET_WORD = String.raw`(?:api[-_]?key|token(?!s)|secret|passw(?:or)?d|credential)`;
const SECRET_NAME = new RegExp(SECRET_WORD, 'i');
const SECRET_VALUE =
  /\b(?:Bearer|Basic)\s+[\w+/=.~-]{8,}|\b(?:sk|pk|ghp|gho|github_pat|glpat|xox[abp])[-_][\w-]{12,}|\bAKIA\w{12,}/;

/** Masks arguments that contain a secret of the environment or look like a secret. */
export function redact(argv: readonly string[], env: Readonly<Record<string, string>>): readonly string[] {
  return argv.map((argument, index) => {
    if (secretIn(argument, env) !== null || SECRET_VALUE.test(argument)) return REDACTED;
    const [name = '', value] = argument.split('=', 2);
    if (value !== undefined && SECRET_NAME.test(name)) return `${name}=${REDACTED}`;
    const flag = argv[index - 1] ?? '';
    return flag.startsWith('-') && !flag.includes('=') && SECRET_NAME.test(flag) && !argument.startsWith('-')
      ? REDACTED
      : argument;
  });
}

/** Masks the values of secret variables. */
export function hideSecrets(text: string, env: Readonly<Record<string, string>>): string {
  let hidden = text;
  for (const [name, value] of Object.entries(env)) {
    if (value.length >= 8 && SECRET_NAME.test(name)) hidden = hidden.replaceAll(value, REDACTED);
  }
  return hidden;
}

const SECRET_VALUES = new RegExp(SECRET_VALUE, 'g');

/** Masks everything in a command that looks like a secret. */
export function hideKeys(text: string): string {
  return hideAssigned(text, SECRET_ASSIGNED);
}

/** The same for code and prose, where words like `token` are common: masks only what is assigned to them and looks like a key. */
export function hideLikelyKeys(text: string): string {
  return hideAssigned(text, KEY_ASSIGNED);
}

function hideAssigned(text: string, assigned: RegExp): string {
  return text
    .replaceAll(SECRET_VALUES, REDACTED)
    .replaceAll(URL_PASSWORD, (_, before: string) => `${before}${REDACTED}@`)
    .replaceAll(assigned, (_, name: string, between: string) => `${name}${between}${REDACTED}`);
}

/** `https://bob:secret@host`. */
const URL_PASSWORD = /(\w:\/\/[^\s/:@]*:)[^\s@]+@/g;

/** `--api-key abc`, `TOKEN=abc`, `password: abc`. A reference to a variable is not a secret. */
const SECRET_ASSIGNED = new RegExp(
  String.raw`(${SECRET_WORD}[\w-]*)(["']?(?:\s*[=:]\s*|\s+)["']?)(?![\s$<"'(-])[^\s"'&;|)]{6,}`,
  'gi',
);

/** A value with letters and digits that is neither an identifier nor a call. */
const KEY_ASSIGNED = new RegExp(
  String.raw`(${SECRET_WORD}[\w-]*)(["']?\s*[=:]\s*["']?)(?=[\w+/-]*\d)(?=[\w+/-]*[a-z])[\w+/-]{8,}(?![\w+/.([-])`,
  'gi',
);

/** Whether a text contains what is almost certainly a key. */
export function hasKey(text: string): boolean {
  return SECRET_VALUE.test(text);
}

/** The name of a secret environment variable whose value the text contains; null if there is none. */
export function secretIn(text: string, env: Readonly<Record<string, string>>): string | null {
  for (const [name, value] of Object.entries(env)) {
    if (value.length >= 8 && SECRET_NAME.test(name) && text.includes(value)) return name;
  }
  return null;
}

/** A text without secrets, for logs, prompts and reports. */
export function masked(text: string, env: Readonly<Record<string, string>>): string {
  return hideLikelyKeys(hideSecrets(text, env));
}

/** A JSON value without secrets: neither those of the environment nor what looks like a key. */
export function withoutSecrets(value: unknown, env: Readonly<Record<string, string>>): unknown {
  if (typeof value === 'string') return hideKeys(hideSecrets(value, env));
  if (Array.isArray(value)) {
    const isArguments = value.every((item) => typeof item === 'string');
    return isArguments
      ? redact(value, env).map((item) => withoutSecrets(item, env))
      : value.map((item: unknown) => withoutSecrets(item, env));
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, withoutSecrets(part, env)]));
}
