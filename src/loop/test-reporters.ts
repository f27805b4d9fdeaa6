/**
 * How the reporters of test runners print a failure. One row per reporter; `failures.ts` reads the lines. Lines come
 * without colours and line ends.
 */
export interface Reporter {
  readonly name: string;
  /** A line that proves that this reporter printed the output: without it the other patterns mean nothing. */
  readonly sign: RegExp;
  /** The first line of a failure; a group has its name. */
  readonly begins: RegExp;
  /** The first line after a failure. */
  readonly ends: RegExp;
  /** A line that names the file or place of the failures after it. */
  readonly place?: RegExp;
  /** A heading above which nothing counts: every failure is printed again, complete. */
  readonly again?: RegExp;
  /** A line of a list of failures: their names and perhaps their messages, used if there is nothing better. */
  readonly listed?: RegExp;
  /** A line after which the output of the named test follows, before it is known whether the test fails. */
  readonly runs?: RegExp;
  /** A line that says that the named test did not fail. */
  readonly passes?: RegExp;
  /** A name or a line of a message that marks no failure of its own: it is expected, or repeats the failures inside it. */
  readonly except?: RegExp;
  /** Between the names of a test and a test inside it: the outer one is left out if it has no message of its own. */
  readonly inside?: string;
  /** Lines of a message that do not help to fix the failure. */
  readonly noise?: RegExp;
  /** The sentence in a message that says what is wrong; without it, the first line. Of several, the first counts. */
  readonly says?: RegExp;
  /** Of several such sentences the last counts: a test prints its own log first. */
  readonly saysLast?: true;
  /** Lines about tests that passed, which are left out after the last failure. */
  readonly passed?: RegExp;
}

/** Stack frames inside of the runtime and of the test runner. */
const RUNNER_FRAME = /\bnode:(?:internal|async_hooks)|\bnode_modules\/@?(?:vitest|jest)\b/;

/** A test that is expected to fail, or is not run. */
const TO_DO = /# (?:TODO|SKIP)\b/i;

export const REPORTERS: readonly Reporter[] = [
  {
    name: 'node --test',
    sign: /^\s*[✔✖] .+ \(\d[\d.]*ms\)/,
    begins: /^\s*✖ (.+ \(\d[\d.]*ms\) #.*)$|^\s*✖ (.+) \(\d[\d.]*ms\)$/,
    ends: /^\S|^\s*[✔▶﹣] /,
    place: /^test at (.+)$/,
    again: /^✖ failing tests:$/,
    except: TO_DO,
    passed: /^\s*[✔▶﹣] .+ \(\d[\d.]*ms\)|^ℹ duration_ms /,
    noise: new RegExp(
      `${RUNNER_FRAME.source}|^\\s*(?:generatedMessage: |code: 'ERR_ASSERTION'|operator: |diff: 'simple')`,
    ),
  },
  {
    name: 'TAP',
    sign: /^\s*(?:TAP version \d+|1\.\.\d+)$/,
    begins: /^\s*not ok \d+ (?:- )?(.+)$/,
    ends: /^\s*(?:\.\.\.$|ok \d+|# Subtest|1\.\.\d+$)/,
    except: new RegExp(`${TO_DO.source}|^\\s*failureType: 'subtestsFailed'`, 'i'),
    noise:
      /^\s*(?:---|duration_ms: .*|type: '.*'|failureType: 'testCodeFailure'|code: 'ERR_(?:TEST_FAILURE|ASSERTION)')$|\bnode:(?:internal|async_hooks)/,
    says: /^ *(?:error|message): (?:[|>]-?\n *)?(?:"(.+)"|'?(.+?)'?)$/m,
    passed:
      /^\s*(?:ok \d+\b.*|# Subtest: .*|---|\.\.\.|(?:duration_ms|type|location): .*|# duration_ms .*|1\.\.\d+)$/,
  },
  {
    name: 'vitest',
    sign: /^\s*(?:RUN|DEV)\s+v\d+\.\d+/,
    begins: /^ FAIL {2}(.+)$|^⎯+ (Unhandled (?:Error|Rejection|Exception)) ⎯+$/,
    ends: /^⎯{3,}|^ Test Files {2}/,
    noise: RUNNER_FRAME,
    passed: /^ *✓ /,
  },
  {
    name: 'jest',
    sign: /^(?:FAIL|PASS) \S|^Test Suites: /,
    begins: /^ {2}● (?!Console$)(.+)$/,
    ends: /^\S|^ {2}● Console$/,
    place: /^FAIL (\S.*?)(?: \(\d[\d.]* m?s\))?$/,
    again: /^Summary of all failing tests$/,
    noise: RUNNER_FRAME,
    passed: /^PASS \S/,
  },
  {
    name: 'pytest',
    sign: /^=+ (?:test session starts|FAILURES|ERRORS|short test summary info) =+$/,
    begins: /^_{3,} (.+?) _{3,}$/,
    ends: /^[=!]{3,} .+ [=!]{3,}$/,
    listed: /^(?:FAILED|ERROR) (\S.*?)(?: - (.*))?$/,
    says: /^E +(.+)$/m,
  },
  {
    name: 'go test',
    sign: /^(?:FAIL|ok) *\t\S/,
    begins: /^\s*--- FAIL: (\S+) \([\d.]+s\)$/,
    ends: /^(?:FAIL|PASS|ok|\?)(?:\s|$)|^=== |^\s*--- (?:PASS|SKIP)/,
    runs: /^=== (?:RUN|NAME|CONT) +(\S+)$/,
    passes: /^\s*--- (?:PASS|SKIP): (\S+)/,
    inside: '/',
    says: /^(?:panic: | *\S+\.go:\d+: )(.+)$/m,
    saysLast: true,
    passed: /^(?:ok|\?) *\t\S|^=== |^\s*--- (?:PASS|SKIP): |^PASS$/,
  },
  {
    name: 'go build',
    sign: /^FAIL\t.+ \[(?:build|setup) failed\]$/,
    begins: /^# (\S+)(?: \[\S+\])?$/,
    ends: /^(?!\s|vet: |note: |\S*\.go:\d).+/,
  },
  {
    name: 'cargo test',
    sign: /^running \d+ tests?$/,
    begins: /^---- (.+) std(?:out|err) ----$/,
    ends: /^failures:$|^test result: /,
    listed: /^test (.+) \.\.\. FAILED$/,
    noise: /^note: run with `RUST_BACKTRACE=1`/,
    passed: /^test .+ \.\.\. (?:ok|ignored\b.*)$/,
    says: /^thread .* panicked at .*\n(.+)$/m,
  },
  {
    name: 'cargo build',
    sign: /^error: could not compile /,
    begins: /^(error(?:\[E\d+\])?: (?!could not compile |aborting due to |test failed).+)$/,
    ends: /^$|^(?:error|warning)\b/,
  },
];
