import { mkdirSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { post } from '../bus/bus.ts';
import { draft, type Draft } from '../bus/message.ts';
import { INITIAL } from '../loop/initial.ts';
import { taskBus } from '../home/buses.ts';
import type { LoopFolder } from '../home/home.ts';
import { makeLoopFolder, removeLoopFolder, specFor } from '../../test/rig/loop-folder.ts';
import { LoopBus } from './loop-bus.ts';

let folder: LoopFolder;
let said: string[];
beforeEach(() => {
  folder = makeLoopFolder();
  said = [];
});
afterEach(() => removeLoopFolder(folder));

function busOf(created = new Date(0)): LoopBus {
  const spec = specFor(folder, { created: created.toISOString() });
  return new LoopBus({ spec, folder, env: { API_TOKEN: 'hush-hush-hush' } }, (line) => said.push(line));
}

const posted = (body: string, more: Partial<Draft> = {}): Promise<string> =>
  post(taskBus(folder.workspaceFolder), draft({ type: 'INFO', projectId: 'p', body, ...more }));
const own = { ralph_loop: 'it-12345678', ralph_event: '7' };

describe('the unread messages', () => {
  it('are those after the last one that was shown, with the ends of child loops and without the loop’s other posts', async () => {
    const first = await posted('seen');
    await posted('starting root agent', { meta: own });
    await posted('child loop kid ended: done', {
      type: 'FACT',
      meta: { ...own, ralph_child: 'kid-1a2b3c4d' },
    });
    const last = await posted('new\nwords', { type: 'PROGRESS', runId: 'kid-1a2b3c4d.1.1' });
    const unread = busOf().unread(first);
    expect(unread?.upTo).toBe(last);
    expect(unread?.text.replaceAll(/\[[-\d: ]+\]/g, '[when]')).toBe(
      '[when] (FACT)\nchild loop kid ended: done\n\n[when] (PROGRESS) kid-1a2b3c4d.1.1\nnew\nwords',
    );
    expect(busOf().unread(last)).toBeNull();
  });

  it('have no secrets, and leave out the oldest if they are too long', async () => {
    await posted('the token is hush-hush-hush');
    expect(busOf().unread(null)?.text).not.toContain('hush-hush-hush');
    for (let number = 0; number < 8; number++)
      // oxlint-disable-next-line no-await-in-loop -- in this order
      await posted(`${number}`.repeat(3900));
    const text = busOf().unread(null)?.text ?? '';
    expect(text.length).toBeLessThan(20_000);
    expect(text).toMatch(/^\(\d earlier messages left out: ralph bus read\)/);
    expect(text).toContain('7'.repeat(3900));
  });

  it('do not include what was on the bus before the loop', async () => {
    await posted('from the repository');
    expect(busOf(new Date(Date.now() + 60_000)).unread(null)).toBeNull();
  });
});

describe('questions', () => {
  it('are taken once, with a default only if it has a time', async () => {
    const bus = busOf();
    const id = await posted('Which port?', { type: 'QUESTION', meta: { default: '80', timeout_ms: '5000' } });
    await posted('Which host?', { type: 'QUESTION', meta: { default: 'here', timeout_ms: 'soon' } });
    await posted('not one', { type: 'QUESTION', meta: own });
    expect(bus.questions(INITIAL)).toMatchObject([
      { type: 'question.asked', id, text: 'Which port?', default: '80', timeoutMs: 5000 },
      { type: 'question.asked', text: 'Which host?', default: null, timeoutMs: null },
    ]);
    expect(bus.questions(INITIAL)).toEqual([]);
    const known = { ...INITIAL, messages: { ...INITIAL.messages, asked: id } };
    expect(busOf().questions(known)).toMatchObject([{ text: 'Which host?' }]);
  });
});

it('a bus that cannot be read is empty, and the loop says so once', () => {
  mkdirSync(folder.workspaceFolder.bus, { recursive: true });
  const bus = busOf();
  expect(bus.probe(null)).toEqual({ messages: [] });
  expect(bus.unread(null)).toBeNull();
  expect(said).toHaveLength(1);
  expect(said[0]).toContain('cannot use the message bus');
});
