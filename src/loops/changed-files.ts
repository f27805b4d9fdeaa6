/** What a loop has changed in its tree, what it could have made its own verdict with first. */
import { isTestFile } from '../checks/test-files.ts';
import { changedLines, type ChangedLines } from '../git/changed-lines.ts';
import { GitError } from '../git/git-error.ts';
import { lastOf } from '../git/records.ts';
import type { LoopReading } from '../home/read-loop.ts';
import { globMatcher } from '../loop/glob.ts';
import { UserError } from '../user-error.ts';
import { recordsOf } from '../workspace/loop-records.ts';

export interface ChangedFiles {
  /** The first few: protected files, checks, tests and configuration, then the others with most changed lines. */
  readonly files: readonly ChangedFile[];
  readonly count: number;
  readonly added: number;
  readonly removed: number;
  /** How many files of each kind there are. */
  readonly kinds: Readonly<Record<FileKind, number>>;
}

export interface ChangedFile extends ChangedLines {
  /** Why a person should look at it. */
  readonly as: FileKind;
}

/** The order in which a person should look at them. */
const KINDS = ['protected', 'check', 'test', 'configuration', 'other'] as const;
export type FileKind = (typeof KINDS)[number];

/** The files that differ between the start of a loop and its last checkpoint; null if there is nothing to compare. */
export async function changedFilesOf(loop: LoopReading): Promise<ChangedFiles | null> {
  try {
    const { repository, records } = await recordsOf(loop);
    // An agent can move the records, so the ids in the journal come first.
    const start = loop.state.start?.tree ?? records.get('start');
    const last = loop.report.lastTree ?? records.get(lastOf([...records.keys()]) ?? '');
    if (start === undefined || last === undefined) return null;
    return sorted(await changedLines(repository, start, last), kindsFor(loop));
  } catch (error) {
    if (error instanceof UserError || error instanceof GitError) return null;
    throw error;
  }
}

export function sorted(changed: readonly ChangedLines[], kindOf: (path: string) => FileKind): ChangedFiles {
  const files = changed.map((file): ChangedFile => ({ ...file, as: kindOf(file.path) }));
  const sum = (part: 'added' | 'removed'): number => files.reduce((all, file) => all + (file[part] ?? 0), 0);
  const countOf = (kind: FileKind): number => files.filter((file) => file.as === kind).length;
  return {
    files: files
      // Git has sorted them by their path, which holds among equals.
      .toSorted((a, b) => rank(a) - rank(b) || size(b) - size(a))
      .slice(0, MOST_FILES),
    count: files.length,
    added: sum('added'),
    removed: sum('removed'),
    kinds: {
      protected: countOf('protected'),
      check: countOf('check'),
      test: countOf('test'),
      configuration: countOf('configuration'),
      other: countOf('other'),
    },
  };
}

const MOST_FILES = 50;

function size({ added, removed }: ChangedFile): number {
  return (added ?? 0) + (removed ?? 0);
}

function rank({ as }: ChangedFile): number {
  return KINDS.indexOf(as);
}

function kindsFor({ state, report }: LoopReading): (path: string) => FileKind {
  const isProtected = globMatcher(state.policy.evidence.protect);
  const found = new Map(report.evidence?.changed.map(({ path, as }) => [path, as]));
  return (path) => {
    const as = found.get(path);
    if (as === 'protected' || isProtected(path)) return 'protected';
    if (as === 'check' || as === 'prompt') return 'check';
    if (as === 'test' || isTestFile(path)) return 'test';
    return isConfiguration(path) ? 'configuration' : 'other';
  };
}

/** Whether a file configures tools that build or check the work, rather than being the work. */
export function isConfiguration(path: string): boolean {
  const name = path.split('/').at(-1) ?? '';
  return FOLDERS.test(path) || NAMES.test(name);
}

const FOLDERS = /^(?:\.github|\.gitlab|\.circleci|\.husky|\.ci)\//;
const NAMES = new RegExp(
  [
    String.raw`^\..+rc(?:\.[a-z]+)?$`,
    String.raw`.\.config\.[a-z]+$`,
    String.raw`^(?:package|tsconfig.*|jsconfig|deno|composer|turbo|nx|biome)\.jsonc?$`,
    String.raw`^(?:pyproject|Cargo|rust-toolchain|Pipfile)(?:\.toml)?$`,
    String.raw`^(?:setup\.(?:cfg|py)|go\.mod|Gemfile|Rakefile|CMakeLists\.txt|justfile|Justfile)$`,
    String.raw`^(?:GNU)?[Mm]akefile$`,
    String.raw`^(?:pom|build)\.xml$|\.gradle(?:\.kts)?$`,
    String.raw`^\.(?:gitlab-ci|travis|pre-commit-config)\.ya?ml$`,
    String.raw`^\.(?:gitattributes|gitignore|npmrc|nvmrc|editorconfig)$`,
  ].join('|'),
);
