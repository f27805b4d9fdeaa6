/** Tools with which an agent claims to be done, and sees what the checks say. */
import { basename, dirname, isAbsolute, join, relative } from 'node:path';
import * as z from 'zod';
import { below } from '../files/below.ts';
import { createFile } from '../files/replace-file.ts';
import { isInside } from '../files/paths.ts';
import { counted } from '../loop/counted.ts';
import { readOutput } from '../store/check-output.ts';
import { startersEnvironment } from '../store/run-environment.ts';
import { masked } from '../loop/secrets.ts';
import { UserError } from '../user-error.ts';
import { words } from './inputs.ts';
import type { OwnLoop } from './own-loop.ts';
import type { Loops } from '../loops/loops.ts';
import type { LoopSummary } from '../loops/summary.ts';
import { defineTool, type Tool } from './tool.ts';

/** `tree` is the folder that the agent works in. */
export function claimTools(loops: Loops, own: OwnLoop, tree: string): readonly Tool[] {
  return [
    defineTool({
      name: 'claim_done',
      title: 'Claim to be done',
      description:
        'Claims that the whole task is done, by creating the DONE file of this loop. It is a claim, not completion: Ralph verifies it after your run ends, and starts you again if a check fails.',
      input: z.strictObject({
        note: words('What was done, for the person who reads the file.').optional(),
      }),
      effect: 'switches',
      run: async ({ note }) => {
        const { doneFile, words: text, until, checks } = await verification(loops, own);
        if (doneFile === null) throw new UserError(withoutFile(until, text));
        const isNew = createMarker(doneFile, note ?? '', [own.workspace, tree]);
        return {
          text: [isNew ? `Created ${doneFile}.` : `${doneFile} exists already.`, ...whatFollows(checks)].join(
            '\n',
          ),
        };
      },
    }),
    defineTool({
      name: 'check_results',
      title: 'Read the results of the checks',
      description:
        'Returns the checks that verify this loop, their last results, and what the failed ones printed. They are of the last iteration, not of your present work.',
      input: z.strictObject({}),
      effect: 'reads',
      run: async () => {
        const { checks } = await verification(loops, own);
        return {
          text: checks.map((check) => described(check, own)).join('\n\n') || 'This loop has no checks.',
        };
      },
    }),
  ];
}

type Verification = LoopSummary['verification'];

async function verification(loops: Loops, { name, workspace }: OwnLoop): Promise<Verification> {
  return (await loops.get(await loops.find(name, workspace))).summary.verification;
}

function withoutFile(until: string, text: string | null): string {
  if (until === 'checks') return 'This loop needs no claim: it is done when all checks pass. End your run.';
  return text === null
    ? 'This loop does not look for a file; claim as your prompt says.'
    : `This loop does not look for a file; to claim, print this on a line of its own in your last message: ${text}`;
}

/** Creates the marker with a note; false if there is one. No folder on the way may be a link. */
function createMarker(path: string, note: string, roots: readonly string[]): boolean {
  const root = roots.find((one) => isInside(one, path));
  if (root === undefined) throw new UserError(`cannot create ${path}: it is outside of the workspace`);
  const parts = relative(root, dirname(path)).split('/').filter(Boolean);
  return below(root, parts, { make: true }, (folder) =>
    createFile(join(folder, basename(path)), note === '' ? '' : `${note.trimEnd()}\n`),
  );
}

function whatFollows(checks: Verification['checks']): readonly string[] {
  const verified =
    checks.length === 0
      ? ['This is a claim. The loop has no checks, so Ralph accepts it after your run ends.']
      : [
          `This is a claim, not completion. After your run ends, ${counted(checks.length, 'check')} ${checks.length === 1 ? 'verifies' : 'verify'} it:`,
          ...checks.map(({ command }) => `- ${command}`),
          'If one fails, Ralph rejects the claim and starts a new run with what failed.',
        ];
  return [...verified, 'End your run now.'];
}

function described({ command, passed, failure, log }: Verification['checks'][number], own: OwnLoop): string {
  const result = passed === null ? 'has not run yet' : passed ? 'passed' : `failed (${failure})`;
  const head = `${command}: ${result}${log === null ? '' : ` — ${log}`}`;
  const output = passed === false && log !== null ? outputOf(log, own) : '';
  return output === '' ? head : `${head}\n${output}`;
}

/** What a failed check printed: the failing tests, or the end of its log. The copy on the desk is all that a sandbox shows. */
function outputOf(log: string, { workspace, desk }: OwnLoop): string {
  const path = isAbsolute(log) ? log : join(workspace, log);
  if (!isInside(desk.path, path)) return '';
  const env = startersEnvironment(process.env);
  const inner = relative(desk.path, dirname(path)).split('/').filter(Boolean);
  try {
    return below(workspace, [...desk.parts, ...inner], { make: false }, (folder) =>
      readOutput(join(folder, basename(path)), EXCERPT, (text) => masked(text, env)),
    ).slice(-EXCERPT.chars);
  } catch {
    return '(its log is not there any more)';
  }
}

const EXCERPT = { side: 'failures', chars: 5000, marker: '' } as const;
