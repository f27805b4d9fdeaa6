/** The engine's view of the workspace and of the loop's folder, on this machine's file system. */
import { createHash } from 'node:crypto';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import type { Agent, AgentEvent } from '../agents/agent.ts';
import type { Price } from '../agents/prices.ts';
import { readRun } from '../agents/reader.ts';
import { inTextMode } from '../agents/text-mode.ts';
import { runCheck } from '../checks/check.ts';
import { checkSlug } from '../checks/slug.ts';
import type { LoopFolder } from '../store/store.ts';
import { sharedLimit } from '../store/shared-limits.ts';
import { treeOf, type Spec } from '../store/spec.ts';
import { hideKeys, hideSecrets } from '../store/secrets.ts';
import type { EffectOf, Workspace, WrittenPrompt } from '../engine/ports.ts';
import { fingerprint, isInRepository } from '../git/fingerprint.ts';
import { processes } from '../process/process.ts';
import type { Policy } from '../loop/policy.ts';
import { renderPrompt, type PromptInputs, type PromptPlan } from '../loop/prompt.ts';
import { reasonOf } from '../user-error.ts';
import { checkAlias, linkBeside, nameBeside } from '../store/aliases.ts';
import { checkpoint, diffForPrompt } from '../scm/checkpoints.ts';
import { family } from '../store/children.ts';
import { readExcerpt } from '../store/excerpts.ts';
import { checkMarker, runEnvironment } from '../store/run-environment.ts';
import { loopScm } from '../scm/scm.ts';
import { masked } from '../store/secrets.ts';

export function loopWorkspace(loop: WorkspaceSpec): Workspace {
  const { spec, folder, env, agent, show, recall } = loop;
  return {
    async look({ markers, fingerprint: wantsFingerprint }) {
      const found = markers.map((name) => ({ name, ...lookFor(folder.marker(name), name) }));
      return {
        markers: found.filter(({ isThere }) => isThere).map(({ name }) => name),
        problem: found.find(({ problem }) => problem !== null)?.problem ?? null,
        messages: [],
        fingerprint: wantsFingerprint ? await fingerprint(treeOf(spec), env) : null,
      };
    },
    moveAside: (markers) => moveAside(folder, markers),
    writePrompt: (effect) => clearly(() => writePrompt(loop, effect)),
    read: (run, { policy, session }) =>
      readRun(
        // A message is no claim.
        run.purpose === 'work' ? agent : inTextMode(agent),
        run.purpose === 'work' ? policy.completion.detectors : [],
        {
          shown: run.output,
          startedAt: run.plannedAt,
          folder: folder.run(run.id),
          session,
          price: loop.price,
          hide: (text) => hideSecrets(text, env),
        },
        show,
        recall,
      ),
    knownLimit: (now) => sharedLimit(loop.account, now),
    changedAfter: async (moment) => changedAfter(treeOf(spec), moment),
    async check(effect, graceMs, interrupt) {
      const { iteration, run, index, check, timeoutMs } = effect;
      const policy = loop.policy();
      // The name of a log is told to everybody.
      const commands = policy.checks.commands.map(({ command }) => hideKeys(command));
      const place = iteration === 0 ? folder.baseline : join(folder.run(run ?? `${iteration}.1`), 'checks');
      const log = join(place, `${checkSlug(commands, index)}.log`);
      const checking = {
        command: check.command,
        cwd: treeOf(spec),
        env: runEnvironment({ spec, folder, env, policy, run: run ?? `${iteration}.1` }),
        marker: checkMarker(spec, effect.key),
        log,
        // In a worktree a path from the workspace leads nowhere.
        shownAs: spec.worktree === undefined ? relative(spec.workspace, log) : log,
        timeoutMs,
        graceMs,
      };
      const result = await clearly(() => runCheck(checking, processes, interrupt));
      if (policy.aliases) linkBeside(spec.workspace, checkAlias(iteration, log), log);
      return result;
    },
    ...clearScm(loopScm(loop)),
    hasRecords: () => isInRepository(treeOf(spec)),
    checkpoint: (effect, interrupt) => checkpoint(loop, effect, interrupt),
    family: (state) => family(folder, state),
    edits: (state) => loop.edits(state),
  };
}

export interface WorkspaceSpec {
  readonly spec: Spec;
  readonly folder: LoopFolder;
  /** Of whoever started the loop. */
  readonly env: Readonly<Record<string, string>>;
  readonly agent: Agent;
  readonly show: (event: AgentEvent) => void;
  readonly recall: (event: AgentEvent) => void;
  readonly prompted: (text: () => string) => void;
  /** As it is now. */
  readonly policy: () => Policy;
  /** What tokens cost, where that has to be estimated. */
  readonly price: Price;
  /** Whoever pays. */
  readonly account: string;
  readonly edits: Workspace['edits'];
  /** The progress file with everything that has happened until now. */
  readonly readProgress: () => string;
}

function clearScm({ changes, commit }: ReturnType<typeof loopScm>): ReturnType<typeof loopScm> {
  return {
    changes: (...wanted) => clearly(() => changes(...wanted)),
    commit: (...wanted) => clearly(() => commit(...wanted)),
  };
}

/** What the system refuses, in words: it becomes the reason why the loop ended. */
async function clearly<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error)) throw error;
    const path = 'path' in error && typeof error.path === 'string' ? error.path : "the loop's folder";
    throw new Error(`cannot write ${path}: ${reasonOf(error)}`, { cause: error });
  }
}

/** A marker only has to be there; one that cannot be a marker, or cannot be looked at, is a problem. */
function lookFor(path: string, name: string): { readonly isThere: boolean; readonly problem: string | null } {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found === undefined) return { isThere: false, problem: null };
    return found.isDirectory()
      ? { isThere: false, problem: `${name} is a directory` }
      : { isThere: true, problem: null };
  } catch (error) {
    return {
      isThere: false,
      problem: `stat ${name}: ${error instanceof Error ? error.message : String(error)}`,
    };
  }
}

/** A marker that is not valid is kept under another name: somebody may want to know what it said. */
export function moveAside(folder: LoopFolder, markers: readonly string[]): void {
  for (const name of markers) {
    const path = folder.marker(name);
    if (!existsSync(path)) continue;
    let number = 1;
    while (existsSync(`${path}.rejected-${number}`)) number++;
    renameSync(path, `${path}.rejected-${number}`);
  }
}

async function writePrompt(loop: WorkspaceSpec, effect: EffectOf<'run'>): Promise<WrittenPrompt> {
  const { spec, folder } = loop;
  let base: Base;
  try {
    base = readBase(spec.prompt);
  } catch (error) {
    const path = 'file' in spec.prompt ? spec.prompt.file : '';
    return error instanceof Error && 'code' in error && error.code === 'ENOENT'
      ? { error: { kind: 'prompt-missing', message: `prompt file not found: ${path}` } }
      : { error: { kind: 'prompt-unreadable', message: `cannot read prompt file: ${path}` } };
  }
  // No argument can hold a NUL, and no agent needs one.
  const text = renderPrompt(withoutKeys(effect.plan), await gather(loop, effect, base)).replaceAll(
    '\0',
    '\uFFFD',
  );
  const path = join(folder.run(effect.run), 'prompt.md');
  if (!existsSync(folder.run(effect.run))) mkdirSync(folder.run(effect.run), { recursive: true });
  writeFileSync(path, text);
  loop.prompted(() => masked(text.slice(0, 1000), loop.env));
  const hash = createHash('sha256').update(text).digest('hex');
  return { path: relative(folder.path, path), hash };
}

/** Commands are told to the agent, and may have something in them that is not for it. */
function withoutKeys({ sections }: PromptPlan): PromptPlan {
  return {
    sections: sections.map((section) => {
      if ('checks' in section) return { ...section, checks: section.checks.map(hideKeys) };
      if (section.kind === 'failed-check') return hide(section);
      return section.kind === 'check-errors' ? { ...section, failed: section.failed.map(hide) } : section;
    }),
  };
}

function hide<T extends { readonly command: string }>(one: T): T {
  return { ...one, command: hideKeys(one.command) };
}

interface Base {
  readonly text: string;
  readonly isSpecification: boolean;
}

/** Read anew for every prompt; a specification that is gone leaves the task in its own words. */
function readBase(prompt: Spec['prompt']): Base {
  if ('spec' in prompt) {
    const specification = readIfThere(prompt.spec);
    if (specification !== null) return { text: specification, isSpecification: true };
  }
  const text = 'text' in prompt ? prompt.text : readFileSync(prompt.file, 'utf8');
  return { text, isSpecification: false };
}

function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

/** What the sections of the plan ask for, and nothing else. */
async function gather(loop: WorkspaceSpec, { plan }: EffectOf<'run'>, base: Base): Promise<PromptInputs> {
  const { spec, env, policy, readProgress } = loop;
  const failed = plan.sections.flatMap((section) => {
    if (section.kind === 'failed-check') return [section];
    return section.kind === 'check-errors' ? section.failed : [];
  });
  const has = (kind: string): boolean => plan.sections.some((section) => section.kind === kind);
  const checkOutput = Object.fromEntries(
    failed.map(({ index, log, excerpt }) => [
      index,
      masked(readExcerpt(resolve(spec.workspace, log), excerpt), env),
    ]),
  );
  const checkLog =
    policy().aliases && spec.worktree === undefined
      ? Object.fromEntries(failed.map(({ index, log }) => [index, aliasOf(spec.workspace, log)]))
      : {};
  const diff = plan.sections.find((section) => section.kind === 'diff');
  const progress = has('progress') ? masked(readProgress(), env) : '';
  return {
    base: base.text,
    isSpecification: base.isSpecification,
    diff: diff === undefined ? '' : await diffForPrompt(loop, diff.excerpt),
    progress,
    messages: '',
    checkOutput,
    checkLog,
  };
}

/** The name of a check's log beside the settings, where it has one. */
function aliasOf(workspace: string, log: string): string {
  const iteration = Number.parseInt(basename(dirname(dirname(log))), 10);
  return nameBeside(workspace, checkAlias(iteration, log), resolve(workspace, log));
}

const NOT_WORK = new Set(['.git', '.ralph', 'node_modules']);
const MOST_FILES = 200_000;

/** The time of the newest change to a file after a moment; null if nothing has changed. One look, no watching. */
function changedAfter(workspace: string, moment: number): number | null {
  let newest: number | null = null;
  let seen = 0;
  // A time that has not come yet says nothing about what was done.
  const now = Date.now();
  const folders = [workspace];
  for (let folder = folders.pop(); folder !== undefined && seen < MOST_FILES; folder = folders.pop()) {
    let entries;
    try {
      entries = readdirSync(folder, { withFileTypes: true });
    } catch {
      continue;
    }
    for (const entry of entries) {
      if (NOT_WORK.has(entry.name)) continue;
      seen++;
      const path = join(folder, entry.name);
      if (entry.isDirectory()) folders.push(path);
      const changed = changeOf(path);
      if (changed > moment && changed <= now && changed > (newest ?? 0)) newest = Math.floor(changed);
    }
  }
  return newest;
}

function changeOf(path: string): number {
  try {
    return lstatSync(path).mtimeMs;
  } catch {
    return 0;
  }
}
