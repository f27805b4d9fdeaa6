/** A session of Claude Code as its hooks see it: recorded events, and a transcript that grows. */
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isRecord } from '../../src/loop/shape.ts';
import { claudeHook } from '../../src/programs/claude/events.ts';
import { openSessionPlace, type SessionPlace } from './session-place.ts';

/** Opens a session with its own state and workspace for the current test. */
export function openClaude(): ClaudeSession {
  return new ClaudeSession(openSessionPlace());
}

export class ClaudeSession {
  readonly id = 'aaaaaaaa-1111-2222-3333-444444444444';
  readonly root: string;
  readonly workspace: string;
  readonly transcript: string;
  #messages = 0;

  constructor({ root, workspace }: SessionPlace) {
    this.root = root;
    this.workspace = workspace;
    this.transcript = join(root, 'transcript.jsonl');
  }

  /** An event as Claude Code 2.1.325 has written it, in this session. */
  recorded(name: string, more: object = {}): Record<string, unknown> {
    const file = fileURLToPath(new URL(`../fixtures/session/claude/${name}.json`, import.meta.url));
    const event: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (!isRecord(event)) throw new Error(`no event: ${name}`);
    const { id: session_id, transcript: transcript_path, workspace: cwd } = this;
    return { ...event, session_id, transcript_path, cwd, ...more };
  }

  async ask(event: unknown, env: NodeJS.ProcessEnv = {}): Promise<HookAnswer | null> {
    const { workspace } = this;
    return claudeHook(event, { PATH: process.env['PATH'], CLAUDE_PROJECT_DIR: workspace, ...env });
  }

  command(name: string, args = '', more: object = {}): Promise<HookAnswer | null> {
    return this.ask(this.recorded('expansion', { command_name: name, command_args: args, ...more }));
  }

  /** The agent says something after a prompt, and the turn ends. */
  turnEnds(
    text: string,
    { tools = 0, isFirst = false, env, ...more }: Ending = {},
  ): Promise<HookAnswer | null> {
    this.writes(text, tools);
    const event = this.recorded(isFirst ? 'stop' : 'stop-again', { last_assistant_message: text, ...more });
    return this.ask(event, env);
  }

  /** Several turns without a tool call, of which a person has started the first; what Ralph decides after each. */
  async turns(count: number, env: NodeJS.ProcessEnv = {}): Promise<readonly (string | undefined)[]> {
    const decisions = [];
    for (let turn = 0; turn < count; turn++) {
      // oxlint-disable-next-line no-await-in-loop -- one turn after the other
      const answer = await this.turnEnds(`turn ${turn}`, { isFirst: turn === 0, env });
      decisions.push(answer?.decision);
    }
    return decisions;
  }

  /** Writes a prompt, tool calls and a text of the agent to the transcript. */
  writes(text: string, tools = 0): void {
    const usage = { input_tokens: 100, output_tokens: 10 };
    const entry = (content: object): object => ({
      type: 'assistant',
      message: { id: `m${this.#messages++}`, model: 'claude-sonnet-4-5', content: [content], usage },
    });
    const calls = Array.from({ length: tools }, () => entry({ type: 'tool_use', id: 't', name: 'Bash' }));
    const prompt = { type: 'user', message: { content: 'a prompt' } };
    this.appends(prompt, ...calls, entry({ type: 'text', text }));
  }

  appends(...entries: readonly object[]): void {
    appendFileSync(this.transcript, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
  }
}

interface Ending {
  /** Number of tool calls before the text. */
  readonly tools?: number;
  /** The turn was started by a person, not by the hook. */
  readonly isFirst?: boolean;
  readonly env?: NodeJS.ProcessEnv;
  readonly [field: string]: unknown;
}

export interface HookAnswer {
  readonly decision?: string;
  readonly reason?: string;
  readonly systemMessage?: string;
  readonly hookSpecificOutput?: { readonly hookEventName: string; readonly additionalContext?: string };
}
