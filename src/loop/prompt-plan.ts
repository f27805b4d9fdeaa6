import { afterRejection } from './continuation.ts';
import type { ClaimWays, PromptPlan, Section } from './prompt.ts';
import type { Policy, SectionName } from './policy.ts';
import type { LoopState, Run } from './state.ts';

/** The sections of the prompt of the iteration's run, without empty ones. */
export function planPrompt(state: LoopState, run: Run | null): PromptPlan {
  return { sections: state.policy.prompt.sections.flatMap((name) => sections(name, state, run)) };
}

export const COMMIT_MESSAGE_PLAN: PromptPlan = { sections: [{ kind: 'commit-message' }] };

/** Guidance that no run has used yet; a planned run keeps the guidance that it was planned with. */
export function guidanceFor(
  { control }: LoopState,
  run: Run | null,
): readonly { id: string; text: string }[] {
  return control.guidance.filter(({ id }) => run === null || run.guidance.includes(id));
}

function sections(name: SectionName, state: LoopState, run: Run | null): readonly Section[] {
  const { policy, turn, feedback, progress, start } = state;
  const limit = policy.limits.iterations;
  const { iteration } = turn;
  const checks = policy.checks.commands.map(({ command }) => command);
  const failed = feedback.failed.map(({ index, command, action, hint, result }) => ({
    index,
    command,
    action,
    hint,
    code: result.code,
    timedOut: result.timedOut,
    flooded: result.flooded === true,
    log: result.log,
    excerpt: policy.checks.excerpt,
  }));
  const { failedIn } = feedback;
  // A failed run is not checked, so the failures may be older.
  const older = failedIn === iteration - 1 ? {} : { from: failedIn };

  switch (name) {
    case 'base':
    case 'task':
    case 'progress':
    case 'messages':
      return [{ kind: name }];
    case 'plan': {
      const plan = turn.before?.plan;
      return plan === undefined || policy.plan === null
        ? []
        : [{ kind: 'plan', file: policy.plan.file, plan }];
    }
    case 'instructions':
      return [{ kind: 'instructions', iteration, limit, word: claimWord(state), checks }];
    case 'how-to-claim': {
      const ways = claimWays(policy);
      return ways === null
        ? []
        : [{ kind: 'how-to-claim', ...ways, checks, missed: feedback.missed ?? null }];
    }
    case 'failed-checks':
      return failed.map((check) => ({ kind: 'failed-check', ...check, ...older }));
    case 'check-errors':
      return failed.length === 0
        ? []
        : [{ kind: 'check-errors', isBaseline: iteration === 1 || failedIn === 0, failed, ...older }];
    case 'evidence': {
      const { evidence } = feedback;
      if (evidence === undefined || start === null) return [];
      const rejects = policy.evidence.onProtectedChange !== 'warn';
      return [{ kind: 'evidence', feedback: evidence, tree: start.tree, rejects }];
    }
    case 'execution-error':
      return feedback.error === null
        ? []
        : [{ kind: 'execution-error', message: feedback.error, run: feedback.errorOf }];
    case 'diff':
      return iteration < 2 ? [] : [{ kind: 'diff', excerpt: policy.prompt.diff }];
    case 'guidance': {
      const texts = guidanceFor(state, run).map(({ text }) => text);
      return texts.length === 0 ? [] : [{ kind: 'guidance', texts }];
    }
    case 'nudge': {
      const { unchanged } = progress;
      const from = policy.limits.unchanged?.nudge ?? null;
      return from !== null && unchanged >= from
        ? [{ kind: 'nudge', unchanged, verdict: verdictOf(state), ways: claimWays(policy) }]
        : [];
    }
    case 'continuation': {
      const template = policy.prompt.continuation;
      if (template === null || iteration < 2) return [];
      return [
        {
          kind: 'continuation',
          template: feedback.rejected === true ? afterRejection(template) : template,
          iteration,
          limit,
          promise: claimWord(state),
        },
      ];
    }
    case 'restart-prefix':
      // The first attempt is the first run of the first iteration.
      return iteration === 1 && (run === null ? turn.runs === 0 : run.id === '1.1')
        ? []
        : [{ kind: 'restart-prefix' }];
    case 'preamble':
      return [{ kind: 'preamble' }];
    case 'iteration-count':
      return [{ kind: 'iteration-count', iteration, limit }];
  }
}

function claimWord({ policy }: LoopState): string {
  for (const detector of policy.completion.detectors) if ('value' in detector) return detector.value;
  return '';
}

function verdictOf({ policy, feedback }: LoopState): 'passing' | 'failing' | 'unchecked' {
  if (feedback.failed.length > 0) return 'failing';
  return policy.checks.commands.length > 0 ? 'passing' : 'unchecked';
}

/** Null if no claim is needed, or if an agent cannot be told how to make one. */
export function claimWays({ completion }: Policy): ClaimWays | null {
  if (completion.until === 'checks') return null;
  let tag: string | null = null;
  let word: string | null = null;
  let marker: string | null = null;
  for (const detector of completion.detectors) {
    if (detector.kind === 'promise-tag') tag ??= `<promise>${detector.value}</promise>`;
    if (detector.kind === 'response-tag') tag ??= `<response>${detector.value}</response>`;
    if (detector.kind === 'word') word ??= detector.value;
    if (detector.kind === 'marker') marker ??= detector.file;
  }
  return tag === null && word === null && marker === null ? null : { tag, word, marker };
}
