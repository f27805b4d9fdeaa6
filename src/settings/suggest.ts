/** Suggests checks from the files of a repository, without running anything. */

/** Read access to a repository; names are relative to it. */
export interface Repository {
  /** The content of a file; null if it does not exist. */
  read(name: string): string | null;
  /** The names in a folder; none if it does not exist. */
  list(folder: string): readonly string[];
}

export interface SuggestedCheck {
  readonly command: string;
  /** The file that it was found in. */
  readonly from: string;
}

/** Scripts and targets of the repository come before the defaults of its language. */
export function suggestChecks(repository: Repository): readonly SuggestedCheck[] {
  const targets = fromMakefile(repository);
  const isWrapped = (kind: Kind): boolean => targets.some(({ command }) => command === `make ${kind}`);
  const byLanguage = [...fromCargo(repository), ...fromPython(repository), ...fromGo(repository)];
  return [
    ...fromPackage(repository),
    ...targets,
    // `make test` of a Rust, Go or Python project already runs the language's tests.
    ...byLanguage.filter(({ kind }) => !isWrapped(kind)).map(({ command, from }) => ({ command, from })),
  ];
}

type Kind = 'test' | 'lint';
type CheckOfKind = SuggestedCheck & { readonly kind: Kind };

function fromPackage(repository: Repository): readonly SuggestedCheck[] {
  const manifest = record(parsed(repository.read('package.json')));
  const scripts = record(manifest['scripts']);
  const runs = packageManager(repository, String(manifest['packageManager']));
  return SCRIPTS.flatMap((names) => {
    const name = names.find((one) => isCheck(scripts[one]));
    return name === undefined ? [] : [{ command: runs(name), from: 'package.json' }];
  });
}

/** In the order of the suggestions; of each row only the first existing script is suggested. */
const SCRIPTS = [
  ['test'],
  ['lint'],
  ['typecheck', 'type-check', 'types'],
  ['build'],
  ['format:check'],
] as const;

/** Excludes the placeholder of `npm init` and scripts that watch for changes. */
function isCheck(script: unknown): boolean {
  return typeof script === 'string' && !/no test specified|--watch(?!=false|All=false)/.test(script);
}

/** Runs a script with the package manager of the lock file. */
function packageManager(repository: Repository, named: string): (script: string) => string {
  const files = new Set(repository.list('.'));
  const byLock = LOCKS.find(([lock]) => files.has(lock))?.[1];
  const manager = byLock ?? /^(?:npm|pnpm|yarn|bun)(?=@)/.exec(named)?.[0] ?? 'npm';
  // `bun test` starts bun's own test runner instead of the script.
  return (script) =>
    script === 'test' && manager !== 'bun' ? `${manager} test` : `${manager} run ${script}`;
}

const LOCKS = [
  ['pnpm-lock.yaml', 'pnpm'],
  ['yarn.lock', 'yarn'],
  ['bun.lock', 'bun'],
  ['bun.lockb', 'bun'],
  ['package-lock.json', 'npm'],
  ['npm-shrinkwrap.json', 'npm'],
] as const;

function fromMakefile(repository: Repository): readonly SuggestedCheck[] {
  for (const name of ['GNUmakefile', 'makefile', 'Makefile']) {
    const text = repository.read(name);
    if (text === null) continue;
    // `test lint: deps` are two targets; `test := x` is a variable.
    const targets = new Set(
      [...text.matchAll(/^([\w.\-/ ][\w.\-/ \t]*)::?(?![:=])/gm)].flatMap(([, names = '']) =>
        names.split(/[ \t]+/),
      ),
    );
    return ['test', 'lint', 'check', 'build']
      .filter((target) => targets.has(target))
      .map((target) => ({ command: `make ${target}`, from: name }));
  }
  return [];
}

function fromCargo(repository: Repository): readonly CheckOfKind[] {
  if (repository.read('Cargo.toml') === null) return [];
  return [
    { kind: 'test', command: 'cargo test', from: 'Cargo.toml' },
    { kind: 'lint', command: 'cargo clippy', from: 'Cargo.toml' },
  ];
}

function fromGo(repository: Repository): readonly CheckOfKind[] {
  if (repository.read('go.mod') === null) return [];
  return [
    { kind: 'test', command: 'go test ./...', from: 'go.mod' },
    { kind: 'lint', command: 'go vet ./...', from: 'go.mod' },
  ];
}

function fromPython(repository: Repository): readonly CheckOfKind[] {
  const file = PYTEST.find(([name, sign]) => sign.test(repository.read(name) ?? ''))?.[0];
  const hasTests = repository.list('tests').some((name) => name.endsWith('.py'));
  const from = file ?? (hasTests ? 'tests/' : null);
  if (from === null) return [];
  const files = new Set(repository.list('.'));
  const runner = files.has('uv.lock') ? 'uv run ' : files.has('poetry.lock') ? 'poetry run ' : '';
  return [{ kind: 'test', command: `${runner}pytest`, from }];
}

/** Files and patterns that show that a project uses pytest. */
const PYTEST = [
  ['pytest.ini', /\[pytest\]/],
  ['pyproject.toml', /\bpytest\b/],
  ['setup.cfg', /\[tool:pytest\]/],
  ['tox.ini', /\[pytest\]|\bpytest\b/],
] as const;

function parsed(text: string | null): unknown {
  try {
    return text === null ? null : JSON.parse(text);
  } catch {
    // An invalid package.json has no scripts to suggest.
    return null;
  }
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
