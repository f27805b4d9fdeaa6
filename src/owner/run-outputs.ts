import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { AgentEvent } from '../agents/agent.ts';
import { agentNamed } from '../agents/agents.ts';
import { isTaken } from '../files/files.ts';
import { createFile } from '../files/replace-file.ts';
import { copyToWorkspaceFolder, inWorkspaceFolder } from '../workspace/workspace-folder.ts';
import type { Spec } from '../home/spec.ts';
import type { LoopFolder } from '../home/home.ts';
import type { LoopObserver } from './observer.ts';

/**
 * The output of a run in the workspace folder: `agent-stdout.txt` and `agent-stderr.txt` are copies of the logs (the end of long ones),
 * and `output.md` is what the agent wrote there, else its final answer, else a copy of its stdout.
 */
export class RunOutputs implements LoopObserver {
  readonly #folder: LoopFolder;
  /** Whether the agent's own text is known apart from its output. */
  readonly #hasOwnText: boolean;
  /** The id of the run that is open now. */
  readonly #openRun: () => string | null;
  /** The run that was heard last. */
  #run: string | null = null;
  /** The last message of the running agent. */
  #message: { readonly id: string; text: string } | null = null;
  #answer: string | null = null;

  constructor({ folder, spec }: { folder: LoopFolder; spec: Spec }, openRun: () => string | null) {
    this.#folder = folder;
    this.#hasOwnText = agentNamed(spec.agent.kind).call !== null;
    this.#openRun = openRun;
  }

  agent(event: AgentEvent): void {
    this.#hear(event);
  }

  recalled(event: AgentEvent): void {
    this.#hear(event);
  }

  #hear(event: AgentEvent): void {
    if (!this.#hasOwnText || (event.type !== 'text' && event.type !== 'result')) return;
    const run = this.#openRun();
    if (run === null) return;
    if (run !== this.#run) {
      this.#run = run;
      this.#message = null;
      this.#answer = null;
    }
    if (event.type === 'result' && event.ok) this.#answer = event.text ?? this.#answer;
    if (event.type !== 'text' || event.isEcho === true) return;
    if (this.#message?.id !== event.message) this.#message = { id: event.message, text: '' };
    if (this.#message.text.length < MAX_LENGTH) this.#message.text += event.text;
  }

  /** Writes the output of a run that has ended. What an earlier owner heard of it is not known any more. */
  write(run: string): void {
    const { workspaceFolder } = this.#folder;
    const log = (stream: 'stdout' | 'stderr'): string => join(this.#folder.run(run), `${stream}.log`);
    // A run that did not start has no output.
    for (const [from, to] of [
      [log('stdout'), workspaceFolder.stdout(run)],
      [log('stderr'), workspaceFolder.stderr(run)],
    ] as const)
      if (existsSync(from)) copyToWorkspaceFolder(this.#folder, from, to);
    const output = workspaceFolder.output(run);
    const text = run === this.#run ? (this.#answer ?? this.#message?.text ?? '').trim() : '';
    const isWritten = inWorkspaceFolder(workspaceFolder, workspaceFolder.run(run), (folder) => {
      const path = join(folder, basename(output));
      if (isTaken(path)) return true;
      return text !== '' && createFile(path, `${text}\n`);
    });
    if (!isWritten && existsSync(log('stdout'))) copyToWorkspaceFolder(this.#folder, log('stdout'), output);
  }
}

const MAX_LENGTH = 2 ** 20;
