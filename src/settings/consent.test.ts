import { describe, expect, it } from 'vitest';
import { isRecord } from '../loop/shape.ts';
import { contentIn, contentsOf, differenceOf, entriesOf } from './consent.ts';
import type { Settings } from './settings.ts';
import { jsonSchema } from './schema.ts';

const contentFor = (settings: Settings) => contentIn('f', settings)[0]?.content ?? null;

describe('the content that needs consent', () => {
  it('is every setting of the schema but those of the display', () => {
    const { properties } = jsonSchema();
    const keys = isRecord(properties) ? Object.keys(properties) : [];
    expect(keys).toContain('checks');
    const free = keys.filter((key) => contentIn('f', { [key]: 1 }).length === 0);
    expect(free).toEqual([
      '$schema',
      'streamAgentOutput',
      'emoji',
      'timestamps',
      'outputLines',
      'outputChars',
    ]);
  });

  it('has its keys in one order, and lists in theirs', () => {
    const one = contentFor({ setup: ['b', 'a'], agent: { model: 'm', command: 'c' } });
    const other = contentFor({ agent: { command: 'c', model: 'm' }, setup: ['b', 'a'] });
    expect(JSON.stringify(one)).toBe('{"agent":{"command":"c","model":"m"},"setup":["b","a"]}');
    expect(JSON.stringify(other)).toBe(JSON.stringify(one));
    expect(JSON.stringify(contentFor({ setup: ['a', 'b'] }))).not.toBe(
      JSON.stringify(contentFor({ setup: ['b', 'a'] })),
    );
  });

  it('is one per file that has any', () => {
    expect(contentsOf({ shared: null, local: null })).toEqual([]);
    expect(contentsOf({ shared: { emoji: true }, local: { maxCost: 1 } })).toEqual([
      { file: '.ralph/settings.local.json', content: { maxCost: 1 } },
    ]);
  });
});

describe('the entries of a content', () => {
  it('name first what is executed, then what is allowed, then what is moved', () => {
    const settings: Settings = {
      maxCost: 2,
      doneFile: 'D',
      mcp: { allow: ['stop'] },
      scm: { command: 'git', tasks: ['commit', 'push'], timeout: 5 },
      setup: ['npm ci'],
      checks: [{ command: 'a', hint: 'h' }, { command: 'b' }],
      agent: { command: 'c', flags: ['-x'], model: 'm' },
    };
    const entries = entriesOf(contentFor(settings) ?? {});
    expect(entries.map(({ setting, value, use }) => `${use} ${setting} ${value}`)).toEqual([
      'run agent.command c',
      'run agent.flags -x',
      'run checks.command a',
      'run checks.command b',
      'run setup npm ci',
      'run scm.command git',
      'run scm.tasks commit',
      'run scm.tasks push',
      'allow mcp.allow stop',
      'move doneFile D',
      'other agent.model m',
      'other checks.hint h',
      'other maxCost 2',
      'other scm.timeout 5',
    ]);
  });

  it('leave out no value, also of an empty list', () => {
    expect(entriesOf({ checks: [], setup: [] })).toHaveLength(2);
  });
});

describe('the difference of two contents', () => {
  const values = (entries: readonly { readonly value: string }[]) => entries.map(({ value }) => value);

  it('has what is new and what is gone, counted', () => {
    const { removed, added } = differenceOf({ setup: ['a', 'a', 'b'] }, { setup: ['a', 'c'], maxCost: 1 });
    expect(values(removed)).toEqual(['a', 'b']);
    expect(values(added)).toEqual(['c', '1']);
  });

  it('is empty for another order', () => {
    expect(differenceOf({ setup: ['a', 'b'] }, { setup: ['b', 'a'] })).toEqual({ removed: [], added: [] });
  });
});
