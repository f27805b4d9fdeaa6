/**
 * The hooks of Claude Code, translated into steps of a session (`ralph hook claude`).
 *
 * 1. Nothing here breaks a session: whatever goes wrong, the session gets at most a message.
 * 2. The task is data. It comes with the event of the command and never passes through a shell.
 * 3. Only the commands start and end loops. A session without a loop is let go.
 * 4. Events of subagents are not turns of the session.
 */
import { parseRalphArguments } from '../../session/arguments.ts';
import { readMemory, writeMemory } from './memory.ts';
import { failed, note, stopped } from './stop.ts';
import { readSubagents, transcriptEnd } from './transcript.ts';
import {
  cancelledText,
  failureText,
  NO_LOOP_TEXT,
  notStartedText,
  startedText,
} from '../../session/command-text.ts';
import { checkEnvironment, hookInput, type HookInput } from '../hook-input.ts';
import { sessionStartText } from '../../session/session-start.ts';
import { cancelSession, sessionStatus, startSession } from '../../session/session.ts';

/** The answer to a hook of Claude Code; null for none. */
export async function claudeHook(input: unknown, env: NodeJS.ProcessEnv): Promise<object | null> {
  const event = hookInput(input);
  if (event === null || event.text('agent_id') !== null) return null;
  try {
    return (await EVENTS.get(event.event)?.(event, env)) ?? null;
  } catch (error) {
    return note(`Ralph: ${failureText(error)}`);
  }
}

type Translation = (input: HookInput, env: NodeJS.ProcessEnv) => Promise<object | null>;

const EVENTS: ReadonlyMap<string, Translation> = new Map([
  ['UserPromptExpansion', commanded],
  ['UserPromptSubmit', prompted],
  ['SessionStart', began],
  ['Stop', stopped],
  ['StopFailure', failed],
]);

/** A command, which has the prefix `ralph:` if it comes from the plugin. */
async function commanded(input: HookInput, env: NodeJS.ProcessEnv): Promise<object | null> {
  switch (input.text('command_name')?.replace(/^ralph:/, '') ?? '') {
    case 'ralph':
      return isStarted(input) ? null : start(input, env, input.text('command_args') ?? '');
    case 'cancel-ralph': {
      const state = await cancelSession(input.session);
      return refused(state === null ? NO_LOOP_TEXT : cancelledText(state));
    }
    case 'ralph-status':
      return refused((await sessionStatus(input.session))?.lines.join('\n') ?? NO_LOOP_TEXT);
    default:
      return null;
  }
}

/** `/ralph`: the command goes to the model only if the loop has started. */
async function start(input: HookInput, env: NodeJS.ProcessEnv, args: string): Promise<object> {
  const { session, transcript } = input;
  try {
    const asked = parseRalphArguments(args);
    const started = await startSession({
      session,
      program: 'claude',
      workspace: workspaceOf(input, env),
      asked,
      env: checkEnvironment(env, OF_HOOKS),
    });
    const { prompt, context } = started;
    if (transcript !== null)
      writeMemory(session, {
        transcript,
        offset: transcriptEnd(transcript),
        subagents: readSubagents(transcript, {}).offsets,
        blocks: 0,
        pending: null,
        startedBy: input.text('prompt_id') ?? '',
      });
    const task = `The task:\n${prompt}`;
    // Claude Code replaces a longer context by its beginning; the task is in the command as well.
    const additionalContext = context.length + task.length > MAX_CONTEXT ? context : `${context}\n${task}`;
    return {
      ...note(startedText(started, '/')),
      hookSpecificOutput: { hookEventName: input.event, additionalContext },
    };
  } catch (error) {
    const why = notStartedText(failureText(error));
    // The person sees the message that was blocked, and may copy it.
    return input.event === 'UserPromptSubmit' ? { decision: 'block', reason: why } : refused(why);
  }
}

/** Whether the message of this command has started the loop before Claude Code took it for a command. */
function isStarted({ session, text }: HookInput): boolean {
  const id = text('prompt_id') ?? '';
  return id !== '' && readMemory(session)?.startedBy === id;
}

const MAX_CONTEXT = 8000;

/** Shows a text to the person; the command does not go to the model. */
function refused(reason: string): object {
  return {
    decision: 'block',
    reason,
    hookSpecificOutput: { hookEventName: 'UserPromptExpansion', suppressOriginalPrompt: true },
  };
}

/**
 * Starts the loop of a message that begins with `/ralph`: a pasted block is no command for Claude Code. If it is one, the event of
 * the command comes next, with the same id. For other messages adds the prompt that the session did not get when it was let go.
 */
async function prompted(input: HookInput, env: NodeJS.ProcessEnv): Promise<object | null> {
  const [command, args = ''] = COMMAND.exec(input.text('prompt') ?? '') ?? [];
  if (command !== undefined && input.text('prompt_id') !== null) return start(input, env, args);
  const memory = readMemory(input.session);
  if (memory === null || memory.pending === null || /^\/\S/.test(input.text('prompt') ?? '')) return null;
  writeMemory(input.session, { ...memory, pending: null });
  return { hookSpecificOutput: { hookEventName: input.event, additionalContext: memory.pending } };
}

const COMMAND = /^\/(?:ralph:)?ralph(?:\s+([^]*))?$/;

async function began(input: HookInput, env: NodeJS.ProcessEnv): Promise<object | null> {
  const text = await sessionStartText(input.session, workspaceOf(input, env), '/');
  return text === null ? null : note(text);
}

function workspaceOf({ cwd }: HookInput, env: NodeJS.ProcessEnv): string {
  return env['CLAUDE_PROJECT_DIR'] ?? cwd ?? process.cwd();
}

/** A token is among them. */
const OF_HOOKS =
  /^(?:CLAUDECODE|CLAUDE_(?:PID|ENV_FILE|PROJECT_DIR|PLUGIN_\w+|CODE_(?:CHILD_SESSION|ENTRYPOINT|MESSAGING_\w+|SESSION_\w+)))$/;
