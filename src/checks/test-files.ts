/** Whether a path is a test by convention: in a folder for tests, by its name, or as the configuration of a test runner. */
export function isTestFile(path: string): boolean {
  const folders = path.split('/');
  const name = folders.pop() ?? '';
  return folders.some((folder) => FOLDERS.has(folder)) || NAMES.test(name) || RUNNERS.test(name);
}

/** Not `specs`: people keep descriptions of the work there. */
const FOLDERS: ReadonlySet<string> = new Set([
  'test',
  'tests',
  '__tests__',
  '__snapshots__',
  'e2e',
  'testdata',
]);

const NAMES = new RegExp(
  [
    // JavaScript, TypeScript and what else follows them: `a.test.ts`, `a.spec.js`, `a.cy.ts`.
    String.raw`.\.(?:test|spec|cy|e2e)\.[^.]+$`,
    String.raw`\.snap$`,
    // Go, Python, Ruby, Dart, Elixir, C++: `a_test.go`, `test_a.py`, `a_spec.rb`.
    String.raw`._(?:test|spec)\.[a-z]+$`,
    String.raw`^test_.*\.(?:py|rb|c|cc|cpp)$`,
    // Java, Kotlin, C#, PHP, Swift: `CartTest.java`, `CartTests.cs`.
    String.raw`.(?:Test|Tests|IT)\.(?:java|kt|scala|groovy|cs|php|swift)$`,
    String.raw`^conftest\.py$`,
  ].join('|'),
);

const RUNNERS = new RegExp(
  [
    String.raw`^(?:vitest|jest|playwright|cypress|ava|wdio|codecept|web-test-runner)\.(?:config|conf|setup|workspace)\.[^.]+$`,
    String.raw`^(?:karma|protractor)\.conf\.[^.]+$`,
    String.raw`^\.(?:mocharc(?:\.[^.]+)?|rspec|nycrc(?:\.json)?|coveragerc)$`,
    String.raw`^(?:pytest\.ini|\.pytest\.ini|tox\.ini|noxfile\.py|phpunit\.xml(?:\.dist)?)$`,
  ].join('|'),
);
