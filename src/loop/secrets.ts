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
    const [user, password] = USER_FLAG.test(flag) ? (USER_AND_PASSWORD.exec(argument)?.slice(1) ?? []) : [];
    if (user !== undefined && password !== undefined) return `${user}${REDACTED}`;
    return flag.startsWith('-') && !flag.includes('=') && SECRET_NAME.test(flag) && !argument.startsWith('-')
      ? REDACTED
      : hideCredentials(argument);
  });
}

/** Masks the values of secret variables. */
export function hideSecrets(text: string, env: Readonly<Record<string, string>>): string {
  return hideValues(text, secretValues(env));
}

/** Masks these values, and what looks like a key. */
export function hideValuesAndKeys(text: string, values: readonly string[]): string {
  return hideLikelyKeys(hideValues(text, values));
}

/** Masks these values; the longer ones come first. */
function hideValues(text: string, values: readonly string[]): string {
  let hidden = text;
  for (const value of values) if (hidden.includes(value)) hidden = hidden.replaceAll(value, REDACTED);
  return hidden;
}

/**
 * The values of secret variables, the longest first, since one may be a part of another. Also as they stand in JSON, and the
 * single lines of a value with several, since much is shown line by line.
 */
export function secretValues(env: Readonly<Record<string, string>>): readonly string[] {
  const known = VALUES.get(env);
  if (known !== undefined) return known;
  const secrets = Object.entries(env).flatMap(([name, value]) => (isSecret(name, value) ? [value] : []));
  const lines = secrets.flatMap((value) => value.split(/\r?\n/));
  const forms = [
    ...secrets,
    ...secrets.map((value) => JSON.stringify(value).slice(1, -1)),
    ...lines.filter((line) => line.length >= MIN_SECRET_LENGTH),
  ];
  const values = [...new Set(forms)].toSorted((a, b) => b.length - a.length);
  VALUES.set(env, values);
  return values;
}

/** An environment has a hundred variables, and masking is asked for with every piece of output. */
const VALUES = new WeakMap<object, readonly string[]>();

/** Shorter values occur in other texts by chance. */
const MIN_SECRET_LENGTH = 8;

function isSecret(name: string, value: string): boolean {
  return value.length >= MIN_SECRET_LENGTH && SECRET_NAME.test(name);
}

const SECRET_VALUES = new RegExp(SECRET_VALUE, 'g');

/** Masks everything in a command that looks like a secret. */
export function hideKeys(text: string): string {
  return hideAssigned(text, SECRET_ASSIGNED);
}

/** The same for code and prose, where words like `token` are common: masks only what is assigned to them and looks like a key. */
export function hideLikelyKeys(text: string): string {
  return mayHaveKey(text) ? hideAssigned(text, KEY_ASSIGNED) : text;
}

function mayHaveKey(text: string): boolean {
  // Floods of output pass here; the search for these parts is several times faster than any pattern.
  return PARTS_OF_KEYS.some((part) => text.includes(part)) && MAY_HAVE_KEY.test(text);
}

function hideAssigned(text: string, assigned: RegExp): string {
  // Most texts have none, and one pass is cheaper than three.
  if (!MAY_HAVE_KEY.test(text)) return text;
  return hideCredentials(text.replaceAll(SECRET_VALUES, REDACTED)).replaceAll(
    assigned,
    (_, name: string, between: string) => `${name}${between}${REDACTED}`,
  );
}

/** Masks the passwords in URLs and after `-u`. */
function hideCredentials(text: string): string {
  return text
    .replaceAll(URL_PASSWORD, (_, before: string) => `${before}${REDACTED}@`)
    .replaceAll(URL_KEY, (_, before: string) => `${before}${REDACTED}@`)
    .replaceAll(USER_PASSWORD, (_, before: string) => `${before}${REDACTED}`)
    .replaceAll(QUOTED_USER_PASSWORD, (_, before: string) => `${before}${REDACTED}`);
}

/** What looks like a key outside of a command has at least one of these. */
const PARTS_OF_KEYS = [':', '=', '-', '_', 'Bearer', 'Basic', 'AKIA'];

/** Whether a text has anything that one of the patterns begins with. */
const MAY_HAVE_KEY = new RegExp(
  String.raw`${SECRET_WORD}|\b(?:Bearer|Basic)\s|\b(?:sk|pk|ghp|gho|github_pat|glpat|xox[abp])[-_]|\bAKIA|:\/\/(?:[^\s/]{0,256}|[^\s@]{0,256})@|-u(?:ser)?[\s=]`,
  'i',
);

/** `https://bob:secret@host`; the password may have an `@` or a `/` of its own, but a number and `/` are a port and a path. */
const URL_PASSWORD = /(\w:\/\/[^\s/:@]*:)(?:[^\s/]{1,256}|(?!\d{1,5}\/)[^\s@]{1,256})@/g;

/** `https://0f9e8d7c6b5a4f3e@host`: a key in the place of the user. */
const URL_KEY = /(\w:\/\/)(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{16,}@/g;

/** A flag of curl and others, and its value. The numbers of a user and a group are not secret, nor is a variable or a path. */
const USER_FLAG = /^(?:-[uU]|--(?:proxy-)?user)$/;
const USER = String.raw`(?!\d+:)[\w.@][\w.@+-]*:`;
const USER_AND_PASSWORD = new RegExp(`^(${USER})(.+)$`);
const AFTER_FLAG = String.raw`(?<![\w-])(?:-[uU]|--(?:proxy-)?user)[ \t=]+`;
const USER_PASSWORD = new RegExp(String.raw`(${AFTER_FLAG}${USER})(?![$/~\\<])[^\s"'&;|)<>\\]+`, 'g');
const QUOTED_USER_PASSWORD = new RegExp(
  String.raw`(${AFTER_FLAG}(["'])${USER})(?![$/~\\<])(?:(?!\2)[^\n])+`,
  'g',
);

/** `--api-key abc`, `TOKEN=abc`, `password: abc`. A reference to a variable is not a secret. */
const SECRET_ASSIGNED = new RegExp(
  String.raw`(${SECRET_WORD}[\w-]{0,256})(["']?(?:\s*[=:]\s*|\s+)["']?)(?![\s$<"'(-])[^\s"'&;|)]{6,}`,
  'gi',
);

/** A value with letters and digits that is neither an identifier nor a call. A line that ends with a name assigns nothing. */
const KEY_ASSIGNED = new RegExp(
  String.raw`(${SECRET_WORD}[\w-]{0,256})(["']?[ \t]*[=:]\s*["']?)(?=[\w+/-]*\d)(?=[\w+/-]*[a-z])[\w+/-]{8,}(?![\w+/.([-])`,
  'gi',
);

/** What is masked in code and prose. */
const KEYS = [SECRET_VALUES, URL_PASSWORD, URL_KEY, USER_PASSWORD, QUOTED_USER_PASSWORD, KEY_ASSIGNED];

/** The end of a text in which a key may have begun: `Bearer ab`, `API_KEY=`, `https://bob:`, or any word. */
export const UNFINISHED_KEY: RegExp = new RegExp(
  String.raw`(?:(?:Bearer|Basic)\s+[\w+/=.~-]*|${SECRET_WORD}[\w-]*["']?[ \t]*(?:[=:]\s*["']?[\w+/-]*)?|\w:(?:/?/?[^\s@]*|//[^\s/]*)|-(?:-proxy-|-)?u(?:ser)?[ \t=]+(?:"[^"\n]*|'[^'\n]*|[^\s"'&;|)<>\\]*)|[\w-]+)$`,
  'i',
);

/** The last place up to `at` that is neither in a word nor in what looks like a key. */
export function startOfKey(text: string, at: number): number {
  const found = mayHaveKey(text) ? KEYS.flatMap((pattern) => Array.from(text.matchAll(pattern))) : [];
  for (let [start, before] = [at, -1]; ; before = start) {
    start -= /[\w-]*$/.exec(text.slice(0, start))?.[0].length ?? 0;
    for (const { index, 0: key } of found) if (index < start && index + key.length > start) start = index;
    if (start === before) return start;
  }
}

/** Whether a text contains what is almost certainly a key. */
export function hasKey(text: string): boolean {
  return SECRET_VALUE.test(text);
}

/** The name of a secret environment variable whose value the text contains; null if there is none. */
export function secretIn(text: string, env: Readonly<Record<string, string>>): string | null {
  for (const [name, value] of Object.entries(env)) {
    if (isSecret(name, value) && text.includes(value)) return name;
  }
  return null;
}

/** A text without secrets, for logs, prompts and reports. */
export function masked(text: string, env: Readonly<Record<string, string>>): string {
  return hideValuesAndKeys(text, secretValues(env));
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
