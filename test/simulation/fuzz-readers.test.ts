/**
 * Every reader of a file that another process can write, on a thousand random and mutated contents: it neither fails nor
 * hangs, and what it believes satisfies an oracle that is written without the rules of the readers.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Agent, Usage } from '../../src/agents/agent.ts';
import { claude } from '../../src/agents/claude.ts';
import { codex } from '../../src/agents/codex.ts';
import { gemini } from '../../src/agents/gemini.ts';
import { readNote } from '../../src/git/commit.ts';
import { readReceipt } from '../../src/hosts/process-run.ts';
import { readSnapshot, snapshotText } from '../../src/journal/snapshot.ts';
import { NOTHING_KNOWN } from '../../src/loop/report.ts';
import { exitStatus, shimPid } from '../../src/process/shim.ts';
import { StateFile } from '../../src/projections/state-file.ts';
import { readProgress } from '../../src/workspace/task-progress.ts';
import { childChanges } from '../../src/home/children.ts';
import { Inbox } from '../../src/home/inbox.ts';
import { savedEnvironment } from '../../src/home/saved-environment.ts';
import { readOwner } from '../../src/home/lock-owner.ts';
import { registered } from '../../src/home/registry.ts';
import { sharedLimit } from '../../src/home/shared-limits.ts';
import { readSpec } from '../../src/home/spec.ts';
import { WorkspaceFolder, LoopFolder } from '../../src/home/home.ts';
import { UserError } from '../../src/user-error.ts';
import { readSetUpTree } from '../../src/workspace/set-up.ts';
import { contents } from './fuzz-inputs.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'ralph-fuzz-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A reader of one file. */
interface Reader {
  /** The path of the file, below the folder. */
  readonly file: string;
  /** A content that it believes. */
  readonly sample: unknown;
  /** More contents to mutate. */
  readonly otherSamples?: readonly unknown[];
  /** What it believes; null for nothing. */
  readonly read: (folder: string) => unknown;
  readonly oracle: (believed: unknown) => boolean;
}

const RUNS = 1000;
const KEY = { id: 'it-1', name: 'it', workspace: '/work' };
const COMMIT = 'a'.repeat(40);
const isText = (value: unknown, max: number): value is string =>
  typeof value === 'string' && value.length <= max && !value.includes('\0');
const isCount = (value: unknown): value is number =>
  typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER && value % 1 === 0;
const isPid = (value: unknown): boolean => isCount(value) && value !== 0;
const isPath = (value: unknown): boolean => isText(value, 4096) && value.startsWith('/');
const isId = (value: unknown): boolean => isText(value, 100) && /^\w[\w.-]*$/.test(value);
const isCommit = (value: unknown): boolean => isText(value, 64) && /^[0-9a-f]{40,64}$/.test(value);
const areTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.every((one) => isText(one, 2 ** 20));
/** A field of a value, at any depth: `of(value, 'agent', 'argv')`. */
const of = (value: unknown, ...keys: readonly string[]): unknown =>
  keys.reduce<unknown>(
    (part, key) =>
      typeof part === 'object' && part !== null
        ? Object.entries(part).find(([name]) => name === key)?.[1]
        : undefined,
    value,
  );
const values = (value: unknown): readonly unknown[] =>
  typeof value === 'object' && value !== null ? Object.values(value) : [null];
const keysOf = (value: object): string => Object.keys(value).toSorted().join();

/** What a person can ask for with a command, and nothing else. */
function isHarmless(control: unknown): boolean {
  if (typeof control !== 'object' || control === null) return false;
  const keys = keysOf(control);
  const now = of(control, 'now');
  const text = of(control, 'text');
  switch (of(control, 'type')) {
    case 'pause':
      return keys === 'type';
    case 'resume':
      return keys === 'now,type' && (now === true || now === false);
    case 'stop':
      return keys === 'by,now,type' && of(control, 'by') === 'person' && typeof now === 'boolean';
    case 'tell':
      return keys === 'text,type' && isText(text, 2 ** 20) && /\S/.test(text);
    case 'set':
      return keys === 'limits,type' && areLimits(of(control, 'limits'));
    default:
      return false;
  }
}

function areLimits(limits: unknown): boolean {
  if (typeof limits !== 'object' || limits === null || Array.isArray(limits)) return false;
  const entries = Object.entries(limits);
  return entries.length > 0 && entries.every(([name, value]) => isLimit(name, value));
}

function isLimit(name: string, value: unknown): boolean {
  if (value === null)
    return /^(?:iterations|timeMs|costUsd|tokens|failures|outputBytes|unchanged)$/.test(name);
  if (name === 'costUsd') return typeof value === 'number' && value > 0 && value < Number.POSITIVE_INFINITY;
  if (name !== 'unchanged')
    return /^(?:iterations|timeMs|tokens|failures|outputBytes)$/.test(name) && isPid(value);
  if (typeof value !== 'object' || value === null || keysOf(value) !== 'end,nudge') return false;
  return isPid(of(value, 'end')) && (of(value, 'nudge') === null || isPid(of(value, 'nudge')));
}

const spec = {
  version: 1,
  id: 'it-1a2b3c4d',
  name: 'it',
  workspace: '/home/me/here',
  created: '2026-01-01T00:00:00.000Z',
  agent: { kind: 'custom', argv: ['agent', '--flag'], env: { A: 'b' }, given: ['X'], promptVia: 'file' },
  prompt: { text: 'work' },
  worktree: { path: '/home/me/tree', branch: 'b', from: null, folder: '/home/me/tree/sub' },
  parent: { run: 'x.1.1', folder: '/home/me/parent' },
};

const snapshot = { mark: { events: 3, bytes: 100, sum: 7 }, ...NOTHING_KNOWN, logBytes: 10, entries: 2 };

const fixture = (path: string): string =>
  readFileSync(new URL(`../fixtures/${path}`, import.meta.url), 'utf8');

/** What a CLI has recorded of a run. */
function recorded(
  agent: Agent,
  startedAt: string,
  env: Readonly<Record<string, string>>,
  session: string,
): Usage | null {
  const run = { startedAt: Date.parse(startedAt), env, folder: '/nowhere', workspaceFolder: '/nowhere' };
  return agent.record?.(run).read({ session, stderr: '' }) ?? null;
}

const hasPossibleTokens = (usage: unknown): boolean =>
  values(of(usage, 'parts')).every((part) =>
    values(of(part, 'tokens')).every((count) => typeof count === 'number' && count >= 0 && count < 1e17),
  );

const READERS: Readonly<Record<string, Reader>> = {
  'a message in the inbox': {
    file: 'inbox/m.json',
    sample: {
      type: 'set',
      limits: { iterations: 5, costUsd: 1.5, timeMs: null, unchanged: { nudge: 2, end: 3 } },
    },
    otherSamples: [
      { type: 'pause' },
      { type: 'resume', now: true },
      { type: 'stop', now: true, by: 'person' },
      { type: 'tell', text: 'words' },
      { type: 'abort', message: 'x', as: 'bad-input' },
      { type: 'signal', signal: 'SIGINT' },
    ],
    read(at) {
      const [message = null] = new Inbox(join(at, 'inbox')).messages();
      if (message === null) rmSync(join(at, 'inbox', 'rejected'), { recursive: true, force: true });
      return message?.control ?? null;
    },
    oracle: isHarmless,
  },
  'the spec': {
    file: 'spec.json',
    sample: spec,
    read(at) {
      try {
        return readSpec(join(at, 'spec.json'));
      } catch (error) {
        if (error instanceof UserError) return null;
        throw error;
      }
    },
    oracle: (value) =>
      isId(of(value, 'id')) &&
      isId(of(value, 'name')) &&
      isText(of(value, 'name'), 64) &&
      isPath(of(value, 'workspace')) &&
      isText(of(value, 'agent', 'kind'), 100) &&
      areTexts(of(value, 'agent', 'argv')) &&
      (of(value, 'agent', 'env') === undefined || areTexts(values(of(value, 'agent', 'env')))) &&
      (of(value, 'agent', 'given') === undefined || areTexts(of(value, 'agent', 'given'))) &&
      (typeof of(value, 'prompt', 'text') === 'string' || isPath(of(value, 'prompt', 'file'))) &&
      (of(value, 'worktree') === undefined ||
        (isPath(of(value, 'worktree', 'path')) && isPath(of(value, 'worktree', 'folder')))) &&
      (of(value, 'parent') === null ||
        (isPath(of(value, 'parent', 'folder')) && isText(of(value, 'parent', 'run'), 1000))),
  },
  'the kept environment': {
    file: 'kept/it-1.json',
    sample: { env: { PATH: '/bin' }, argv: ['agent'], umask: 18 },
    read: (at) => savedEnvironment('it-1', at),
    oracle: (value) =>
      areTexts(values(of(value, 'env'))) &&
      areTexts(of(value, 'argv')) &&
      isCount(of(value, 'umask')) &&
      Number(of(value, 'umask')) <= 511,
  },
  'an entry of the registry': {
    file: `registry/${createHash('sha256').update('/work').digest('hex').slice(0, 32)}/it`,
    sample: KEY,
    read: (at) => registered(at)[0] ?? null,
    oracle: (value) =>
      isId(of(value, 'id')) && of(value, 'name') === 'it' && of(value, 'workspace') === '/work',
  },
  'a shared limit': {
    file: 'limits/a.json',
    sample: { resetsAt: 2000, message: 'until then', metAt: 500 },
    read: (at) => sharedLimit('a', 1000, at),
    oracle: (value) => {
      const [resetsAt, metAt] = [of(value, 'resetsAt'), of(value, 'metAt')];
      if (typeof resetsAt !== 'number' || typeof metAt !== 'number') return false;
      return (
        resetsAt > 1000 &&
        resetsAt < metAt + 40 * 86_400_000 &&
        metAt < 8.7e15 &&
        isText(of(value, 'message'), 10_000)
      );
    },
  },
  'the owner of a lock': {
    file: 'lock',
    sample: { pid: 7, since: '12345', boot: 'b' },
    read: (at) => readOwner(join(at, 'lock')),
    oracle: (value) =>
      isPid(of(value, 'pid')) && ['since', 'boot'].every((field) => isText(of(value, field), 100)),
  },
  'a receipt': {
    file: 'receipt.json',
    sample: { pid: 7, startTime: '1', bootId: 'b', pidNamespace: 'n' },
    read: (at) => readReceipt(at),
    oracle: (value) =>
      isPid(of(value, 'pid')) &&
      ['startTime', 'bootId', 'pidNamespace'].every((field) => isText(of(value, field), 200)),
  },
  'the exit status of a shim': {
    file: 'exit',
    sample: '143\n',
    read: (at) => exitStatus(at),
    oracle: (status: unknown) => isCount(status) && status <= 255,
  },
  'the pid of a shim': { file: 'started', sample: '4711\n', read: (at) => shimPid(at), oracle: isPid },
  'the state file': {
    file: '.ralph/loops/it/state.json',
    sample: { max_iterations: 7, status: 'running' },
    read(at) {
      const file = new StateFile(new WorkspaceFolder(at, 'it'));
      const { policy } = NOTHING_KNOWN.state;
      file.open({ ...NOTHING_KNOWN.state, created: true, policy: { ...policy, stateEdits: true } });
      const [edit = null] = file.takeEdit(NOTHING_KNOWN.state);
      return edit?.type === 'policy.changed' ? edit.policy.limits.iterations : null;
    },
    oracle: isPid,
  },
  'the announcement of a child': {
    file: 'children/child-1',
    sample: '/nowhere/loops/child-1',
    // No loop lives there, so nothing may be believed.
    read: (at) => childChanges(new LoopFolder(KEY, at), NOTHING_KNOWN.state)[0] ?? null,
    oracle: () => false,
  },
  'the progress of SCM tasks': {
    file: 'done.json',
    sample: { commit: COMMIT, done: ['git commit'] },
    read: (at) => readProgress(at),
    oracle: (value) =>
      (of(value, 'commit') === null || isCommit(of(value, 'commit'))) && areTexts(of(value, 'done')),
  },
  'the note of a commit': {
    file: 'head.json',
    sample: { head: COMMIT, tree: COMMIT, message: 'words' },
    read: (at) => readNote(at),
    oracle: (value) =>
      [of(value, 'head'), of(value, 'tree')].every((id) => id === null || isCommit(id)) &&
      (of(value, 'message') === null || typeof of(value, 'message') === 'string'),
  },
  'the tree after a set-up': {
    file: 'setup/left.json',
    sample: { tree: COMMIT, base: '' },
    read: (at) => readSetUpTree({ folder: new LoopFolder(KEY, at) }),
    oracle: (value) =>
      isCommit(of(value, 'tree')) && (of(value, 'base') === '' || isCommit(of(value, 'base'))),
  },
  'the snapshot': {
    file: 'snapshot.json',
    sample: snapshotText(snapshot),
    read: (at) => readSnapshot(join(at, 'snapshot.json')),
    // Its checksum does not allow any other one.
    oracle: (value: unknown) => JSON.stringify(value) === JSON.stringify(snapshot),
  },
  'the session file of codex': {
    file: `sessions/2026/11/16/rollout-x-01a1e2d4-ecad-7683-9423-cccf461cd5af.jsonl`,
    sample: fixture('codex-session/rollout.jsonl'),
    read: (at) =>
      recorded(codex, '2026-11-16T05:29:27Z', { CODEX_HOME: at }, '01a1e2d4-ecad-7683-9423-cccf461cd5af'),
    oracle: hasPossibleTokens,
  },
  'the session file of claude': {
    file: 'projects/x/db43316d-170c-4313-9ae5-fa40bf1e43bd.jsonl',
    sample: fixture('claude-session/session.jsonl'),
    read: (at) =>
      recorded(
        claude,
        '2026-11-19T04:41:02Z',
        { CLAUDE_CONFIG_DIR: at },
        'db43316d-170c-4313-9ae5-fa40bf1e43bd',
      ),
    oracle: hasPossibleTokens,
  },
  'the session file of gemini': {
    file: '.gemini/tmp/x/chats/session-x-a38bbf14.jsonl',
    sample: fixture('gemini-session/chat.jsonl'),
    read: (at) =>
      recorded(gemini, '2026-11-19T04:43:35Z', { HOME: at }, 'a38bbf14-cf44-43c4-b608-50c4279279a8'),
    oracle: hasPossibleTokens,
  },
};

const asText = (sample: unknown): string => (typeof sample === 'string' ? sample : JSON.stringify(sample));
const textOf = ({ sample }: Reader): string => asText(sample);

// A busy machine takes ten times as long.
describe.each(Object.entries(READERS))('%s', { timeout: 120_000 }, (name, reader) => {
  const path = (): string => join(folder, reader.file);
  const put = (content: string | Buffer): void => {
    rmSync(path(), { recursive: true, force: true });
    mkdirSync(dirname(path()), { recursive: true });
    writeFileSync(path(), content);
  };
  const believes = (): boolean => {
    const believed = reader.read(folder);
    if (believed === null) return false;
    if (reader.oracle(believed)) return true;
    throw new Error(`believed ${JSON.stringify(believed).slice(0, 500)}`);
  };

  it('is believed only where it is valid', () => {
    put(textOf(reader));
    expect(believes()).toBe(name !== 'the announcement of a child');
    const samples = [reader.sample, ...(reader.otherSamples ?? [])].map(asText);
    fc.assert(
      fc.property(fc.oneof(...samples.map(contents)), (content) => {
        // A new file: some file systems write at once what replaces the content of an old one.
        rmSync(path(), { recursive: true, force: true });
        writeFileSync(path(), content);
        believes();
      }),
      { numRuns: RUNS },
    );
  });

  it('is not waited for, followed or read whole if it is something else', () => {
    const nothing = (): void => {
      const believed = reader.read(folder);
      // Without a note, the progress is that of a loop that has done nothing.
      expect(believed).toEqual(name === 'the progress of SCM tasks' ? { commit: null, done: [] } : null);
      rmSync(path(), { recursive: true, force: true });
    };
    put('');
    rmSync(path());
    nothing();
    mkdirSync(path());
    nothing();
    execFileSync('mkfifo', [path()]);
    nothing();
    put(textOf(reader));
    renameSync(path(), join(folder, 'elsewhere'));
    symlinkSync(join(folder, 'elsewhere'), path());
    nothing();
    symlinkSync('/dev/zero', path());
    nothing();
    if (name === 'the session file of codex') return; // Only its end is read, however long it is.
    put(textOf(reader));
    truncateSync(path(), 2 ** 40);
    nothing();
  });
});
