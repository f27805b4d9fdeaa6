/**
 * `ralph hook codex`: the hooks of Codex, translated into the steps of a session. `UserPromptSubmit` starts, cancels and shows
 * a loop, `Stop` takes a step, `Interrupt` (Esc) cancels, and `SessionStart` mentions loops.
 *
 * 1. Only a message that begins with a command of Ralph starts a loop; its text is data on stdin, never part of a command.
 * 2. A session without a loop costs one look at its state file, and gets no answer.
 * 3. Whatever goes wrong becomes a message for the person. It neither ends a turn nor keeps the session going.
 */
import type { Answer } from '../../session/answer.ts';
import { parseRalphArguments } from '../../session/arguments.ts';
import {
  cancelledText,
  failureText,
  NO_LOOP_TEXT,
  notStartedText,
  startedText,
} from '../../session/command-text.ts';
import { finishedTurn, isDuringTurn } from './turn.ts';
import { checkEnvironment, hookInput, type HookInput } from '../hook-input.ts';
import {
  cancelSession,
  endTurn,
  refuseDamagedState,
  sessionStatus,
  startSession,
  type StartedSession,
} from '../../session/session.ts';
import { readState } from '../../session/session-file.ts';
import { sessionStartText } from '../../session/session-start.ts';

/** Codex's answer; null for no answer. */
export async function codexHook(input: unknown, env: NodeJS.ProcessEnv): Promise<CodexAnswer | null> {
  const event = hookInput(input);
  // Subagents have the id of their session: what they are told comes from no person, and their turns are no turns of it.
  if (event === null || event.text('agent_id') !== null) return null;
  try {
    return await answerTo(event, env);
  } catch (error) {
    return say(event, `Ralph: ${failureText(error)}`);
  }
}

/** Codex refuses an answer with any other field. */
export interface CodexAnswer {
  readonly decision?: 'block';
  readonly reason?: string;
  readonly systemMessage?: string;
  readonly hookSpecificOutput?: {
    readonly hookEventName: 'UserPromptSubmit';
    readonly additionalContext: string;
  };
}

async function answerTo(event: HookInput, env: NodeJS.ProcessEnv): Promise<CodexAnswer | null> {
  switch (event.event) {
    case 'UserPromptSubmit': {
      const command = codexCommand(event.text('prompt') ?? '');
      return command === null ? null : await carryOut(command, event, env);
    }
    case 'SessionStart': {
      const text = await sessionStartText(event.session, event.cwd ?? process.cwd(), '$');
      return text === null ? null : say(event, text);
    }
    case 'Stop':
      return await step(event);
    case 'Interrupt':
      return await cancel(event);
    default:
      return null;
  }
}

/** What a person has typed for Ralph in Codex: the command and the text after it. */
interface CodexCommand {
  readonly name: 'ralph' | 'cancel-ralph' | 'ralph-status';
  readonly args: string;
}

/**
 * The command at the beginning of a message; null for any other message. Codex has no commands of plugins: a person mentions
 * the skill (`$ralph`, which completes to `$ralph:ralph`), or types a blank before `/ralph`.
 */
export function codexCommand(message: string): CodexCommand | null {
  const [whole, name] = COMMAND.exec(message) ?? [];
  if (whole === undefined || !isName(name)) return null;
  return { name, args: message.slice(whole.length).trim() };
}

const COMMAND = /^\s*[/$](?:ralph:)?(ralph|cancel-ralph|ralph-status)(?!\S)/;

function isName(text: string | undefined): text is CodexCommand['name'] {
  return text !== undefined;
}

async function carryOut(
  { name, args }: CodexCommand,
  event: HookInput,
  env: NodeJS.ProcessEnv,
): Promise<CodexAnswer> {
  switch (name) {
    case 'ralph':
      return await start(args, event, env);
    case 'cancel-ralph':
      return (await cancel(event)) ?? say(event, NO_LOOP_TEXT);
    case 'ralph-status':
      return say(event, (await sessionStatus(event.session))?.lines.join('\n') ?? NO_LOOP_TEXT);
  }
}

async function start(args: string, event: HookInput, env: NodeJS.ProcessEnv): Promise<CodexAnswer> {
  let started: StartedSession;
  try {
    started = await startSession({
      session: event.session,
      program: 'codex',
      workspace: event.cwd ?? process.cwd(),
      asked: parseRalphArguments(args),
      env: checkEnvironment(env, OF_HOOKS),
    });
  } catch (error) {
    return say(event, notStartedText(failureText(error)));
  }
  const { prompt, context } = started;
  return {
    systemMessage: startedText(started, '$'),
    hookSpecificOutput: {
      hookEventName: 'UserPromptSubmit',
      additionalContext: `${context}\n\nThe task:\n${prompt}`,
    },
  };
}

const OF_HOOKS = /^(?:CLAUDE_)?PLUGIN_(?:ROOT|DATA)$/;

async function step(event: HookInput): Promise<CodexAnswer | null> {
  const state = readState(event.session);
  if (state === null) refuseDamagedState(event.session);
  if (state === null) return null;
  const turn = finishedTurn(event, Date.parse(state.startedAt));
  return answerOf(await endTurn(event.session, turn, undefined, { state }));
}

function answerOf(answer: Answer): CodexAnswer | null {
  switch (answer.type) {
    case 'none':
      return null;
    case 'continue':
      return { decision: 'block', reason: answer.prompt, systemMessage: answer.message };
    case 'waiting':
    case 'ended':
      return { systemMessage: answer.message };
  }
}

/** Ends the loop of the session; null if it has none. */
async function cancel(event: HookInput): Promise<CodexAnswer | null> {
  if (readState(event.session) === null) return null;
  const state = await cancelSession(event.session);
  return state === null ? null : say(event, cancelledText(state));
}

/**
 * A message for the person. A new prompt that was for Ralph only is blocked, so that it never reaches the model. A block in
 * the middle of a turn would end that turn, so there the agent is told that the message was not for it.
 */
function say(event: HookInput, message: string): CodexAnswer {
  if (event.event !== 'UserPromptSubmit') return { systemMessage: message };
  if (!isDuringTurn(event)) return { decision: 'block', reason: message };
  const additionalContext = `The last message of the user was for Ralph, which has answered: ${message}\nContinue your work.`;
  return {
    systemMessage: message,
    hookSpecificOutput: { hookEventName: 'UserPromptSubmit', additionalContext },
  };
}
