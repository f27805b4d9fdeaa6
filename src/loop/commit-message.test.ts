import { describe, expect, it } from 'vitest';
import { commitMessage, plainMessage, withoutClaims } from './commit-message.ts';

describe('commitMessage', () => {
  it.each([
    ['takes the first line that is not blank', '\n\n  Fix parser  \nbecause…', 'Fix parser'],
    ['takes the content of the tag', 'Sure!\n<response>Fix parser</response>', 'Fix parser'],
    [
      'accepts a tag in any case, over several lines',
      'x <RESPONSE>\n\nFix parser\nand more\n</Response>',
      'Fix parser\n\nand more',
    ],
    ['takes the first of several tags', '<response>One</response><response>Two</response>', 'One'],
    ['skips a code fence', '```text\nFix parser\n```', 'Fix parser'],
    ['skips lines of JSON', '{"type":"system"}\n[1]\nFix parser', 'Fix parser'],
    ['finds a tag in JSON', '{"type":"result","result":"<response>Fix parser</response>"}', 'Fix parser'],
    ['keeps quotes and shell syntax', '"Fix $(touch x)" `now` \'it\'', '"Fix $(touch x)" `now` \'it\''],
    ['keeps a leading dash and a hash', '--amend # all', '--amend # all'],
    [
      'removes colours and control characters',
      '\u001B[1;32mFix\u001B[0m\u0007 the\tparser\u0000',
      'Fix the parser',
    ],
    ['accepts any line ends', '\r\n\rFix parser\r\nmore', 'Fix parser'],
    [
      'keeps the body after a blank line, with its indentation',
      'Fix parser\n\nIt read\u0007 one token too many:\n  - at the end  \n\n\n\nFixes #12\n\n',
      'Fix parser\n\nIt read one token too many:\n  - at the end\n\nFixes #12',
    ],
    ['ends the body at a code fence', '```\nFix parser\n\nWhy\n```\nAnything else?', 'Fix parser\n\nWhy'],
    ['leaves JSON out of the body', 'Fix parser\n\n{"type":"result"}\nWhy', 'Fix parser\n\nWhy'],
    ['keeps braces that are not JSON', '{scope} Fix parser}', '{scope} Fix parser}'],
  ])('S2.66 %s', (_, answer, message) => {
    expect(commitMessage(answer)).toBe(message);
  });

  it.each([
    ['an empty answer', ''],
    ['blanks', ' \n\t\r\n'],
    ['code fences', '```\n```'],
    ['an empty tag', 'Fix parser <response>\n</response>'],
    ['JSON', '{"type":"result","subtype":"success"}'],
  ])('S2.66 S2.102 finds no message in %s', (_, answer) => {
    expect(commitMessage(answer)).toBeNull();
  });

  it('S2.66 takes only the first line without a tag, where document 001 asks for that', () => {
    expect(commitMessage('\n\nFix parser\n\nIt read too much.\n', 'first-line')).toBe('Fix parser');
    expect(commitMessage('<response>Fix parser\n\nWhy</response>', 'first-line')).toBe('Fix parser\n\nWhy');
  });

  it('is limited in length and never cuts a character', () => {
    expect(commitMessage('😀'.repeat(5000))).toBe('😀'.repeat(1000));
    const body = commitMessage(`Fix\n\n${'😀'.repeat(500)}\n`.repeat(100))?.slice('Fix\n\n'.length) ?? '';
    expect(Array.from(body).length).toBeLessThanOrEqual(4000);
    expect(body).not.toContain('\uFFFD');
    expect(commitMessage(`Fix\n\n${'a\n'.repeat(900)}`)?.split('\n')).toHaveLength(51);
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
