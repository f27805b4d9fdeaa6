import stringWidth from 'fast-string-width';
import { beforeEach, describe, expect, it } from 'vitest';
import { openState, registerLoop } from '../../test/rig/loop-folder.ts';
import { localLoops } from '../loops/local-loops.ts';
import type { LoopEvent } from '../loop/event.ts';
import { moveSelection, nextNeeded, ordered, unfoldTo, type Model } from './model.ts';
import { screenOf } from './screens.ts';
import type { Look } from './style.ts';

let workspace: string;
beforeEach(() => {
  workspace = openState();
});

const ends = (at: number): LoopEvent => ({
  type: 'loop.ended',
  outcome: { type: 'stopped', by: 'person' },
  at,
});
const look = (columns: number, rows: number): Look => ({
  columns,
  rows,
  now: 60_000,
  paint: (_, text) => text,
  home: undefined,
  isForScreenReader: false,
});

async function model(more: Partial<Model> = {}): Promise<Model> {
  const rows = ordered(await localLoops().list({ workspace: null }));
  return {
    rows,
    views: new Map(),
    isOfAll: false,
    isGrouped: false,
    filter: '',
    unfolded: new Set(),
    selected: null,
    top: 0,
    opened: null,
    page: null,
    input: null,
    note: null,
    ...more,
  };
}

describe('the list of ralph watch', () => {
  it('says first which loops need a person, and n goes from one to the next', async () => {
    registerLoop(workspace, 'a', [ends(1)]);
    registerLoop(workspace, 'b');
    registerLoop(workspace, 'c');
    const shown = await model();
    expect(screenOf(shown, look(80, 10))[0]).toBe('2 need you: b (crashed), c (crashed)');
    shown.selected = nextNeeded(shown)?.id ?? null;
    expect(shown.selected).toBe('b-12345678');
    shown.selected = nextNeeded(shown)?.id ?? null;
    expect(shown.selected).toBe('c-12345678');
    expect(nextNeeded(shown)?.name).toBe('b');
  });

  it.each([
    [80, 24],
    [200, 50],
    [300, 100],
  ])('fills a screen of %i × %i with no line that is too wide', async (columns, rows) => {
    for (let number = 100; number < 220; number++)
      registerLoop(workspace, `loop-${number}`, [], { prompt: { text: '買い物かごの合計'.repeat(9) } });
    const shown = await model({ isOfAll: true });
    moveSelection(shown, 1);
    const lines = screenOf(shown, look(columns, rows));
    expect(lines).toHaveLength(rows);
    expect(lines.filter((line) => stringWidth(line) > columns)).toEqual([]);
    moveSelection(shown, 1_000_000);
    expect(screenOf(shown, look(columns, rows)).join('\n')).toContain('> loop-219');
  });

  it('folds children below their loop, and shows one that needs a person', async () => {
    const parent = registerLoop(workspace, 'parent', [ends(1)]);
    registerLoop(workspace, 'child', [], { parent: { run: `${parent.id}.1`, folder: parent.path } });
    registerLoop(workspace, 'other', [ends(1)]);
    const shown = await model();
    const names = (): readonly string[] =>
      screenOf(shown, look(80, 12)).flatMap(
        (line) => /^[> ] {1,3}(parent.*?|child|other) {2}/.exec(line)?.[1] ?? [],
      );
    expect(names()).toEqual(['other', 'parent +1']);
    const child = shown.rows?.find(({ name }) => name === 'child');
    if (child !== undefined) unfoldTo(shown, child);
    expect(names()).toEqual(['other', 'parent', 'child']);
  });

  it('filters by words, groups by workspace, and says if nothing is there', async () => {
    registerLoop(workspace, 'cart');
    registerLoop(`${workspace}2`, 'docs');
    const grouped = screenOf(await model({ isOfAll: true, isGrouped: true }), look(80, 12));
    expect(grouped).toContain(`${workspace}2`);
    const filtered = screenOf(await model({ filter: 'CART' }), look(80, 12)).join('\n');
    expect(filtered).toContain('cart');
    expect(filtered).not.toMatch(/^[> ] docs/m);
    expect(screenOf(await model({ filter: 'nothing' }), look(80, 12)).join('\n')).toContain(
      'no loop has these words',
    );
    expect(screenOf(await model({ rows: [] }), look(80, 12)).join('\n')).toContain(
      'a shows those of all workspaces',
    );
  });

  it('has a sentence for each loop for a screen reader, and no empty lines', async () => {
    registerLoop(workspace, 'a');
    const lines = screenOf(await model({ selected: 'a-12345678' }), {
      ...look(80, 24),
      isForScreenReader: true,
    });
    expect(lines).toContain('selected: a: crashed, iteration 0/10');
    expect(lines.filter((line) => line === '')).toEqual([]);
  });

  it('keeps the keys for help and quitting on a narrow screen, and shows the end of a long answer', async () => {
    expect(screenOf(await model(), look(40, 10)).at(-1)).toMatch(/^q quit {2}\? keys/);
    const input = { for: 'answer', label: 'answer a:', text: `${'x'.repeat(100)}end` } as const;
    expect(screenOf(await model({ input }), look(40, 10)).at(-1)).toMatch(/xend▏$/);
  });
});
