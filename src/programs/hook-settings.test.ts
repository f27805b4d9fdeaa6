import {
  array,
  assert,
  boolean,
  constantFrom,
  dictionary,
  jsonValue,
  option,
  property,
  record,
} from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hasHooks, withHooks, withoutHooks, type HookGroup, type Hooks } from './hook-settings.ts';

const group = (front: string, more: object = {}): HookGroup => ({
  ...more,
  hooks: [{ type: 'command', command: front, args: ['claude'] }],
});
const FRONT = '/opt/a b/plugins/claude-code/hooks/ralph-hook.sh';
const OURS: Hooks = { Stop: [group(FRONT)], UserPromptSubmit: [group(FRONT, { matcher: '^ralph$' })] };
const THEIRS = '{"hooks":[{"type":"command","command":"say done"}]}';

const add = (text: string): string => withHooks(text, OURS, 'settings.json');
const remove = (text: string): string => withoutHooks(text, 'settings.json');
const parsed = (text: string): unknown => JSON.parse(text.replace('\uFEFF', ''));

const ODD: Readonly<Record<string, string>> = {
  'two blanks': '{\n  "model": "opus"\n}\n',
  'no newline at the end': '{\n  "model": "opus"\n}',
  'blank lines at the end': '{\n  "model": "opus"\n}\n\n\n',
  tabs: '{\n\t"model": "opus",\n\t"env": {\n\t\t"A": "1"\n\t}\n}\n',
  'CRLF and four blanks': '{\r\n    "model": "opus"\r\n}\r\n',
  'one line': '{"model":"opus","env":{"A":"1"}}',
  'one line with blanks': '{ "model": "opus", "env": { "A": "1" } }\n',
  'a byte order mark': '\uFEFF{\n  "model": "opus"\n}\n',
  'odd blanks': '{ "model" :\n"opus"\n ,  "a":[ ]  }\n',
  'a value with brackets and escapes': '{\n  "a": "}] \\" \\u00e4 // no comment",\n  "b": 1\n}\n',
  'other hooks of the same event': `{\n  "hooks": {\n    "Stop": [\n      ${THEIRS}\n    ]\n  }\n}\n`,
  'other hooks on one line': `{\n  "hooks": {"Stop": [${THEIRS}, ${THEIRS}]},\n  "z": null\n}\n`,
  'other hooks of other events': `{"hooks":{"PreToolUse":[${THEIRS}]}}`,
};

describe('hooks in settings', () => {
  it.each(Object.entries(ODD))('are added and taken back, byte for byte, with %s', (_, text) => {
    const added = add(text);
    expect(remove(added)).toBe(text);
    expect(add(added)).toBe(added);
    expect([hasHooks(text, 'x'), hasHooks(added, 'x')]).toEqual([false, true]);
  });

  it('are added after those of others, in the style of the text', () => {
    expect(add(ODD['other hooks of the same event'] ?? '')).toBe(
      `{
  "hooks": {
    "Stop": [
      ${THEIRS},
      {
        "hooks": [
          {
            "type": "command",
            "command": "${FRONT}",
            "args": [
              "claude"
            ]
          }
        ]
      }
    ],
    "UserPromptSubmit": [
      {
        "matcher": "^ralph$",
        "hooks": [
          {
            "type": "command",
            "command": "${FRONT}",
            "args": [
              "claude"
            ]
          }
        ]
      }
    ]
  }
}
`,
    );
    expect(add(ODD['CRLF and four blanks'] ?? '')).not.toMatch(/[^\r]\n/);
    expect(add(ODD['tabs'] ?? '')).not.toMatch(/^ /m);
    expect(add(ODD['one line'] ?? '')).not.toContain('\n');
  });

  it.each(['', ' \n', '{}', '{ }\n', '{\n}', '{"hooks":{}}', '{"hooks": {"Stop": []}}'])(
    'are added to %j, and removed with what is empty then',
    (text) => {
      const added = add(text);
      expect(parsed(added)).toEqual({ hooks: OURS });
      expect(parsed(remove(added))).toEqual({});
    },
  );

  const AFTER = `,\n      ${THEIRS}\n    ]`;
  it.each([
    [
      'after',
      (text: string) => text.replace(/\n {4}\]/, AFTER),
      { model: 'opus', hooks: { Stop: [parsed(THEIRS)] } },
    ],
    [
      'before',
      (text: string) => text.replace('"Stop": [', `"Stop": [\n      ${THEIRS},`),
      { model: 'opus', hooks: { Stop: [parsed(THEIRS)] } },
    ],
    [
      'around',
      (text: string) => text.replace('{\n', '{\n  "first": 1,\n').replace(/\n\}\n$/, ',\n  "last": 2\n}\n'),
      { first: 1, model: 'opus', last: 2 },
    ],
  ])('are removed from between entries that were added %s them', (_, edit, expected) => {
    const added = add('{\n  "model": "opus"\n}\n');
    const edited = edit(added);
    expect(edited).not.toBe(added);
    expect(parsed(remove(edited))).toEqual(expected);
  });

  it('of another installation are replaced in their place, because Codex trusts hooks by it', () => {
    const old = withHooks(
      '{"a":1}',
      { Stop: [group('/old/plugins/claude-code/hooks/ralph-hook.sh')], Gone: [group(FRONT)] },
      'x',
    );
    const appended = old.replace(']}]}]', `]}]},${THEIRS}]`);
    const updated = add(appended);
    expect(parsed(updated)).toEqual({
      a: 1,
      hooks: { Stop: [...(OURS['Stop'] ?? []), parsed(THEIRS)], UserPromptSubmit: OURS['UserPromptSubmit'] },
    });
    expect(parsed(remove(updated))).toEqual({ a: 1, hooks: { Stop: [parsed(THEIRS)] } });
  });

  it('are found in a group that someone has merged, and twice', () => {
    const own = JSON.stringify(group(FRONT).hooks[0]);
    const merged = `{"hooks":{"Stop":[{"hooks":[${own},{"type":"command","command":"say"}]},${JSON.stringify(group(FRONT))},${JSON.stringify(group(FRONT))}]}}`;
    expect(parsed(remove(merged))).toEqual({
      hooks: { Stop: [{ hooks: [{ type: 'command', command: 'say' }] }] },
    });
    expect(parsed(add(merged))).toEqual({
      hooks: {
        Stop: [{ hooks: [{ type: 'command', command: 'say' }] }, ...(OURS['Stop'] ?? [])],
        UserPromptSubmit: OURS['UserPromptSubmit'],
      },
    });
  });

  it('are recognised in command lines too, and no other script is', () => {
    const has = (command: string): boolean =>
      hasHooks(JSON.stringify({ hooks: { Stop: [group(command)] } }), 'x');
    expect(has(`sh '/a b/plugins/codex/hooks/codex-prompt.sh'`)).toBe(true);
    expect(has(`sh '/a'\\''b/plugins/claude-code/hooks/ralph-hook.sh' codex`)).toBe(true);
    expect(has('/x/plugins/claude-code/hooks/ralph-hook.sh.bak')).toBe(false);
    expect(has('/x/ralph-hook.sh')).toBe(false);
  });

  it.each([
    ['{ "a": 1, }', 'settings.json:1:9: invalid JSON: remove the comma after the last entry'],
    ['{ // mine\n}', 'settings.json:1:3: invalid JSON: comments are not allowed in JSON; remove them'],
    ['[]', 'settings.json: must contain a JSON object'],
    ['{"hooks":[]}', 'settings.json: "hooks" must be an object'],
    ['{"hooks":{"Stop":{}}}', 'settings.json: "hooks.Stop" must be an array'],
  ])('are refused for %s', (text, message) => {
    expect(() => add(text)).toThrow(message);
    expect(() => remove(text)).toThrow('nothing was changed');
  });

  it('are refused for settings that are nested too deep for a parser', () => {
    expect(() => add('{"a":'.repeat(5000))).toThrow('nested more than 100 levels deep');
  });

  it('leave every other byte alone, whatever the settings are', () => {
    const others = array(constantFrom({ hooks: [{ type: 'command', command: 'x' }] }, { hooks: [] }, 1), {
      minLength: 1,
      maxLength: 3,
    });
    const settings = record({
      first: jsonValue(),
      hooks: option(dictionary(constantFrom('Stop', 'Other', 'UserPromptSubmit'), others, { minKeys: 1 }), {
        nil: undefined,
      }),
      last: jsonValue(),
    });
    const indents = constantFrom<string | number>(0, 1, 2, 4, '\t');
    assert(
      property(settings, indents, boolean(), (value, indent, isCrlf) => {
        const json = JSON.stringify(value, null, indent);
        const text = isCrlf ? json.replaceAll('\n', '\r\n') : json;
        const added = add(text);
        expect(remove(added)).toBe(text);
        expect(add(added)).toBe(added);
      }),
      { numRuns: 60 },
    );
  });
});
