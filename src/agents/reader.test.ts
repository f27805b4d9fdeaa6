import * as fc from 'fast-check';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PRESET_NAMES, type PresetName } from '../loop/policy.ts';
import { presets } from '../loop/presets.ts';
import { searchInTime } from '../owner/pattern-search.ts';
import type { Agent, AgentEvent } from './agent.ts';
import { amp } from './amp.ts';
import { claude } from './claude.ts';
import { codex } from './codex.ts';
import { custom } from './custom.ts';
import { gemini } from './gemini.ts';
import { readRun, type ReadContext, type RunReader } from './reader.ts';
import { scripted } from './scripted.ts';

const { detectors } = presets.default.policy.completion;
const context = (shown: ReadContext['shown'] = { offset: 0 }): ReadContext => ({
  shown,
  startedAt: 0,
  folder: '/nowhere',
  workspaceFolder: '/nowhere',
  argv: ['agent'],
  env: () => ({}),
  session: null,
  price: () => null,
  hide: (text) => text,
  search: searchInTime,
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

const claimIn = (agent: Agent, preset: PresetName, stream: readonly string[]): boolean => {
  const reader = readRun(agent, presets[preset].policy.completion.detectors, context(), () => {});
  reader.read(Buffer.from(stream.join('')));
  reader.end();
  return reader.snapshot(true).claim !== null;
};

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

  it('reports a tag that is no claim at the end of a run, unless the run also claims', () => {
    const mention = line({ type: 'text', message: '1', text: '- <promise>DONE</promise>' });
    const nearMissOf = (...stream: readonly string[]) => {
      const reader = readRun(scripted, detectors, context(), () => {});
      reader.read(Buffer.from(stream.join('')));
      expect(reader.snapshot(false)).not.toHaveProperty('nearMiss');
      reader.end();
      return reader.snapshot(true).nearMiss;
    };
    expect(nearMissOf(mention)).toEqual({ tag: '<promise>DONE</promise>', where: 'text' });
    expect(nearMissOf(lines)).toBeUndefined();
    const answer = line({ type: 'result', ok: true, text: '**<promise>DONE</promise>**' });
    expect(nearMissOf(mention, answer)).toBeUndefined();
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

  it('S2.49 finds a tag in an earlier message of Codex, which has no result text, if the preset says so', () => {
    const message = (id: string, text: string) =>
      line({ type: 'item.completed', item: { id, type: 'agent_message', text } });
    const tag = '<response>DONE</response>';
    const streams = [
      [message('item_0', tag), message('item_1', 'That was all.'), line({ type: 'turn.completed' })],
      [message('item_0', tag), message('item_1', 'That was all.')],
    ];
    const halves = [message('item_0', tag.slice(0, 9)), message('item_1', tag.slice(9))];
    for (const stream of [...streams, [...halves, line({ type: 'turn.completed' })]]) {
      expect([claimIn(codex, 'ralph-cli', stream), claimIn(codex, 'default', stream)]).toEqual([true, false]);
    }
  });

  it('S2.49 finds a tag that is split over two texts of Amp without message ids, but a result overrides it', () => {
    const text = (words: string) =>
      line({ type: 'assistant', message: { content: [{ type: 'text', text: words }] } });
    const halves = [text('Fine. <response>DO'), text('NE</response>')];
    expect(claimIn(amp, 'ralph-cli', halves)).toBe(true);
    const result = line({ type: 'result', subtype: 'success', result: 'Not yet.' });
    expect(claimIn(amp, 'ralph-cli', [...halves, result])).toBe(false);
    const repeated = line({ type: 'result', subtype: 'success', result: 'NE</response>' });
    expect(claimIn(amp, 'ralph-cli', [...halves, repeated])).toBe(true);
    // In the document's form, messages of Claude Code have no ids either.
    expect(claimIn(claude, 'ralph-cli', [...halves, repeated])).toBe(true);
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

  it.each(PRESET_NAMES)('does not take a quoted prompt for a claim in the preset %s', (preset) => {
    const folder = mkdtempSync(join(tmpdir(), 'ralph-reader-'));
    const words = 'Do it.\nSay COMPLETE.\n<response>DONE</response>\n<promise>DONE</promise>';
    writeFileSync(join(folder, 'prompt.md'), words);
    for (const mark of ['> ', 'User: ', '  ', '│ ']) {
      const quoted = words.replaceAll(/^/gm, mark);
      const { detectors: texts } = presets[preset].policy.completion;
      const reader = readRun(custom, texts, { ...context(), folder }, () => {});
      reader.read(Buffer.from(`${quoted}\nNot yet.\n`));
      reader.readStderr(Buffer.from(`${quoted}\nNot yet.\n`));
      reader.end();
      expect([mark, reader.snapshot(true).claim]).toEqual([mark, null]);
    }
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

  it('reports at once what the loop must know, usage soon, and nothing else', () => {
    const reader = readRun(scripted, detectors, context(), () => {});
    const news = (...events: readonly object[]): string =>
      reader.read(Buffer.from(events.map(line).join('')));
    expect(news({ type: 'text', text: 'hello' })).toBe('later');
    expect(news({ type: 'tool.start', id: 'a', name: 'Bash' })).toBe('later');
    expect(reader.hasOpenTool).toBe(true);
    expect(news({ type: 'tool.end', id: 'a' })).toBe('later');
    expect(reader.hasOpenTool).toBe(false);
    expect(news({ type: 'limit', resetsAt: 12, message: 'later' })).toBe('now');
    expect(reader.snapshot(false).limit).toEqual({ resetsAt: 12, message: 'later' });
    expect(news({ type: 'progress', costUsd: 0.1 })).toBe('soon');
    expect(news({ type: 'limit', message: 'later' }, { type: 'progress', costUsd: 0.2 })).toBe('now');
    expect(reader.hasResult).toBe(false);
    expect(news({ type: 'result', ok: false, error: 'bad' })).toBe('now');
    expect(reader.hasResult).toBe(true);
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
    // A request that was refused used nothing that is known.
    expect(cost({ costUsd: 0 }, { price })).toBeNull();
    expect(cost({ costUsd: 0, tokens: { input: 0, output: 0 } }, { price })).toBeNull();
    expect(cost({ costUsd: 0, tokens }, { price })).toEqual({ usd: 0, source: 'reported' });
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

describe('an agent that cannot reach its provider', () => {
  const retry = { type: 'retry', attempt: 1, error: 'connect ECONNREFUSED 127.0.0.1:443' };
  const reading = () => {
    const reader = readRun(scripted, detectors, context(), () => {});
    const reads = (...events: readonly object[]): boolean => {
      reader.read(Buffer.from(events.map(line).join('')));
      return !reader.isActive;
    };
    return { reader, reads };
  };

  it('is unreachable from its first retry to its next sign of work', () => {
    const { reader, reads } = reading();
    expect(reads({ type: 'text', text: 'hello' })).toBe(false);
    expect(reads(retry)).toBe(true);
    expect(reader.snapshot(false).unreachable).toBe(true);
    // A line that is still incomplete, noise and stderr show nothing.
    reader.read(Buffer.from('noise\n{"type":"te'));
    expect(reader.isActive).toBe(false);
    reader.readStderr(Buffer.from('retrying\n'));
    expect(reader.isActive).toBe(false);
    reader.read(Buffer.from('xt","text":"back"}\n'));
    expect([!reader.isActive, reader.snapshot(false)]).toEqual([
      false,
      expect.not.objectContaining({ unreachable: true }),
    ]);
  });

  it('has worked if one chunk has both, and is unreachable after it', () => {
    const { reader, reads } = reading();
    expect(reads({ type: 'text', text: 'hello' }, retry)).toBe(false);
    expect(reader.snapshot(false).unreachable).toBe(true);
    expect(reads(retry)).toBe(true);
  });

  it('stays unreachable at the end of its stream unless it succeeded', () => {
    const ended = (...events: readonly object[]): true | undefined => {
      const { reader, reads } = reading();
      reads(retry, ...events);
      reader.end();
      return reader.snapshot(true).unreachable;
    };
    expect(ended()).toBe(true);
    expect(ended({ type: 'result', ok: false, error: 'cancelled' })).toBe(true);
    expect(ended({ type: 'result', ok: true })).toBeUndefined();
  });

  it('is not unreachable if the provider rejects its requests', () => {
    const { reader, reads } = reading();
    expect(reads({ ...retry, error: '401 Invalid API key.' })).toBe(false);
    expect(reader.snapshot(false).unreachable).toBeUndefined();
  });
});

describe('advice', () => {
  const messageOf = (agent: Agent, stderr: string): string => {
    const reader = readRun(agent, detectors, context(), () => {});
    reader.readStderr(Buffer.from(stderr));
    reader.end();
    return reader.error?.message ?? '';
  };

  it('fits the kind of the error', () => {
    expect(messageOf(codex, 'Your credit balance is too low.')).toBe(
      'Your credit balance is too low; add credit to the account of this provider, or check its billing settings',
    );
    expect(messageOf(codex, '403 Forbidden: Host not in allowlist')).toMatch(
      /^the connection to the provider is blocked: .*; check the proxy settings \(HTTPS_PROXY, NO_PROXY\)/,
    );
    expect(messageOf(codex, '400 prompt is too long')).toMatch(
      /^the provider refuses this request: .*; shorten the prompt/,
    );
    expect(messageOf(gemini, 'Invalid auth method selected.')).toContain('gemini, then /auth');
  });
});
