import * as fc from 'fast-check';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { presets } from '../loop/presets.ts';
import type { Agent, AgentEvent } from './agent.ts';
import { codex } from './codex.ts';
import { custom } from './custom.ts';
import { readRun, type ReadContext, type RunReader } from './reader.ts';
import { scripted } from './scripted.ts';

const { detectors } = presets.default.policy.completion;
const context = (shown: ReadContext['shown'] = { offset: 0 }): ReadContext => ({
  shown,
  startedAt: 0,
  folder: '/nowhere',
  argv: ['agent'],
  env: {},
  session: null,
  price: () => null,
  hide: (text) => text,
});
const line = (event: object): string => `${JSON.stringify(event)}\n`;
const lines = [
  line({ type: 'text', message: '1', text: 'wörking 😀\n' }),
  line({ type: 'tool.start', id: 'a', name: 'Bash', input: 'ls' }),
  'not json\n',
  line({ type: 'progress', tokens: { input: 5, output: 1 }, costUsd: 0.5 }),
  line({ type: 'tool.end', id: 'a', ok: true, output: '' }),
  line({ type: 'text', message: '2', text: 'done\n<promise>DONE</promise>\n' }),
  line({ type: 'result', ok: true, tokens: { input: 9, output: 2 }, costUsd: 0.75 }),
].join('');

describe('reading a run', () => {
  it('collects what an agent wrote, used and claimed', () => {
    const reader = readRun(scripted, detectors, context(), () => {});
    reader.read(Buffer.from(lines));
    reader.end();
    expect(reader.snapshot(true)).toEqual({
      offset: Buffer.byteLength(lines),
      tokens: { input: 9, output: 2, cacheRead: 0, cacheWrite: 0 },
      cost: { usd: 0.75, source: 'reported' },
      steps: 1,
      said: 'success',
      claim: { by: 'promise-tag', text: '<promise>DONE</promise>' },
      claimEndsRun: false,
      limit: null,
      unknown: 1,
    });
    expect(reader.snapshot(false).claim).toBeNull();
  });

  it('S2.40 finds claims on stdout and stderr of an unknown command, if the preset says so', () => {
    const claims = (preset: 'ralph-cli' | 'default', agent: Agent) => {
      const reader = readRun(agent, presets[preset].policy.completion.detectors, context(), () => {});
      reader.readStderr(Buffer.from('<respon'));
      reader.readStderr(Buffer.from('se>DONE</response>\n'));
      reader.end();
      return reader.snapshot(true).claim !== null;
    };
    expect([claims('ralph-cli', custom), claims('ralph-cli', codex), claims('default', custom)]).toEqual([
      true,
      false,
      false,
    ]);
  });

  it('does not take the prompt for the text of an agent that prints it', () => {
    const folder = mkdtempSync(join(tmpdir(), 'ralph-reader-'));
    const prompt = 'Do it, and include COMPLETE in your final answer.\n\nThe word COMPLETE is needed.\n';
    writeFileSync(join(folder, 'prompt.md'), prompt);
    const words = presets.architect.policy.completion.detectors;
    const claims = (text: string) => {
      const reader = readRun(custom, words, { ...context(), folder }, () => {});
      reader.read(Buffer.from(text));
      reader.end();
      return reader.snapshot(true).claim !== null;
    };
    expect([claims(prompt), claims(`${prompt}\nCOMPLETE\n`), claims('COMPLETE')]).toEqual([
      false,
      true,
      true,
    ]);
    rmSync(folder, { recursive: true });
  });

  it('does not depend on how the bytes are split, also in the middle of a character', () => {
    const whole = Buffer.from(lines);
    const read = (reader: RunReader, cuts: readonly number[]): void => {
      let at = 0;
      for (const cut of [...cuts.toSorted((a, b) => a - b), whole.length]) {
        reader.read(whole.subarray(at, cut));
        at = cut;
      }
      reader.end();
    };
    const once = readRun(scripted, detectors, context(), () => {});
    read(once, []);
    fc.assert(
      fc.property(fc.array(fc.nat({ max: whole.length })), (cuts) => {
        const often = readRun(scripted, detectors, context(), () => {});
        read(often, cuts);
        expect(often.snapshot(true)).toEqual(once.snapshot(true));
      }),
      { numRuns: 200 },
    );
  });

  it('shows only new output but learns from all of it', () => {
    const shown: AgentEvent[] = [];
    const recalled: AgentEvent[] = [];
    const reader = readRun(
      custom,
      detectors,
      context({ offset: 6, complained: 4 }),
      (event) => void shown.push(event),
      (event) => void recalled.push(event),
    );
    reader.read(Buffer.from('known new <promise>'));
    reader.read(Buffer.from('x</promise>\n<promise>DONE</promise>\n'));
    reader.end();
    expect(shown.map((event) => ('text' in event ? event.text : '')).join('')).toBe(
      'new <promise>x</promise>\n<promise>DONE</promise>\n',
    );
    expect(recalled).toMatchObject([{ type: 'text', text: 'known ' }]);
    expect(reader.snapshot(true).claim?.by).toBe('promise-tag');
    expect(String(reader.readStderr(Buffer.from('oo')))).toBe('');
    expect(String(reader.readStderr(Buffer.from('ps again')))).toBe(' again');
    expect(reader.snapshot(true).complained).toBe(10);
  });

  it('reports at once what the loop must know, and nothing else', () => {
    const reader = readRun(scripted, detectors, context(), () => {});
    const news = (event: object): boolean => reader.read(Buffer.from(line(event)));
    expect(news({ type: 'text', text: 'hello' })).toBe(false);
    expect(news({ type: 'tool.start', id: 'a', name: 'Bash' })).toBe(false);
    expect(reader.hasOpenTool).toBe(true);
    expect(news({ type: 'tool.end', id: 'a' })).toBe(false);
    expect(reader.hasOpenTool).toBe(false);
    expect(news({ type: 'limit', resetsAt: 12, message: 'later' })).toBe(true);
    expect(reader.snapshot(false).limit).toEqual({ resetsAt: 12, message: 'later' });
    expect(news({ type: 'progress', costUsd: 0.1 })).toBe(true);
    expect(news({ type: 'result', ok: false, error: 'bad' })).toBe(true);
    expect(reader.error).toEqual({ kind: 'other', message: 'bad' });
    expect(reader.snapshot(false).said).toBe('error');
  });

  it('accepts half a character, NUL bytes and invalid UTF-8', () => {
    const reader = readRun(custom, detectors, context(), () => {});
    reader.read(Buffer.from([0xff, 0x00, 0xf0, 0x9f]));
    reader.read(Buffer.from('\n<promise>DONE</promise>'));
    reader.end();
    expect(reader.snapshot(true).claim?.by).toBe('promise-tag');
  });
});

describe('the cost of a run', () => {
  const tokens = { input: 10, output: 0, cacheRead: 0, cacheWrite: 0 };
  const price = (): number => 2;
  const cost = (event: object, more: Partial<ReadContext>): unknown => {
    const reader = readRun(scripted, detectors, { ...context(), ...more }, () => {});
    reader.read(Buffer.from(line({ type: 'progress', ...event })));
    return reader.snapshot(false).cost;
  };

  it('is the reported cost, or the price of its tokens, or unknown', () => {
    expect(cost({ tokens, costUsd: 0.5 }, { price })).toEqual({ usd: 0.5, source: 'reported' });
    expect(cost({ tokens }, { price })).toEqual({ usd: 2, source: 'estimated' });
    expect(cost({ tokens }, { price: () => null })).toBeNull();
    expect(cost({ tokens }, {})).toBeNull();
  });

  it('is estimated without the earlier cost of its session', () => {
    const usage = { type: 'turn.completed', usage: { input_tokens: 10, output_tokens: 0 } };
    const session = { id: 't', tokens: { input: 4, output: 0, cacheRead: 0, cacheWrite: 0 }, usd: 0.75 };
    const reader = readRun(codex, detectors, { ...context(), session, price }, () => {});
    reader.read(Buffer.from(line({ type: 'thread.started', thread_id: 't' }) + line(usage)));
    expect(reader.snapshot(false)).toMatchObject({
      tokens: { input: 6 },
      cost: { usd: 1.25, source: 'estimated' },
    });
  });
});

describe('the stderr of an unknown command', () => {
  it('is a reason to wait for the provider only at a usage limit', () => {
    const read = (stderr: string): RunReader => {
      const reader = readRun(custom, detectors, context(), () => {});
      reader.readStderr(Buffer.from(stderr));
      reader.end();
      return reader;
    };
    expect(read('connect ECONNREFUSED 127.0.0.1:5432\n').error).toBeNull();
    expect(read('You have hit your usage limit\n').snapshot(true).limit).not.toBeNull();
  });
});
