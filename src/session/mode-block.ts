import type { Policy } from '../loop/policy.ts';

/** What the agent has to know beside its first prompt: that it is in a loop, and how it ends (S5.58). */
export function modeBlock(policy: Policy, promise: string): string {
  const checks = policy.checks.commands.map(({ command }) => command);
  return [
    `<ralph-loop-mode iteration="1" max="${policy.limits.iterations ?? 'unlimited'}">`,
    'This session is in a Ralph loop: whenever you stop, you are asked to continue, until the task is complete.',
    `When the task is FULLY complete, and not before, output: <promise>${promise}</promise>`,
    ...(checks.length === 0
      ? []
      : [
          'Your promise is accepted only if these checks pass; Ralph runs them:',
          ...checks.map((one) => `- ${one}`),
        ]),
    '</ralph-loop-mode>',
  ].join('\n');
}
