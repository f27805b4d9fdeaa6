import { expect, it } from 'vitest';
import { begun, given, plain } from '../../test/rig/given.ts';
import type { Notice } from '../loop/notice.ts';
import { linesOf, toldNotice, troubleText } from './notices.ts';

const loop = { id: 'night-1a2b3c4d', name: 'night', workspace: '/home/me/shop' };

function question(text: string): Notice {
  const asked = { type: 'question.asked', id: 'q1', text, default: 'no', timeoutMs: 1000 } as const;
  const state = given(plain, ...begun, asked);
  return { kind: 'person.needed', number: 7, at: 0, about: 'question q1', event: { ...asked, at: 0 }, state };
}

it('the notice of a question has the command that answers it', () => {
  const told = toldNotice(loop, question('Which database?'));
  expect(told).toMatchObject({
    id: 'night-1a2b3c4d.7.person.needed',
    urgent: true,
    title: 'night: waiting for you',
    question: 'Which database?',
    command: 'ralph answer night "…" --question q1',
  });
  expect(linesOf(told).at(-1)).toBe('ralph answer night "…" --question q1   (in /home/me/shop)');
});

it('no text of an agent moves the cursor of a terminal or fills a screen', () => {
  const lines = linesOf(
    toldNotice(loop, question(`\u001B]0;title\u0007${'long '.repeat(500)}\n\n\n\n\n\n\nx`)),
  );
  expect(lines.join('')).not.toMatch(/[\p{Cc}]/u);
  expect(lines.length).toBeLessThan(9);
  for (const line of lines) expect(line.length).toBeLessThan(600);
});

it('what a set-aside loop did is the text of its notice', () => {
  const notice = {
    ...question(''),
    kind: 'loop.set-aside',
    about: 'set aside: it froze',
    event: null,
  } as const;
  expect(toldNotice(loop, notice)).toMatchObject({
    text: 'set aside: it froze',
    command: 'ralph resume night',
  });
});

it('a place that cannot be reached is told of with what waits', () => {
  const trouble = { to: 'ops', why: 'HTTP 500', at: 0, waiting: 2 };
  expect(troubleText(trouble)).toMatch(/^ops: HTTP 500, since \d{4}-\d\d-\d\d .*, 2 notices waiting$/);
  expect(troubleText({ ...trouble, waiting: 0, lost: 'a.1.loop.done' })).toMatch(
    /a\.1\.loop\.done was given up$/,
  );
});
