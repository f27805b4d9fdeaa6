/** The checks that a repository seems to have, as its own files tell; nothing is run to find out. */

/** A file system to look at: names are relative to the repository. */
export interface Repository {
  /** The content of a file; null where there is none. */
  read(name: string): string | null;
  /** The names in a folder; none where there is no such folder. */
  list(folder: string): readonly string[];
}

export interface SuggestedCheck {
  readonly command: string;
  /** The file that tells. */
  readonly from: string;
}

/** What people wrote down themselves comes before what their language has by default. */
export function suggestChecks(repository: Repository): readonly SuggestedCheck[] {
  const targets = fromMakefile(repository);
  const isWrapped = (kind: Kind): boolean => targets.some(({ command }) => command === `make ${kind}`);
  const byLanguage = [...fromCargo(repository), ...fromPython(repository), ...fromGo(repository)];
  return [
    ...fromPackage(repository),
    ...targets,
    // `make test` of a Rust, Go or Python project is its tests: nobody wants to wait for them twice.
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

/** In the order in which they are offered; of those in one row the first that there is. */
const SCRIPTS = [
  ['test'],
  ['lint'],
  ['typecheck', 'type-check', 'types'],
  ['build'],
  ['format:check'],
] as const;

/** Not the script that `npm init` leaves behind, and none that never ends. */
function isCheck(script: unknown): boolean {
  return typeof script === 'string' && !/no test specified|--watch(?!=false|All=false)/.test(script);
}

/** How the package manager that the repository is locked with runs a script. */
function packageManager(repository: Repository, named: string): (script: string) => string {
  const files = new Set(repository.list('.'));
  const byLock = LOCKS.find(([lock]) => files.has(lock))?.[1];
  const manager = byLock ?? /^(?:npm|pnpm|yarn|bun)(?=@)/.exec(named)?.[0] ?? 'npm';
  // `bun test` is a test runner of its own, whatever the script says.
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
      [...text.matchAll(/^([\w.\-/ ]+?)[ \t]*::?(?![:=])/gm)].flatMap(([, names = '']) => names.split(' ')),
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

/** What in a file says that there are tests for pytest. */
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
    // Somebody is just editing it; whoever needs it will say so.
    return null;
  }
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
