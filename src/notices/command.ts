import { exec } from '../process/exec.ts';
import type { ToldNotice } from '../text/notices.ts';
import { Undelivered, type Channel } from './channel.ts';

/**
 * A command of the user. The shell reads only what the user wrote: what agents and loops say is in the environment, and as
 * JSON on stdin.
 */
export const command: Channel = {
  name: 'command',
  serves: ({ kind }) => kind === 'command',
  async send(notice, { target, cwd, env, interrupt }) {
    const input = `${JSON.stringify(notice)}\n`;
    const { timeoutMs } = target;
    const options = { cwd, env: { ...env, ...factsOf(notice) }, input, timeoutMs, interrupt };
    const argv = ['/bin/sh', '-c', target.command ?? 'false'] as const;
    const done = await exec([...argv], { ...options, graceMs: GRACE_MS, maxBytes: 4096 });
    if (done?.code === 0) return;
    const how =
      done === null ? 'cannot be started' : done.code === null ? 'timed out' : `exit code ${done.code}`;
    throw new Undelivered(how, true);
  },
};

/** After that a command that keeps its loop from ending is killed. */
const GRACE_MS = 500;

/** What the command gets to know. A program cannot receive NUL. */
function factsOf(notice: ToldNotice): Record<string, string> {
  const { id, event, loop, loopId, workspace, at, iteration, title, text, question, command: next } = notice;
  const facts = {
    RALPH_NOTICE_ID: id,
    RALPH_NOTICE_EVENT: event,
    RALPH_NOTICE_LOOP: loop,
    RALPH_NOTICE_LOOP_ID: loopId,
    RALPH_NOTICE_WORKSPACE: workspace,
    RALPH_NOTICE_AT: at,
    RALPH_NOTICE_ITERATION: String(iteration),
    RALPH_NOTICE_TITLE: title,
    RALPH_NOTICE_TEXT: text,
    RALPH_NOTICE_QUESTION: question ?? '',
    RALPH_NOTICE_COMMAND: next ?? '',
  };
  return Object.fromEntries(
    Object.entries(facts).map(([name, value]) => [name, value.replaceAll('\0', '').slice(0, MAX_CHARS)]),
  );
}

/** Linux passes at most 128 KiB in one variable. */
const MAX_CHARS = 32 * 1024;
