import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { anyText } from '../../test/rig/any-text.ts';
import { UserError } from '../user-error.ts';
import {
  missingItems,
  nameOf,
  nextItem,
  openItems,
  tickedItems,
  type Plan,
  checkText,
  showText,
} from './plan-items.ts';
import { readPlan } from './plan.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'ralph-plan-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const read = (text: string, file = 'PLAN.md'): Promise<Plan> => {
  writeFileSync(join(root, file), text);
  return readPlan(root, file);
};
const titles = (plan: Plan): readonly string[] =>
  plan.items.map(({ title, isDone }) => `${isDone ? 'x' : '-'} ${title}`);

describe('a Markdown checklist', () => {
  it('has an item for every checkbox of a list, ordered or not, in block quotes too', async () => {
    const plan = await read(
      [
        '# Plan',
        '- [ ] one',
        '* [x] two',
        '+ [X] three',
        '',
        '1. [ ] four',
        '2) [x] five',
        '',
        '> - [ ] six',
        '',
      ].join('\n'),
    );
    expect(titles(plan)).toEqual(['- one', 'x two', 'x three', '- four', 'x five', '- six']);
  });

  it('ignores code, comments, plain items and what only looks like a checkbox', async () => {
    const plan = await read(
      [
        '- [ ] real <!-- note -->',
        '- plain',
        '- [y] no',
        '- [ ]no',
        '- text [ ] no',
        '[ ] no',
        '',
        '```md',
        '- [ ] in a fence',
        '```',
        '~~~',
        '- [ ] in another fence',
        '~~~',
        '',
        '<!--',
        '- [ ] in a comment',
        '-->',
        '',
        'text',
        '',
        '    - [ ] indented code',
        '',
        '- item',
        '',
        '  ```',
        '  - [ ] in a fence of an item',
        '  ```',
      ].join('\r\n'),
    );
    expect(titles(plan)).toEqual(['- real']);
  });

  it('knows which item is part of which, and what an item says', async () => {
    const text = [
      '- [ ] outer',
      '  - plain',
      '    - [x] inner',
      '    - [ ] other',
      '',
      '      More about it.',
      '- [ ] last',
    ];
    const plan = await read(text.join('\n'));
    const [outer, inner, other, last] = plan.items;
    expect([inner?.parent, other?.parent, last?.parent]).toEqual([outer, outer, null]);
    expect(nextItem(plan)).toBe(other);
    expect(other && plan.detailsOf(other)).toBe('- [ ] other\n\n  More about it.');
    expect(checkText('PLAN.md', plan)).toBe(
      'open: outer\nopen: other (in: outer)\nopen: last\nPLAN.md: 1/4 done, 3 open',
    );
    expect(showText('PLAN.md', plan).split('\n').slice(0, 3)).toEqual([
      '  [ ] outer',
      '    [x] inner',
      '>   [ ] other',
    ]);
  });

  it('has an open item with sub-items that are all done as the next one', async () => {
    const plan = await read('- [ ] outer\n  - [x] inner\n');
    expect(nextItem(plan)?.title).toBe('outer');
  });

  it('is an error without any checkbox', async () => {
    await expect(read('# Plan\n- one\n')).rejects.toThrow(
      'the plan PLAN.md has no checkboxes; write its items as "- [ ] text"',
    );
  });

  it('shows a title on one line, without control characters', async () => {
    const plan = await read('- [ ] one\n  two\u001B[31m\u202E three\n');
    expect(titles(plan)).toEqual(['- one two [31m three']);
  });

  it('is read or refused with a message, whatever its text is', async () => {
    const part = fc.constantFrom(
      '- ',
      '[ ] ',
      '[x] ',
      'a',
      '\n',
      '  ',
      '> ',
      '```',
      '<!--',
      '-->',
      '1. ',
      '\t',
      '\0',
      '#',
      '\r',
      '|',
      '---',
      '\uD800',
    );
    const texts = fc.oneof(
      fc.array(part, { maxLength: 80 }).map((parts) => parts.join('')),
      anyText(),
    );
    await fc.assert(
      fc.asyncProperty(texts, async (text) => {
        const plan = await read(text).catch((error: unknown) => {
          if (error instanceof UserError) return null;
          throw error;
        });
        if (plan === null) return;
        const next = nextItem(plan);
        expect(next === null).toBe(openItems(plan).length === 0);
        expect(plan.items.every(({ title }) => !/\p{Cc}/u.test(title))).toBe(true);
        expect(plan.items.every((item) => /^$|\[/.test(plan.detailsOf(item)))).toBe(true);
        expect(missingItems(plan.items, plan)).toEqual([]);
        expect(tickedItems(plan.items, plan)).toEqual([]);
      }),
    );
  });

  it.each([['['], ['>'], ['- '], ['> - '], ['*a_ '], ['<!-- '], ['![[']])(
    'reads a mebibyte of %j',
    async (part) => {
      await expect(
        read(`- [ ] one\n\n${part.repeat(Math.floor((2 ** 20 - 20) / part.length))}`),
      ).resolves.toBeDefined();
    },
  );
});

describe('prd.json', () => {
  const prd = (stories: unknown, more = {}): string => JSON.stringify({ ...more, userStories: stories });

  it('has its stories in the order of their priority, then of the file', async () => {
    const plan = await read(
      prd(
        [
          { id: 'US-3', title: 'later', passes: false },
          { id: 'US-2', title: 'second', passes: false, priority: 2 },
          { id: 1, title: 'first', passes: true, priority: 1, labels: ['a'] },
          { id: 'US-4', title: 'also second', passes: false, priority: 2 },
        ],
        { project: 'x', branchName: 'ralph/x' },
      ),
      'prd.json',
    );
    expect(plan.items.map(nameOf)).toEqual(['1 first', 'US-2 second', 'US-4 also second', 'US-3 later']);
    expect(nextItem(plan)?.id).toBe('US-2');
  });

  it('tells the description, the acceptance criteria and the notes of a story', async () => {
    const story = {
      title: 'a',
      description: 'As a user',
      acceptanceCriteria: ['One', 2, 'Two'],
      notes: 'see b',
    };
    const plan = await read(prd([story]), 'prd.json');
    const [item] = plan.items;
    expect(item && plan.detailsOf(item)).toBe(
      'As a user\n\nAcceptance criteria:\n- One\n- Two\n\nNotes: see b',
    );
  });

  it.each([
    ['{\n  "userStories": [,]\n}', 'the plan prd.json:2:19 is not valid JSON'],
    ['{"tasks": []}', 'the plan prd.json is not valid: userStories is required and must be a list'],
    ['{"userStories": []}', 'the plan prd.json:1:2 is not valid: userStories must be a non-empty list'],
    [
      '{"userStories": [\n{"title": "a", "passes": "true"}]}',
      'the plan prd.json:2:16 is not valid: userStories[0].passes must be true or false, got "true"',
    ],
    ['{"userStories": [{"passes": true}]}', 'userStories[0].title is required'],
    ['['.repeat(2 ** 19), 'nested more than 100 levels deep'],
    ['[]', 'the value must be an object'],
  ])('is refused with the place and the reason: %.40s', async (text, message) => {
    await expect(read(text, 'prd.json')).rejects.toThrow(message);
  });
});

describe('the file of a plan', () => {
  it('is found in folders below', async () => {
    mkdirSync(join(root, 'docs/plans'), { recursive: true });
    const plan = await read('- [ ] one\n', 'docs/plans/a.md');
    expect(titles(plan)).toEqual(['- one']);
  });

  it('is refused where it is missing, a link, below a link, a FIFO, a folder or too long', async () => {
    writeFileSync(join(root, 'real.md'), '- [ ] one\n');
    symlinkSync('real.md', join(root, 'link.md'));
    mkdirSync(join(root, 'folder.md'));
    symlinkSync('folder.md', join(root, 'linked'));
    writeFileSync(join(root, 'folder.md/a.md'), '- [ ] one\n');
    execFileSync('mkfifo', [join(root, 'fifo.md')]);
    writeFileSync(join(root, 'long.md'), `- [ ] one\n${' '.repeat(2 ** 20)}`);
    const refused = (file: string, why: string): Promise<void> =>
      expect(readPlan(root, file)).rejects.toThrow(why);
    await refused('none.md', 'plan not found: none.md');
    await refused('none/none.md', 'plan not found: none/none.md');
    await refused('link.md', 'cannot read the plan link.md: it is a symbolic link');
    await refused('linked/a.md', 'cannot read the plan linked/a.md: it is a symbolic link');
    await refused('folder.md', 'cannot read the plan folder.md: it is not a regular file');
    await refused('fifo.md', 'cannot read the plan fifo.md: it is not a regular file');
    await refused('long.md', 'it is too long');
  });
});

describe('two versions of a plan', () => {
  it('tell which open items are gone: those that were renamed or removed', async () => {
    const before = await read('- [ ] one\n- [ ] two\n- [x] three\n- [ ] four\n');
    const after = await read('- [x] one\n- [ ] two, better\n- [x] four\n');
    expect(missingItems(before.items, after).map(nameOf)).toEqual(['two']);
    expect(tickedItems(before.items, after).map(nameOf)).toEqual(['one', 'four']);
    expect(checkText('PLAN.md', after, missingItems(before.items, after))).toContain(
      'missing: two (open at the start, not in the plan now; put it back)\nPLAN.md: 2/3 done, 1 open, 1 missing',
    );
  });

  it('count items of the same title', async () => {
    const before = await read('- [ ] test\n- [ ] test\n- [x] test\n');
    expect(missingItems(before.items, await read('- [x] test\n- [x] test\n'))).toHaveLength(1);
    expect(tickedItems(before.items, await read('- [x] test\n- [x] test\n- [ ] test\n'))).toHaveLength(1);
  });

  it('recognise a story by its id', async () => {
    const before = await read('{"userStories": [{"id": "a", "title": "one"}]}', 'prd.json');
    const after = await read('{"userStories": [{"id": "a", "title": "two", "passes": true}]}', 'prd.json');
    expect(missingItems(before.items, after)).toEqual([]);
    expect(tickedItems(before.items, after).map(nameOf)).toEqual(['a one']);
  });
});
