import { hideKeys, hideLikelyKeys, hideSecrets, redact } from '../control/spec.ts';

export { hideKeys, hideLikelyKeys } from '../control/spec.ts';

/** Words as they may be told to others. */
export function masked(text: string, env: Readonly<Record<string, string>>): string {
  return hideLikelyKeys(hideSecrets(text, env));
}

/** A value as it may be shown: no secrets of the environment, nothing that looks like a key. */
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
