import type { RalphLoopState } from './session-file.ts';

/** What a session does after a turn. `message` is one line for the person. */
export type Answer =
  /** The session has no loop, or another process takes this step. */
  | { readonly type: 'none' }
  /** Give the session this prompt. `rejected` names the checks that contradicted the agent's promise. */
  | {
      readonly type: 'continue';
      readonly prompt: string;
      readonly rejected: readonly string[];
      readonly state: RalphLoopState;
      readonly message: string;
    }
  /** Let the session rest; the loop continues after its next turn, or when a person resumes it. */
  | { readonly type: 'waiting'; readonly state: RalphLoopState; readonly message: string }
  /** The loop has ended: `outcome` is one of the outcomes of the core, `done` among them. */
  | {
      readonly type: 'ended';
      readonly outcome: string;
      readonly state: RalphLoopState;
      readonly message: string;
    };
