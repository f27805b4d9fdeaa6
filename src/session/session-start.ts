/** What a session is told when it starts: about its own loop, and about loops of other sessions in the same folder. */
import { counted } from '../loop/counted.ts';
import { realPath } from '../files/files.ts';
import { readLoopOf } from '../home/read-loop.ts';
import { allStates, type RalphLoopState } from './session-file.ts';
import { sessionStatus } from './session.ts';

/** `sign` is how a command is typed: `/` or `$` before its name. Null if there is nothing to say. */
export async function sessionStartText(
  session: string,
  workspace: string,
  sign: string,
): Promise<string | null> {
  const own = await sessionStatus(session);
  const lines = [
    ...(own === null ? [] : [...own.lines, `Type anything to continue the loop, or ${sign}cancel-ralph`]),
    ...loopsOfOthers(session, workspace),
  ];
  return lines.length === 0 ? null : lines.join('\n');
}

/** A line for each loop that another session of this folder has: a person may have left it there and forgotten it. */
export function loopsOfOthers(session: string, workspace: string, stateDir?: string): readonly string[] {
  const folder = realPath(workspace);
  const lines = allStates(stateDir)
    .filter((state) => state.sessionId !== session && state.workdir === folder)
    .flatMap((state) => lineFor(state) ?? []);
  const more = lines.length - MAX_LINES;
  return more > 0
    ? [...lines.slice(0, MAX_LINES), `${counted(more, 'more loop')}; ralph ls shows all`]
    : lines;
}

function lineFor({ sessionId, loop, program, iteration, maxIterations }: RalphLoopState): string | null {
  const found = loop === undefined ? null : readLoopOf(loop);
  if (found === null || found.state.outcome !== null) return null;
  const { name } = found.spec;
  const resume = Object.hasOwn(RESUME, program ?? '') ? RESUME[program ?? ''] : undefined;
  const where = resume === undefined ? `type anything in session ${sessionId}` : `${resume} ${sessionId}`;
  return `Another session of this folder has a Ralph loop: ${name}, iteration ${iteration} of ${maxIterations}. To continue it: ${where}; to end it: ralph stop ${name}`;
}

const MAX_LINES = 3;

/** How the host programs open an earlier session. */
const RESUME: Readonly<Record<string, string>> = {
  claude: 'claude --resume',
  codex: 'codex resume',
  opencode: 'opencode --session',
};
