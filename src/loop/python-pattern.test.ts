import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { translatePattern } from './python-pattern.ts';

const raw = String.raw;

/** A pattern, texts in which Python finds it, texts in which it does not. */
type Accepted = readonly [pattern: string, found: readonly string[], missed: readonly string[]];

const ACCEPTED: readonly Accepted[] = [
  // Plain text and the characters that are special in one language only.
  ['', ['', 'a'], []],
  ['DONE', ['DONE', 'x DONE y'], ['done', 'DON E']],
  ['a/b', ['a/b'], ['ab']],
  ['a{', ['a{'], ['a']],
  ['{x}', ['{x}'], ['x']],
  ['a{}', ['a{}'], ['a']],
  ['a{1', ['a{1'], ['a1']],
  ['a{1,x}', ['a{1,x}'], ['a']],
  [']}', [']}'], ['}]']],
  ['-#~&', ['-#~&'], ['-']],
  ['é✓😀', ['é✓😀'], ['é✓']],
  // Anchors and the dot: only \n ends a line.
  ['^a$', ['a', 'a\n'], ['a\n\n', 'b\na', 'a\r', 'a\u2028']],
  [raw`\Aa\Z`, ['a'], ['a\n', 'ba']],
  ['(?m)^a$', ['a', 'b\na\nc', 'a\n'], ['b\ra', 'a\rb', 'a\u2028', '\u2029a']],
  [raw`(?m)\Aa\Z`, ['a'], ['b\na', 'a\nb']],
  ['(?m)^$', ['', 'a\n\nb', 'a\n'], ['😀', 'a\r\rb']],
  ['^a.b$', ['a\rb', 'a\u2028b', 'a😀b'], ['a\nb']],
  ['(?s)^a.b$', ['a\nb', 'a\rb'], ['a\n\nb']],
  [raw`\bdone\b`, ['done', 'is done.'], ['undone', 'done_']],
  [raw`\bготово\b`, ['всё готово!'], ['неготово']],
  [raw`^\w+\d$`, ['naïve٣', 'été1'], ['a-1', 'a½']],
  [raw`^\W\D[^\w\d]$`, ['-é!'], ['é-!', '--é', '-٣!']],
  [raw`x\By`, ['xy'], ['x y']],
  // Flags.
  ['(?i)done', ['DONE', 'Done'], ['dune']],
  ['(?ims)^a.b$', ['x\nA\nB\ny'], ['xA\nB']],
  ['(?i)(?m)^a', ['x\nA'], ['xA']],
  ['(?a)a', ['a'], ['b']],
  ['(?u)a', ['a'], ['b']],
  ['(?#why)(?i)a', ['A'], ['b']],
  ['(?x) a b # c\n d', ['abd'], ['a b', 'abcd']],
  [raw`(?x) a\ b [ ] \# [#]`, ['a b ##'], ['ab##']],
  ['(?x)a # c', ['a'], ['c']],
  ['(?x)a #\\\nb\nc', ['ac'], ['abc']],
  ['(?x) a {2}', ['aa'], ['a{2}']],
  ['(?x) (?i) a', ['A'], ['b']],
  // Quantifiers.
  ['^a*b+c?$', ['b', 'aabbc'], ['a', 'bcc']],
  ['^a{2}$', ['aa'], ['a', 'aaa']],
  ['^a{,2}$', ['', 'aa'], ['aaa']],
  ['^a{2,}$', ['aa', 'aaaa'], ['a']],
  ['^a{,}$', ['', 'aaa'], ['b']],
  ['^a{01,2}$', ['a', 'aa'], ['', 'aaa']],
  ['^(?:a*?b+?c??d{1,2}?)$', ['bd', 'aabbcdd'], ['ad']],
  ['a(?#one)*b', ['b', 'aab'], ['a']],
  ['(?=a)*b', ['b'], ['a']],
  ['(?<!a){1,2}b', ['b', 'cb'], ['ab']],
  ['^(?:^)*a', ['a'], ['b']],
  ['^😀{2}$', ['😀😀'], ['😀']],
  // Groups.
  ['^(a|b)c|d$', ['ac', 'bc', 'xd'], ['c']],
  ['^()(?:)$', [''], ['a']],
  ['(?P<tag>a+)-(?P=tag)!', ['aa-aa!', 'aaa-a!'], ['aa-ab!']],
  ['(?P<é>a)(?P=é)', ['aa'], ['a']],
  [raw`(a)(b)\2\1`, ['abba'], ['abab']],
  [raw`(a)\1(?#x)0`, ['aa0'], ['a0']],
  [raw`(?:(a)|(b)\2)`, ['a', 'bb'], ['b']],
  [raw`(?=(a))\1b`, ['ab'], ['b']],
  ['a(?=b)', ['ab'], ['ac']],
  ['a(?!b)', ['ac'], ['ab']],
  ['(?<=a)b', ['ab'], ['cb']],
  ['(?<!a)b', ['cb'], ['ab']],
  [raw`a(?#b\)c)d`, ['ad'], ['abcd']],
  // Classes.
  ['^[]a]+$', [']a'], ['b']],
  ['^[^]a]+$', ['b\n'], [']', 'a']],
  ['^[[a]+$', ['[a'], [']']],
  ['^[a^]+$', ['a^'], ['b']],
  ['^[-a]+$', ['-a'], ['b']],
  ['^[a-]+$', ['-a'], ['b']],
  ['^[a-c-e]+$', ['b-e'], ['d']],
  ['^[--/]+$', ['-./'], [',']],
  [raw`^[\w-]+$`, ['a-1_'], ['+']],
  [raw`^[\]\\\-\[]+$`, [']\\-['], ['a']],
  [raw`^[\b]$`, ['\b'], ['b']],
  ['^[a&&b||c~~d]+$', ['a&b|c~d'], ['e']],
  ['^[$.*(){}]+$', ['$.*(){}'], ['a']],
  ['^[🎉✅]$', ['🎉', '✅'], ['🎈']],
  ['^[😀-😂]$', ['😁'], ['😃']],
  ['^[^a]$', ['😀'], ['a']],
  [raw`^[\x41-\u0043\104]+$`, ['ABCD'], ['E']],
  // Escapes.
  [raw`^\d\D\w\W\s\S$`, ['1aa- a'], ['aaa- a']],
  [raw`^\.\*\-\/\_\é\"$`, ['.*-/_é"'], ['a']],
  [raw`^\a\f\n\r\t\v\\$`, ['\u0007\f\n\r\t\v\\'], ['a']],
  [raw`^\x41\u0042\U00000043$`, ['ABC'], ['abc']],
  [raw`^\U0001F600+$`, ['😀😀'], ['😃']],
  [raw`^\0$`, ['\0'], ['0']],
  [raw`^\012\101$`, ['\nA'], ['A']],
  [raw`^\08$`, ['\u00008'], ['8']],
  [raw`\ud83d\ude00`, [], ['😀']],
];

/** A pattern, the error message, and the position. */
type Rejected = readonly [pattern: string, message: string, position: number];

const REJECTED: readonly Rejected[] = [
  ['a(b', 'this group has no closing )', 1],
  ['(a(?:b', 'this group has no closing )', 2],
  ['(?=a', 'this group has no closing )', 0],
  ['a)b', 'unbalanced ): no group is open', 1],
  ['😀)', 'unbalanced ): no group is open', 2],
  ['a[b', 'this character class has no closing ]', 1],
  ['[]', 'this character class has no closing ]', 0],
  ['[^]', 'this character class has no closing ]', 0],
  ['[a-', 'this character class has no closing ]', 0],
  ['*a', 'nothing to repeat', 0],
  ['a|+', 'nothing to repeat', 2],
  ['(?:{2})', 'nothing to repeat', 3],
  ['^*', 'nothing to repeat', 1],
  [raw`\b+`, 'nothing to repeat', 2],
  ['(?i)?', 'nothing to repeat', 4],
  ['a**', 'multiple repeat: this already has a quantifier', 2],
  ['a*??', 'multiple repeat: this already has a quantifier', 3],
  ['a{2}{3}', 'multiple repeat: this already has a quantifier', 4],
  ['(?x)a+ ?', 'multiple repeat: this already has a quantifier', 7],
  ['a*+', 'possessive quantifiers (*+ ++ ?+ {…}+) are not supported', 1],
  ['ba{2}+', 'possessive quantifiers (*+ ++ ?+ {…}+) are not supported', 2],
  ['a{3,2}', 'the minimum number of repetitions exceeds the maximum: {3,2}', 2],
  ['a{4294967295}', 'the number of repetitions is too large', 2],
  ['[z-a]', 'bad character range z-a', 1],
  [raw`[b\w-a]`, raw`bad character range \w-a`, 2],
  [raw`[a-\d]`, raw`bad character range a-\d`, 1],
  [raw`[\x62-\x61]`, raw`bad character range \x62-\x61`, 1],
  ['ab\\', 'the pattern ends with a lone backslash; write \\\\ for a backslash', 2],
  ['[\\', 'the pattern ends with a lone backslash; write \\\\ for a backslash', 1],
  ['(?#\\', 'the pattern ends with a lone backslash; write \\\\ for a backslash', 3],
  [raw`a\q`, raw`bad escape \q`, 1],
  [raw`[\A]`, raw`bad escape \A`, 1],
  [raw`[\8]`, raw`bad escape \8`, 1],
  [raw`a\x4`, raw`incomplete escape \x4: it takes 2 digits`, 1],
  [raw`\u12g4`, raw`incomplete escape \u12: it takes 4 digits`, 0],
  [raw`[\U0001F60]`, raw`incomplete escape \U0001F60: it takes 8 digits`, 1],
  [raw`\U00110000`, raw`bad escape \U00110000: there is no such character`, 0],
  [raw`\400`, raw`octal escape \400 is beyond \377`, 0],
  [raw`[\777]`, raw`octal escape \777 is beyond \377`, 1],
  [raw`a\N{DASH}`, raw`\N{…} is not supported; write the character itself or \uXXXX`, 1],
  [raw`a\1`, 'there is no group 1 before this', 2],
  [raw`(a)\18`, 'there is no group 18 before this', 4],
  [raw`\1(a)`, 'there is no group 1 before this', 1],
  [raw`(a\1)`, 'a group cannot refer to itself while it is open', 2],
  ['(?P<a>(?P=a))', 'a group cannot refer to itself while it is open', 10],
  [raw`(?<=(a)\1)`, 'a look-behind cannot refer to a group inside itself', 9],
  [raw`(a)?\1`, 'a reference to a group that may not have matched is not supported', 4],
  [raw`(a)|\1`, 'a reference to a group that may not have matched is not supported', 4],
  [raw`(?:(a)|(b))\2`, 'a reference to a group that may not have matched is not supported', 11],
  [raw`(?!(a))\1`, 'a reference to a group that may not have matched is not supported', 7],
  ['(?P<a>x){,3}(?P=a)', 'a reference to a group that may not have matched is not supported', 16],
  ['(?P=x)', 'there is no group named x before this', 4],
  ['(?P=x', 'missing ) after the group name', 4],
  ['(?P<x', 'missing > after the group name', 4],
  ['(?P<>a)', 'missing group name', 4],
  ['(?P<1a>a)', 'bad group name 1a: it takes letters, digits and _', 4],
  ['(?P<a-b>a)', 'bad group name a-b: it takes letters, digits and _', 4],
  ['(?P<$>a)', 'bad group name $: it takes letters, digits and _', 4],
  ['(?P<a>b)(?P<a>c)', 'there is already a group named a', 12],
  ['(?Px)', 'unknown extension ?Px', 1],
  ['(?P', 'unexpected end of pattern', 3],
  ['(?', 'unexpected end of pattern', 2],
  ['(?<', 'unexpected end of pattern', 3],
  ['a(?<n>b)', 'unknown extension ?<n; a named group is (?P<name>…)', 2],
  ['(?z)', 'unknown extension ?z', 1],
  ['(?*a)', 'unknown extension ?*', 1],
  ['a(?#b', 'this comment has no closing )', 1],
  ['a(?i)', 'global flags not at the start of the pattern', 1],
  ['((?i)a)', 'global flags not at the start of the pattern', 1],
  ['a|(?m)b', 'global flags not at the start of the pattern', 2],
  ['(?L)a', 'the flag L is for bytes, not for text', 3],
  ['(?au)a', 'the flags a and u exclude each other', 4],
  ['(?iz)a', 'unknown flag z', 3],
  ['(?im', 'missing ) after the flags', 4],
  ['a(?i:b)', 'flags for a part of the pattern are not supported; put (?i) at the start', 1],
  ['(?s-i:b)', 'flags for a part of the pattern are not supported; put (?s) at the start', 0],
  ['(?-i:b)', 'flags for a part of the pattern are not supported', 0],
  ['a(?>b)', 'atomic groups (?>…) are not supported', 1],
  ['(a)(?(1)b|c)', 'conditional groups (?(…)…) are not supported', 3],
];

describe('a pattern in Python’s syntax', () => {
  it.each(ACCEPTED)('%j finds what Python finds', (pattern, found, missed) => {
    const expression = compile(pattern);
    for (const text of found) expect.soft(expression.test(text), JSON.stringify(text)).toBe(true);
    for (const text of missed) expect.soft(expression.test(text), JSON.stringify(text)).toBe(false);
  });

  it.each(REJECTED)('%j is rejected', (pattern, message, position) => {
    expect(translatePattern(pattern)).toEqual({ ok: false, message, position });
  });

  it('keeps the names of its groups', () => {
    expect(compile('(?P<word>a+)(b)').exec('xaab')?.groups).toEqual({ word: 'aa' });
  });

  it('needs only the flags u and i', () => {
    expect(translatePattern('(?imsxa).')).toEqual({ ok: true, source: raw`[\s\S]`, flags: 'iu' });
    expect(translatePattern('.')).toEqual({ ok: true, source: raw`[^\n]`, flags: 'u' });
  });

  it('may be nested 1000 deep', () => {
    expect(compile(nested(1000)).test('a'.repeat(1000))).toBe(true);
  });

  it('is rejected if nested deeper', () => {
    const message = 'more than 1000 groups are not supported';
    expect(translatePattern(nested(1001))).toEqual({ ok: false, message, position: 2000 });
  });

  it('is always either a valid expression or rejected at a position inside of it', () => {
    const character = fc.constantFrom(
      ...Array.from('ab01()[]{}|*+?.^$\\-,:=!<>#P &nxdwsbBAZuUNiLm\n_é😀/\u2028\ud83d'),
    );
    const construct = fc.constantFrom(
      ...raw`(? (?: (?P<a> (?P=a) (?= (?! (?<= (?<! (?i) (?x) (?# [^ a-z {2} {,3}`.split(' '),
      ...raw`\1 \2 \x41 \u0041 \U0001F600 \101`.split(' '),
    );
    const pattern = fc
      .array(fc.oneof(character, construct), { maxLength: 16 })
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(pattern, (source) => {
        expect(isValidOrRejected(source)).toBe(true);
      }),
      { numRuns: 5000 },
    );
  });
});

function compile(pattern: string): RegExp {
  const translation = translatePattern(pattern);
  if (!translation.ok) throw new Error(`${translation.message} at ${translation.position}`);
  return new RegExp(translation.source, translation.flags);
}

function nested(depth: number): string {
  return '(a'.repeat(depth) + ')'.repeat(depth);
}

/** Throws if `RegExp` does not accept the translation. */
function isValidOrRejected(pattern: string): boolean {
  const translation = translatePattern(pattern);
  if (translation.ok) return new RegExp(translation.source, translation.flags) instanceof RegExp;
  return translation.position >= 0 && translation.position <= pattern.length;
}
