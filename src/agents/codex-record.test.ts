import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { presets } from '../loop/presets.ts';
import type { SessionSpend } from '../loop/state.ts';
import { searchInTime } from '../owner/pattern-search.ts';
import { codex } from './codex.ts';
import { inMessageRun } from './message-run.ts';
import { readRun } from './reader.ts';

const FIXTURES = new URL('../../test/fixtures/codex-session/', import.meta.url);
const rollout = readFileSync(new URL('rollout.jsonl', FIXTURES), 'utf8');
const failedRun = readFileSync(new URL('failed-run.jsonl', FIXTURES));
const THREAD = '01a1e2d4-ecad-7683-9423-cccf461cd5af';
const FIRST_RUN = Date.parse('2026-11-16T05:29:27Z');
const SECOND_RUN = Date.parse('2026-11-16T05:29:29Z');
const DAY = '2026/11/16';
const used = (answers: number) => ({
  input: 1000 * answers,
  output: 30 * answers,
  cacheRead: 200 * answers,
  cacheWrite: 0,
});

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'ralph-codex-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

/** Writes the session file as codex does. */
const records = (text: string, folder = '.codex', day = DAY, thread = THREAD): string => {
  const path = join(home, folder, 'sessions', day, `rollout-2026-11-16T05-29-27-${thread}.jsonl`);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
};

interface Told {
  readonly env?: Readonly<Record<string, string>>;
  readonly startedAt?: number;
  readonly stdout?: Buffer;
  readonly stderr?: string;
  readonly session?: SessionSpend | null;
  readonly agent?: typeof codex;
}

const tokensOf = ({ env, startedAt = FIRST_RUN, stdout = failedRun, stderr = '', ...told }: Told = {}) => {
  const reader = readRun(
    told.agent ?? codex,
    presets.default.policy.completion.detectors,
    {
      shown: { offset: 0 },
      startedAt,
      folder: '/nowhere',
      workspaceFolder: '/nowhere',
      argv: ['codex'],
      env: () => env ?? { HOME: home },
      session: told.session ?? null,
      price: () => null,
      hide: (text) => text,
      search: searchInTime,
    },
    () => {},
  );
  reader.read(stdout);
  reader.readStderr(Buffer.from(stderr));
  reader.end();
  return reader.snapshot(true).tokens;
};

/** The session after its first run. */
const afterFirstRun = rollout.slice(0, rollout.indexOf('"task_complete"'));
const upTo = (entry: string): string => rollout.slice(0, rollout.indexOf(entry));

describe('the usage of a codex run whose stream reports none', () => {
  it('comes from the session file that codex writes', () => {
    expect(tokensOf()).toBeNull();
    records(afterFirstRun);
    expect(tokensOf()).toEqual(used(2));
  });

  it('is found in the home of the agent, not of Ralph', () => {
    records(afterFirstRun, 'elsewhere');
    expect(tokensOf()).toBeNull();
    expect(tokensOf({ env: { HOME: '/nowhere', CODEX_HOME: join(home, 'elsewhere') } })).toEqual(used(2));
    expect(tokensOf({ env: {} })).toBeNull();
    expect(tokensOf({ env: { HOME: home, CODEX_HOME: 'elsewhere' } })).toBeNull();
  });

  it('is found on the day before and after, because the time zone of the agent is unknown', () => {
    for (const day of ['2026/11/15', '2026/11/17']) {
      records(afterFirstRun, '.codex', day);
      expect(tokensOf()).toEqual(used(2));
      rmSync(join(home, '.codex'), { recursive: true });
    }
    records(afterFirstRun, '.codex', '2026/11/10');
    expect(tokensOf()).toBeNull();
  });

  it('is known of a run that was stopped while a tool ran', () => {
    records(upTo('"function_call_output"'));
    expect(tokensOf({ stdout: failedRun.subarray(0, 250) })).toEqual(used(1));
  });

  it('is that of the run alone if it continues a session', () => {
    records(rollout);
    expect(tokensOf({ startedAt: SECOND_RUN })).toEqual(used(1));
    const session = { id: THREAD, tokens: used(2), usd: 0 };
    expect(tokensOf({ startedAt: SECOND_RUN, session })).toEqual(used(1));
    // The continued session has recorded nothing since.
    records(afterFirstRun);
    expect(tokensOf({ startedAt: SECOND_RUN, session })).toBeNull();
  });

  it('is not read if the stream reports it', () => {
    records(rollout);
    const usage = { input_tokens: 7, output_tokens: 1 };
    const completed = Buffer.from(`${JSON.stringify({ type: 'turn.completed', usage })}\n`);
    expect(
      tokensOf({ stdout: Buffer.concat([failedRun.subarray(0, failedRun.indexOf('\n') + 1), completed]) }),
    ).toMatchObject({
      input: 7,
    });
  });

  it('is found by the session id that codex prints on stderr in text mode', () => {
    records(afterFirstRun);
    const stderr = `OpenAI Codex v0.166.0\n--------\nsession id: ${THREAD}\n--------\nuser\nhi\n`;
    const stdout = Buffer.from('Fix parser\n');
    expect(tokensOf({ agent: inMessageRun(codex), stdout, stderr })).toEqual(used(2));
  });

  it.each([
    '../../../etc/passwd',
    `x/../${THREAD}`,
    `${THREAD}\n`,
    '',
    '01a1e2d4-ecad-7683-9423-cccf461cd5a*',
    '.',
  ])('is unknown if the thread id is %j', (thread) => {
    records(afterFirstRun);
    const started = JSON.stringify({ type: 'thread.started', thread_id: thread });
    expect(tokensOf({ stdout: Buffer.from(`${started}\n`) })).toBeNull();
  });

  it('is unknown if the file is a link, a pipe, a folder, or has no valid total', () => {
    const path = records('');
    const target = join(home, 'target');
    writeFileSync(target, rollout);
    rmSync(path);
    symlinkSync(target, path);
    expect(tokensOf()).toBeNull();
    rmSync(path);
    execFileSync('mkfifo', [path]);
    expect(tokensOf()).toBeNull();
    rmSync(path);
    mkdirSync(path);
    expect(tokensOf()).toBeNull();
    rmSync(path, { recursive: true });
    const total = (usage: unknown): string =>
      `${JSON.stringify({ timestamp: '2026-11-16T05:29:28Z', type: 'event_msg', payload: { type: 'token_count', info: { total_token_usage: usage } } })}\n`;
    for (const usage of [
      null,
      {},
      { input_tokens: -1, output_tokens: 1 },
      { input_tokens: '5', output_tokens: 1 },
    ])
      expect(records(total(usage)) === '' || tokensOf()).toBeNull();
    records(
      `${total({ input_tokens: 1, output_tokens: 2 })}{"type":"event_msg","payload":{"type":"token_count`,
    );
    expect(tokensOf()).toEqual({ input: 1, output: 2, cacheRead: 0, cacheWrite: 0 });
  });

  it('is read from the end of a file of any size', () => {
    const filler = `${JSON.stringify({ type: 'response_item', text: 'x'.repeat(2 ** 20) })}\n`;
    const path = records(afterFirstRun);
    writeFileSync(path, afterFirstRun + filler.repeat(12) + rollout.slice(afterFirstRun.length));
    expect(tokensOf({ startedAt: SECOND_RUN, session: { id: THREAD, tokens: used(2), usd: 0 } })).toEqual(
      used(1),
    );
  });
});
