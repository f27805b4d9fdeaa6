import { describe, expect, it } from 'vitest';
import { commitMessage, plainMessage, withoutClaims } from './commit-message.ts';

describe('commitMessage', () => {
  it.each([
    ['the first line that is not blank', '\n\n  Fix parser  \nbecause…', 'Fix parser'],
    ['what is in the tag', 'Sure!\n<response>Fix parser</response>', 'Fix parser'],
    ['in any case, over several lines', 'x <RESPONSE>\n\nFix parser\nand more\n</Response>', 'Fix parser'],
    ['the first of several tags', '<response>One</response><response>Two</response>', 'One'],
    ['behind a fence', '```text\nFix parser\n```', 'Fix parser'],
    ['behind a line of JSON', '{"type":"system"}\n[1]\nFix parser', 'Fix parser'],
    ['a tag in JSON', '{"type":"result","result":"<response>Fix parser</response>"}', 'Fix parser'],
    ['everything else as it stands', '"Fix $(touch x)" `now` \'it\'', '"Fix $(touch x)" `now` \'it\''],
    ['also a dash and a hash', '--amend # all', '--amend # all'],
    ['no colours and no bells', '\u001B[1;32mFix\u001B[0m\u0007 the\tparser\u0000', 'Fix the parser'],
    ['with line ends of any kind', '\r\n\rFix parser\r\nmore', 'Fix parser'],
    ['braces that are no JSON', '{scope} Fix parser}', '{scope} Fix parser}'],
  ])('S2.66 is %s', (_, answer, message) => {
    expect(commitMessage(answer)).toBe(message);
  });

  it.each([
    ['nothing', ''],
    ['blanks', ' \n\t\r\n'],
    ['fences', '```\n```'],
    ['an empty tag', 'Fix parser <response>\n</response>'],
    ['JSON', '{"type":"result","subtype":"success"}'],
  ])('S2.66 S2.102 is none in %s', (_, answer) => {
    expect(commitMessage(answer)).toBeNull();
  });

  it('is limited in length and never cuts a character', () => {
    expect(commitMessage('😀'.repeat(5000))).toBe('😀'.repeat(1000));
  });
});

describe('withoutClaims', () => {
  it('removes the repeated claim and nothing else', () => {
    const said = 'Fix it <response> done\n</response><PROMISE>DONE</PROMISE><response>Fix</response>';
    expect(withoutClaims(said, ['DONE'])).toBe('Fix it <response>Fix</response>');
    expect(withoutClaims('<response>DONE</response>', ['FIN'])).toBe('<response>DONE</response>');
  });
});

describe('plainMessage', () => {
  it('has the first line of the task as its subject, cut to 72 characters, and the iteration in its body', () => {
    expect(plainMessage('\n  Fix the parser\nand more', 'it', 3)).toBe(
      'Fix the parser\n\nIteration 3 of the loop it.',
    );
    const [subject = ''] = plainMessage('😀'.repeat(100), 'it', 1).split('\n');
    expect(subject).toBe(`${'😀'.repeat(71)}…`);
  });

  it('names the loop if the task is in a file', () => {
    expect(plainMessage(null, 'it', 1)).toBe('ralph: it\n\nIteration 1 of the loop it.');
    expect(plainMessage(' \n ', 'it', 1)).toBe('ralph: it\n\nIteration 1 of the loop it.');
  });
});
