/**
 * Globs for paths relative to the workspace: `*` and `?` within a name, `[a-z]` and `[!a-z]`, `{a,b}`, and `**` for any
 * number of folders. A name that begins with a dot is a name like any other. A pattern that matches a folder matches
 * everything in it.
 *
 * 1. Matching takes at most time proportional to the product of both lengths: no pattern can hang the loop.
 * 2. A pattern that could not mean what it says is a problem, not a pattern that matches nothing.
 */

/** Whether a path matches one of the patterns, which must be valid. */
export function globMatcher(patterns: readonly string[]): (path: string) => boolean {
  const compiled = patterns.flatMap((pattern) => expand(normal(pattern)) ?? []).map(compile);
  return (path) => {
    const names = path.split('/');
    return compiled.some((segments) => matchesPath(segments, names));
  };
}

/** Why a pattern is not valid; null if it is. */
export function globProblem(pattern: string): string | null {
  if (pattern.trim() === '') return 'a pattern must not be empty';
  if (pattern.length > MAX_LENGTH) return `a pattern must have at most ${MAX_LENGTH} characters`;
  if (pattern.includes('\0')) return 'a pattern must not contain NUL';
  if (pattern.startsWith('!')) return 'patterns cannot be negated';
  if (pattern.startsWith('/')) return 'a pattern is relative to the workspace, without a leading /';
  if (pattern.split('/').includes('..')) return 'a pattern must not lead out of the workspace (..)';
  if (normal(pattern) === '') return 'a pattern must name a file, a folder or **';
  const expanded = expand(normal(pattern));
  if (expanded === null) return `braces must be balanced and give at most ${MAX_ALTERNATIVES} patterns`;
  return expanded.some((one) => one.split('/').some((name) => name !== '**' && !isClosed(name)))
    ? 'a [ must be closed by ]'
    : null;
}

/** `./test/` is `test`. */
function normal(pattern: string): string {
  return pattern
    .split('/')
    .filter((name) => name !== '' && name !== '.')
    .join('/');
}

const MAX_ALTERNATIVES = 100;
/** Reading nested braces takes time proportional to the square of the length. */
const MAX_LENGTH = 4096;

/** `{a,b}/c` is `a/c` and `b/c`; null if the braces are not balanced or there are too many alternatives. */
function expand(pattern: string): readonly string[] | null {
  let open: readonly string[] = [pattern];
  const done: string[] = [];
  while (open.length > 0) {
    const next: string[] = [];
    for (const one of open) {
      const parts = firstBraces(one);
      if (parts === null) return null;
      if (parts === 'none') done.push(one);
      else next.push(...parts);
    }
    if (next.length + done.length > MAX_ALTERNATIVES) return null;
    open = next;
  }
  return done;
}

/** The alternatives of the first pair of braces. */
function firstBraces(pattern: string): readonly string[] | 'none' | null {
  const start = plainIndex(pattern, '{', 0);
  if (start < 0) return plainIndex(pattern, '}', 0) < 0 ? 'none' : null;
  const commas: number[] = [];
  let depth = 0;
  for (let at = start; at < pattern.length; at++) {
    const char = pattern[at];
    if (char === '\\') at++;
    else if (char === '{') depth++;
    else if (char === ',' && depth === 1) commas.push(at);
    else if (char === '}' && --depth === 0) {
      const cuts = [start, ...commas, at];
      return cuts
        .slice(0, -1)
        .map(
          (cut, index) =>
            pattern.slice(0, start) + pattern.slice(cut + 1, cuts[index + 1]) + pattern.slice(at + 1),
        );
    }
  }
  return null;
}

/** Where a character stands that no backslash escapes; -1 if nowhere. */
function plainIndex(text: string, wanted: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === wanted) return at;
  }
  return -1;
}

type Segment = 'folders' | readonly Token[];

/** A character, any character, any number of them, or one of a set. */
type Token =
  | { readonly is: 'char'; readonly char: string }
  | { readonly is: 'any' }
  | { readonly is: 'many' }
  | {
      readonly is: 'set';
      readonly negated: boolean;
      readonly ranges: readonly (readonly [string, string])[];
    };

function compile(pattern: string): readonly Segment[] {
  // Empty alternatives leave empty names: `{,a/}b`.
  const names = normal(pattern).split('/');
  return names.map((name) => (name === '**' ? 'folders' : tokens(name)));
}

function isClosed(name: string): boolean {
  for (let at = 0; at < name.length; at++) {
    if (name[at] === '\\') at++;
    else if (name[at] === '[') {
      const end = endOfSet(name, at);
      if (end < 0) return false;
      at = end;
    }
  }
  return true;
}

/** A `]` right after the beginning is a member of the set. */
function endOfSet(name: string, start: number): number {
  const first = /[!^]/.test(name[start + 1] ?? '') ? start + 2 : start + 1;
  return name.indexOf(']', first + 1);
}

function tokens(name: string): readonly Token[] {
  const found: Token[] = [];
  for (let at = 0; at < name.length; at++) {
    const char = name[at] ?? '';
    if (char === '\\' && at + 1 < name.length) found.push({ is: 'char', char: name[++at] ?? '' });
    else if (char === '*') {
      if (found.at(-1)?.is !== 'many') found.push({ is: 'many' });
    } else if (char === '?') found.push({ is: 'any' });
    else if (char === '[') {
      const end = endOfSet(name, at);
      found.push(setIn(name.slice(at + 1, end)));
      at = end;
    } else found.push({ is: 'char', char });
  }
  return found;
}

function setIn(text: string): Token {
  const negated = /^[!^]/.test(text);
  const body = negated ? text.slice(1) : text;
  const ranges: (readonly [string, string])[] = [];
  for (let at = 0; at < body.length; at++) {
    const first = body[at] ?? '';
    const isRange = body[at + 1] === '-' && at + 2 < body.length;
    ranges.push([first, isRange ? (body[at + 2] ?? '') : first]);
    if (isRange) at += 2;
  }
  return { is: 'set', negated, ranges };
}

/** Which beginnings of the path each beginning of the pattern matches, one segment at a time. */
function matchesPath(segments: readonly Segment[], names: readonly string[]): boolean {
  let reached: readonly boolean[] = names.map((_, at) => at === 0).concat(names.length === 0);
  for (const segment of segments) {
    const next = Array.from({ length: names.length + 1 }, () => false);
    for (let at = 0; at <= names.length; at++) {
      if (segment === 'folders') next[at] = reached[at] === true || (at > 0 && next[at - 1] === true);
      else if (at < names.length && reached[at] === true)
        next[at + 1] = matchesName(segment, names[at] ?? '');
    }
    reached = next;
  }
  // A pattern that matches a folder matches everything in it.
  return reached.some((isReached, at) => isReached && at > 0);
}

/** Goes back only to the last `*`, which is enough: an earlier one gains nothing. */
function matchesName(pattern: readonly Token[], name: string): boolean {
  let [at, token] = [0, 0];
  let back: readonly [number, number] | null = null;
  while (at < name.length) {
    const current = pattern[token];
    if (current?.is === 'many') {
      back = [at, token];
      token++;
    } else if (current !== undefined && accepts(current, name[at] ?? '')) {
      at++;
      token++;
    } else if (back !== null) {
      back = [back[0] + 1, back[1]];
      [at, token] = [back[0], back[1] + 1];
    } else return false;
  }
  return pattern.slice(token).every(({ is }) => is === 'many');
}

function accepts(token: Token, char: string): boolean {
  if (token.is === 'char') return token.char === char;
  if (token.is !== 'set') return true;
  return token.ranges.some(([from, to]) => char >= from && char <= to) !== token.negated;
}
