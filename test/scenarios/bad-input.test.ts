/**
 * Ralph rejects bad input at once: exit code 2 and one message that names the thing, the value found and the value
 * expected. It starts no agent and creates no loop.
 */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openLoadedStage, type Stage } from './stage.ts';

const isRoot = process.getuid?.() === 0;

describe('the prompt', () => {
  it('is rejected when it is missing or given twice', async () => {
    const stage = openLoadedStage();
    stage.write('P.md', 'x');
    const cases: readonly Case[] = [
      [run(), 'must specify prompt (--prompt or --prompt-file)'],
      [run('-f', ''), 'must specify prompt (--prompt or --prompt-file)'],
      [run('a task', '-f', 'P.md'), 'cannot specify both a task and --prompt-file'],
      [run('a task', '-p', 'another'), 'cannot specify both a task and --prompt'],
      [
        run('two', 'tasks'),
        /too many arguments.*\n\(Quote a task of several words: ralph run "fix the tests"\)\n$/,
      ],
      [
        ['run', 'two', './agent'],
        /too many arguments.*\n\(Quote a task .*, and put the command of the agent after --: ralph run/,
      ],
    ];
    expect(await wrongAnswers(stage, cases)).toEqual([]);
  });

  it('is rejected when its file is missing, a folder or unreadable', async () => {
    const stage = openLoadedStage();
    mkdirSync(stage.path('folder'));
    const cases: readonly Case[] = [
      [run('-f', './missing.md'), 'prompt file not found: ./missing.md'],
      [run('-f', 'README.md/x'), 'cannot access prompt file: README.md/x: part of the path is not a folder'],
      [run('-f', 'folder'), 'prompt file is a folder: folder'],
      // Reading this file fails for every user, even root.
      [run('-f', '/proc/self/mem'), 'cannot access prompt file: /proc/self/mem'],
    ];
    expect(await wrongAnswers(stage, cases)).toEqual([]);
  });

  it.skipIf(isRoot)('is rejected without read permission (skipped for root, which needs none)', async () => {
    const stage = openLoadedStage();
    stage.write('P.md', 'x');
    chmodSync(stage.path('P.md'), 0);
    const cases: readonly Case[] = [
      [run('-f', 'P.md'), 'cannot access prompt file: P.md: permission denied'],
    ];
    expect(await wrongAnswers(stage, cases)).toEqual([]);
  });
});

describe('the agent command', () => {
  it('is rejected when it is missing, empty, unknown, not found or not executable', async () => {
    const stage = openLoadedStage();
    writeFileSync(stage.path('script'), '#!/bin/sh\n', { mode: 0o644 });
    const cases: readonly Case[] = [
      [['run', '-p', 'x'], 'no agent selected: pass --agent'],
      [['run', '-p', 'x', '--'], 'no agent selected: pass --agent'],
      [['run', '-p', 'x', '--', ''], 'agent command not found: ""'],
      [['run', '-p', 'x', '--', 'no-such-agent'], 'agent command not found: no-such-agent'],
      [['run', '-p', 'x', '--', './no/agent'], 'agent command not found: ./no/agent'],
      [['run', '-p', 'x', '--', './script'], /not executable: .*\/script; try: chmod \+x/],
      [['run', '-p', 'x', '--', '.'], 'agent command not found: .'],
      [
        run('-p', 'x', '--agent', 'cluade'),
        /unknown agent "cluade" \(did you mean claude\?\); known agents: .*custom/,
      ],
      [run('-p', 'x', '--agent', 'zzz'), /unknown agent "zzz"; known agents: claude, codex, .*, custom$/m],
      [['run', '-p', 'x', '--agent', 'custom'], 'needs a command after --'],
    ];
    expect(await wrongAnswers(stage, cases)).toEqual([]);
  });
});

describe('the command line', () => {
  it('rejects unknown options and commands, and suggests the closest one', async () => {
    const cases: readonly Case[] = [
      [run('-p', 'x', '--chek', 'true'), /unknown option '--chek'\n\(Did you mean --check/],
      [run('-p', 'x', '--max-iteration', '3'), 'Did you mean --max-iterations?'],
      [
        ['run', '-x do this'],
        /unknown option '-x do this'\n\(To pass a task that begins with -, use: ralph run -p '-x do this'\)\n$/,
      ],
      [['statsu'], /unknown command 'statsu'\n\(Did you mean status\?\)/],
      [['resum', 'it'], 'Did you mean resume?'],
      [['run', '-p'], "option '-p, --prompt <text>' argument missing"],
      [
        ['rewind'],
        /missing required argument 'name'\n\(Usage: ralph rewind \[options\] <name> <checkpoint>\)\n$/,
      ],
      [['pause'], 'no loops in this workspace'],
      [
        ['answer'],
        /missing required argument 'words'\n\(Usage: ralph answer \[options\] \[NAME\] WORDS…\)\n$/,
      ],
      [['mcp', 'it'], /too many arguments.*\n\(Usage: ralph mcp \[options\]\)\n$/],
      [['bus', 'zzz'], /unknown command 'zzz'\n\(List the commands with: ralph bus --help\)\n$/],
      [
        ['plan', 'show', '--zzz'],
        /unknown option '--zzz'\n\(List the options with: ralph plan show --help\)\n$/,
      ],
    ];
    expect(await wrongAnswers(openLoadedStage(), cases)).toEqual([]);
  });

  it('rejects invalid times', async () => {
    const options = ['--max-time', '--iteration-timeout', '--inactivity-timeout', '--restart-delay'];
    const cases: readonly Case[] = [
      ...[...options, '--kill-grace', '--check-timeout'].map((option): Case => [
        run('-p', 'x', option, '10 parsecs'),
        `${option} must be a time such as 90, 90s, 15m or 2h, got "10 parsecs"`,
      ]),
      [run('-p', 'x', '--max-time', '-5'), /--max-time must be a time.*got "-5"/],
      [run('-p', 'x', '--max-time', ''), /--max-time must be a time.*got ""/],
    ];
    expect(await wrongAnswers(openLoadedStage(), cases)).toEqual([]);
  });

  it('rejects invalid sizes and numbers', async () => {
    const cases: readonly Case[] = [
      [
        run('-p', 'x', '--max-output', 'much'),
        '--max-output must be a size such as 500k, 20m or 1g, got "much"',
      ],
      [run('-p', 'x', '-m', 'ten'), '--max-iterations must be a whole number such as 10, got "ten"'],
      [run('-p', 'x', '-m', '-1'), '--max-iterations must be a whole number such as 10, got "-1"'],
      [run('-p', 'x', '-m', '1.5'), '--max-iterations must be a whole number such as 10, got "1.5"'],
      [run('-p', 'x', '-m', '99999999999999999999'), '--max-iterations must be a whole number'],
      [run('-p', 'x', '--max-failures', '0'), '--max-failures must be a whole number >= 1, got "0"'],
    ];
    expect(await wrongAnswers(openLoadedStage(), cases)).toEqual([]);
  });

  it('rejects invalid loop names', async () => {
    const cases: readonly Case[] = [
      [run('-p', 'x', '--name', '../x'), /bad name "\.\.\/x": .*only letters/],
      [run('-p', 'x', '--name', 'a/b'), /bad name "a\/b": .*only letters/],
      [run('-p', 'x', '--name', '.hidden'), /bad name "\.hidden": it must start with/],
      [run('-p', 'x', '--name=-x'), /bad name "-x": it must start with/],
      [run('-p', 'x', '--name', ''), 'bad name "": it is empty'],
      [run('-p', 'x', '--name', 'x'.repeat(300)), 'it has 300 characters; the maximum is 64'],
      [run('-p', 'x', '--name', 'zwei wörter'), 'bad name "zwei wörter"'],
      [['status', '../../x'], 'invalid loop name "../../x"'],
      [['rm', '..'], 'invalid loop name ".."'],
    ];
    expect(await wrongAnswers(openLoadedStage(), cases)).toEqual([]);
  });

  it('rejects invalid values of --preset, --until, --done-pattern, --check and -c', async () => {
    const cases: readonly Case[] = [
      [run('-p', 'x', '--preset', 'swam'), /preset must be one of default, .*swarm.*, got "swam"/],
      [run('-p', 'x', '--until', 'tired'), /until must be one of .*both.*, got "tired"/],
      [run('-p', 'x', '--until', 'checks'), /--check is required and must be at least one shell command/],
      [run('-p', 'x', '--done-pattern', 'a(b'), /regular expression.*"a\(b".*at position \d+/],
      [run('-p', 'x', '--done-pattern', '*x'), /"\*x".*at position 0/],
      [run('-p', 'x', '--done-pattern', ''), /regular expression.*got ""/],
      [run('-p', 'x', '--check', ''), /got ""/],
      [run('-p', 'x', '-c', ' '), /got " "/],
    ];
    expect(await wrongAnswers(openLoadedStage(), cases)).toEqual([]);
  });

  it('names the option in the message', async () => {
    const architect = ['-p', 'x', '--preset', 'architect'];
    const cases: readonly Case[] = [
      [run('-p', 'x', '-m', '0'), /--max-iterations must be a whole number >= 1, got/],
      [
        run(...architect, '--check', 'true', '-m', '101'),
        /--max-iterations must be a whole number .*<= 100, got/,
      ],
      [run(...architect), /--check/],
      [run('-p', 'x', '--preset', 'swarm'), /--max-iterations/],
      [run('-p', 'x', '--max-time', '0'), /^ralph: error: --max-time must be/],
      [run('-p', 'x', '--max-output', '0'), /^ralph: error: --max-output must be/],
      [run('-p', 'x', '--until', 'tired'), /^ralph: error: --until must be/],
      [run('-p', 'x', '--preset', 'swam'), /^ralph: error: --preset must be/],
      [run('-p', 'x', '--done-pattern', 'a(b'), /^ralph: error: --done-pattern must be/],
      [run('-p', 'x', '--check', ''), /^ralph: error: --check must/],
      [run('-p', 'x', '-c', ' '), /^ralph: error: --completion-response must be/],
    ];
    expect(await wrongAnswers(openLoadedStage(), cases)).toEqual([]);
  });
});

describe('the workspace', () => {
  it('is rejected when it does not exist or is a file', async () => {
    const stage = openLoadedStage();
    const cases: readonly Case[] = [
      [run('-p', 'x', '--cwd', 'nowhere'), `no such folder: ${stage.path('nowhere')}`],
      [run('-p', 'x', '--cwd', 'README.md'), `no such folder: ${stage.path('README.md')}`],
      [['status', '--cwd', 'nowhere'], `no such folder: ${stage.path('nowhere')}`],
    ];
    expect(await wrongAnswers(stage, cases)).toEqual([]);
  });

  it('is rejected when it is not writable', async () => {
    const stage = openLoadedStage();
    // Root ignores permissions, but cannot create folders in /sys/kernel either.
    const place = isRoot ? '/sys/kernel' : stage.path('locked');
    if (!isRoot) mkdirSync(place, { mode: 0o555 });
    const cases: readonly Case[] = [
      [run('-p', 'x', '--cwd', place), new RegExp(`cannot write ${place}/\\.ralph[^:]*: .+`)],
    ];
    expect(await wrongAnswers(stage, cases)).toEqual([]);
  });

  it('is rejected when .ralph is a file', async () => {
    const stage = openLoadedStage();
    stage.write('.ralph', 'in the way');
    const { code, stderr } = await stage.ralph(...run('-p', 'x'), stage.agent).ended;
    expect({ code, calls: stage.calls }).toEqual({ code: 2, calls: 0 });
    expect(stderr).toMatch(/^ralph: error: [^\n]*: \.ralph is not a folder; [^\n]+\n$/);
  });
});

/** The arguments and the expected message; arguments that end with `--` get the fake agent. */
type Case = readonly [args: readonly string[], message: RegExp | string];

function run(...args: readonly string[]): readonly string[] {
  return ['run', ...args, '--'];
}

/** The cases that Ralph did not reject as expected, with its answers. */
async function wrongAnswers(stage: Stage, cases: readonly Case[]): Promise<readonly object[]> {
  const wrong: object[] = [];
  for (const [args, message] of cases) {
    const isAboutAgent = typeof message === 'string' && /agent command|no agent selected/.test(message);
    const agent = args.at(-1) === '--' && !isAboutAgent ? [stage.agent] : [];
    // oxlint-disable-next-line no-await-in-loop -- one after the other keeps the machine free
    const { code, stdout, stderr } = await stage.ralph(...args, ...agent).ended;
    const hasMessage = typeof message === 'string' ? stderr.includes(message) : message.test(stderr);
    const isOneMessage = /^ralph: error: [^\n]+\n(?:\([^\n]+\)\n)?$/.test(stderr);
    const hasNoEffect = stage.calls === 0 && stage.loops.length === 0;
    if (code !== 2 || stdout !== '' || !hasMessage || !isOneMessage || !hasNoEffect) {
      wrong.push({ args, code, stdout, stderr, expected: String(message), loops: stage.loops });
    }
  }
  return wrong;
}
