import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { openState, registerLoop, specFor } from '../../test/rig/loop-folder.ts';
import type { LoopEvent } from '../loop/event.ts';
import { AgentLines } from '../text/agent-lines.ts';
import { refOf } from './find.ts';
import { localLoops } from './local-loops.ts';
import { piecesOf } from './told-run.ts';

const LINES = {
  emoji: false,
  timestamps: false,
  maxLines: 3,
  maxChars: 120,
  verbose: false,
  paint: (_: string, text: string): string => text,
};
const delta = (text: string): string =>
  `${JSON.stringify({ type: 'assistant.message_delta', data: { messageId: 'm', deltaContent: text } })}\n`;
const OPEN_RUN: readonly LoopEvent[] = [
  { type: 'iteration.started', iteration: 1, at: 1 },
  { type: 'run.planned', run: '1.1', purpose: 'work', guidance: [], prompt: null, at: 1 },
];

describe('the words of a run', () => {
  it('have no secret, also not in pieces with something else between them', async () => {
    vi.stubEnv('THE_API_KEY', 'abcdefgh12345678');
    const agent = { kind: 'copilot', argv: ['copilot'] };
    const folder = registerLoop(openState(), 'it', OPEN_RUN, { agent });
    const other = `${JSON.stringify({ type: 'assistant.reasoning', data: { content: 'hm' } })}\n`;
    mkdirSync(folder.run('1.1'), { recursive: true });
    const printed = [delta('key abcdefgh'), other, delta('12345678, unfinished sk-')].join('');
    writeFileSync(join(folder.run('1.1'), 'stdout.log'), printed);
    const spec = specFor(folder, { agent });
    const loop = { ...refOf({ spec }), spec };
    const lines = new AgentLines(LINES, () => 0);
    let shown = '';
    for await (const piece of piecesOf(localLoops(), { loop, run: '1.1', what: 'stdout', lines }))
      shown += piece.toString();
    expect(shown).toBe('key <redacted>, unfinished sk-\n');
  });
});
