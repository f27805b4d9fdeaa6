import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AgentCall } from '../agents/agent.ts';

/** Whether an agent is logged in, as far as its files and the environment show it without a request. */
export function loginOf({ credentials, login }: AgentCall, env: Readonly<Record<string, string>>): Login {
  const variable = credentials.find((name) => (env[name] ?? '') !== '');
  if (variable !== undefined) return { state: 'key', variable };
  if (login === null) return { state: 'unknown' };
  const { folder, path, isOnlyPlace } = login;
  const named = folder.variable === null ? '' : (env[folder.variable] ?? '');
  const file = join(named === '' ? join(env['HOME'] ?? '', folder.below) : named, path);
  if (hasEntries(file)) return { state: 'logged in' };
  return { state: isOnlyPlace ? 'not logged in' : 'unknown' };
}

export type Login =
  | { readonly state: 'logged in' | 'not logged in' | 'unknown' }
  /** An environment variable holds the credentials. */
  | { readonly state: 'key'; readonly variable: string };

/** Some agents leave an empty object behind when the user logs out. */
function hasEntries(file: string): boolean {
  try {
    const content: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return typeof content === 'object' && content !== null && Object.keys(content).length > 0;
  } catch {
    return false;
  }
}
