import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CommandGuard, jsonWithoutCommands, obeysCommands, withoutCommands } from './workflow-commands.ts';

/** As the runner of GitHub parses a line, with the comparison that ignores invisible characters. */
function isCommand(line: string): boolean {
  const compared = line.trimStart().replaceAll(/[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}]/gu, '');
  return /^\s*::.*::/.test(compared) || /##(?:vso)?\[.*\]/i.test(compared);
}

const commands = (text: string): readonly string[] => text.split(/\r\n|\r|\n/).filter(isCommand);

const HOSTILE = [
  '::add-mask::a',
  'said\n  ::stop-commands::token\n',
  'over\r::error file=x::y',
  '\t\u00A0\u3000\u0085::warning::x',
  '\u200B:\u200B:set-output name=x::y',
  'in the middle ##[add-mask]a',
  '#\u2060#\u00AD[error]x',
  'x ##vso[task.setvariable variable=a]b ##VSO[task.complete]',
  'x ###[error]y',
];

describe('the output of others in a CI job', () => {
  it.each(HOSTILE)('gives no commands to the runner: %j', (text) => {
    expect(commands(text)).not.toEqual([]);
    expect(commands(withoutCommands(text))).toEqual([]);
    expect(withoutCommands(text).replaceAll('\\', '')).toBe(text);
  });

  it('shows where a command would have been', () => {
    expect(withoutCommands('a\n  ::add-mask::x\n##[error]y ##vso[a.b]c\n')).toBe(
      'a\n  \\::add-mask::x\n##\\[error]y ##vso\\[a.b]c\n',
    );
  });

  it.each(['std::vector::at', 'a: b', '# Heading', '## Heading [link](x)', ' :: ', 'C#[0]', ''])(
    'changes nothing else: %j',
    (text) => {
      expect(withoutCommands(text).replace('\\::', '::')).toBe(text);
    },
  );

  it('gives none wherever the stream is cut', () => {
    const text = HOSTILE.join('\n');
    fc.assert(
      fc.property(fc.array(fc.nat({ max: text.length })), (cuts) => {
        const guard = new CommandGuard();
        let at = 0;
        let shown = '';
        for (const cut of [...cuts.toSorted((a, b) => a - b), text.length]) {
          shown += guard.read(text.slice(at, cut));
          at = cut;
        }
        shown += guard.end();
        expect(shown).toBe(withoutCommands(text));
      }),
    );
  });

  it('holds back nothing at the end, and half a command cannot be completed later', () => {
    const guard = new CommandGuard();
    const shown = guard.read('::') + guard.read('x\n:') + guard.end() + guard.read(':add-mask::x\n');
    expect(commands(shown)).toEqual([]);
  });

  it('in JSON gives none, and the meaning is the same', () => {
    const value = { a: HOSTILE.join('\n'), b: 'C:\\##[x] ##vso[y]' };
    const json = jsonWithoutCommands(JSON.stringify(value, null, 2));
    expect(commands(json)).toEqual([]);
    expect(JSON.parse(json)).toEqual(value);
  });

  it.each([
    [{ GITHUB_ACTIONS: 'true' }, true],
    [{ TF_BUILD: 'True' }, true],
    [{ CI: 'true' }, false],
  ])('%j', (env, obeys) => {
    expect(obeysCommands(env)).toBe(obeys);
  });
});
