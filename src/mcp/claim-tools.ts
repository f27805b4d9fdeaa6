/** Tools with which an agent claims to be done, and sees what the checks say. */
import * as z from 'zod';
import { counted } from '../loop/counted.ts';
import { UserError } from '../user-error.ts';
import { words } from './inputs.ts';
import { createMarker, failedOutput } from '../loops/claim.ts';
import type { OwnLoop } from '../loops/own-loop.ts';
import type { Loops } from '../loops/loops.ts';
import type { LoopSummary } from '../loops/summary.ts';
import { type Tool, defineTool } from './tool.ts';

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
        const isNew = createMarker(doneFile, note ?? '', own, tree);
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
  const output = passed === false && log !== null ? failedOutput(log, own) : '';
  return output === '' ? head : `${head}\n${output}`;
}
