/** What is shown of the output of agents and checks: no secrets, no commands for the runner of a CI job. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openLoadedStage } from './stage.ts';

const SECRET = 'my-very-secret-value';
const task = ['-p', 'x', '-m', '1'];

describe('the value of a secret variable', () => {
  it('is masked in everything that Ralph prints of a plain agent, also in pieces, and complete in the raw log', async () => {
    const stage = openLoadedStage();
    stage.env['DEPLOY_TOKEN'] = SECRET;
    stage.plans(
      1,
      `printf 'words my-very-'; sleep 0.1; printf 'secret-value end\\n'; printf 'errors my-very-' >&2; sleep 0.1; printf 'secret-value end\\n' >&2`,
    );
    const check = `echo "check $DEPLOY_TOKEN"; exit 1`;
    const args = [...task, '--check', check, '--verbose'];
    const { stdout, stderr } = await stage.run(...args, '--report', 'json', '--report-file', 'report.json');
    expect(stdout).toContain('words <redacted> end\n');
    expect(stderr).toContain('errors <redacted> end\n');
    expect(stderr).toContain('check <redacted>');
    expect(stage.read('report.json')).toContain('check <redacted>');
    expect(readFileSync(stage.file('runs/0001/stdout.log'), 'utf8')).toBe(`words ${SECRET} end\n`);
    const shown = [stdout, stderr, stage.read('report.json')];
    const commands = [
      ['logs', 'it'],
      ['logs', 'it', '--stderr'],
      ['logs', 'it', '--raw'],
      ['story', 'it', '--json'],
      ['report', 'it', '--format', 'json'],
      ['report', '--format', 'html'],
      ['status', 'it'],
      ['status', '--json'],
      ['ls', '--json'],
    ];
    for (const command of commands) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const ended = await stage.ralph(...command).ended;
      shown.push(ended.stdout, ended.stderr);
    }
    expect(shown.join('\n')).not.toContain(SECRET);
    expect(shown.filter((text) => text.includes('<redacted> end'))).toHaveLength(5);
  });

  it('is masked in the events of an agent, before their lines are cut, and in the JSON of the result', async () => {
    const stage = openLoadedStage();
    stage.env['DEPLOY_TOKEN'] = SECRET;
    stage.installs('claude');
    const tool = {
      type: 'assistant',
      message: {
        id: 'm1',
        content: [
          { type: 'tool_use', id: 't', name: 'Bash', input: { command: `echo ${'x'.repeat(42)} ${SECRET}` } },
        ],
      },
    };
    const output = {
      type: 'user',
      message: {
        content: [{ type: 'tool_result', tool_use_id: 't', content: `${'y'.repeat(108)} ${SECRET}` }],
      },
    };
    const words = {
      type: 'assistant',
      message: { id: 'm2', content: [{ type: 'text', text: `said ${SECRET}` }] },
    };
    const result = { type: 'result', subtype: 'error', is_error: true, result: `failed with ${SECRET}` };
    stage.write('stream', [tool, output, words, result].map((one) => `${JSON.stringify(one)}\n`).join(''));
    stage.plans('default', 'cat stream');
    const ended = await stage.ralph('run', '--name', 'it', ...task, '--agent', 'claude').ended;
    expect(ended.stdout).toContain('said <redacted>');
    expect(ended.stderr).toMatch(/Bash\(echo x+ <redacted>\.\.\.\)/);
    const json = await stage.ralph('run', '--name', 'it', ...task, '--agent', 'claude', '--json').ended;
    const logs = await stage.ralph('logs', 'it').ended;
    expect(logs.stdout).toMatch(/Bash\(echo x+ <redacted>\.\.\.\)/);
    const all = [ended, json, logs].flatMap(({ stdout, stderr }) => [stdout, stderr]).join('\n');
    // No part of it either.
    expect(all).not.toMatch(/my-very|secret-value/);
  });

  it('is masked before the output of a check is cut to 2000 characters', async () => {
    const stage = openLoadedStage();
    stage.env['DEPLOY_TOKEN'] = SECRET;
    // The cut is in the middle of the secret.
    stage.write('output', `${'a'.repeat(100)}${SECRET}${'b'.repeat(1990)}`);
    await stage.run(
      ...task,
      '--check',
      'cat output; exit 1',
      '--report',
      'json',
      '--report-file',
      'report.json',
    );
    expect(stage.read('report.json')).not.toContain('value');
    expect(stage.read('report.json')).toContain('redacted>bbb');
  });
});

/** What a terminal obeys or hides: control characters but tabs and line breaks, and marks and overrides of the direction. */
// oxlint-disable-next-line no-control-regex -- control characters are what this is about
const CONTROLS = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u200B\u202A-\u202E\u2066-\u2069]/u;

describe('escape sequences of agents, checks and messages', () => {
  it('do not pass into a pipe, a file or JSON; only the raw log has them', async () => {
    const stage = openLoadedStage();
    const hostile =
      'a\u001B[2J\u001B]0;title\u0007\u001B]8;;http://evil\u001B\\b\u001B[31mc\u001B[0m over\rd\be\u009B2J \u202Ef\u2066\n';
    const clean = 'abc overde2J <U+202E>f<U+2066>';
    stage.write('hostile', hostile);
    stage.identifies();
    stage.settings({ scm: { command: 'git', tasks: ['commit'] } });
    stage.plans('default', 'cat hostile; cat hostile >&2; echo "$RALPH_ITERATION" >made; cat hostile');
    const args = [...task, '--check', 'cat hostile; exit 1', '--verbose', '--report', 'markdown'];
    const plain = await stage.run(...args, '--report-file', 'report.md');
    const json = await stage.run(...args.slice(0, -1), 'json', '--report-file', 'report.json', '--json');
    await stage.ralph('bus', 'post', '--loop', 'it', `--body=${hostile}`).ended;
    const shown = [plain.stdout, plain.stderr, json.stdout, json.stderr];
    shown.push(stage.read('report.md'), stage.read('report.json'));
    for (const command of [
      ['logs', 'it'],
      ['logs', 'it', '--stderr'],
      ['logs', 'it', '--history', '--lines', '5'],
      ['story', 'it'],
      ['story', 'it', '--json'],
      ['report', 'it'],
      ['report', '--format', 'json'],
      ['report', '--format', 'markdown'],
      ['report', '--format', 'html'],
      ['status', 'it'],
      ['status', 'it', '--json'],
      ['ls'],
      ['bus', 'read', 'it'],
      ['bus', 'read', 'it', '--json'],
    ]) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const ended = await stage.ralph(...command).ended;
      expect({ command, code: ended.code }).toEqual({ command, code: command[0] === 'status' ? 1 : 0 });
      shown.push(ended.stdout, ended.stderr);
    }
    expect(shown.filter((text) => CONTROLS.test(text))).toEqual([]);
    expect(plain.stdout).toContain(clean);
    expect(plain.stderr).toContain(`\n${clean}`);
    expect(plain.stderr).toContain('  |  abc over\n');
    expect(stage.read('report.md')).toContain(clean);
    const said = JSON.stringify(JSON.parse(stage.read('report.json')));
    expect(said).toContain('\u202Ef\u2066');
    const raw = await stage.ralph('logs', 'it', '--raw').ended;
    expect(raw.stdout).toBe(hostile + hostile);
    expect((await stage.ralph('logs', 'it', '--raw', '--stderr').ended).stdout).toBe(hostile);
  });
});

/** As the runner parses a line. */
const isCommand = (line: string): boolean => /^\s*::.*::/.test(line) || /##(?:vso)?\[.*\]/.test(line);
const commandsIn = (text: string): readonly string[] => text.split(/\r\n|\r|\n/).filter(isCommand);

describe('in a GitHub workflow', () => {
  it('agents, checks and files give no commands to the runner', async () => {
    const stage = openLoadedStage();
    stage.env['GITHUB_ACTIONS'] = 'true';
    stage.write(
      'hostile',
      ['context', '::add-mask::a', '  ::stop-commands::b', 'x ##[error]c', 'y'].join('\n'),
    );
    stage.git('add', '.');
    stage.git('-c', 'user.name=t', '-c', 'user.email=t@t', 'commit', '--quiet', '--message', 'hostile');
    stage.plans(
      'default',
      `cat hostile; printf 'over\\r::error::d\\n:'; cat hostile >&2; sed -i 1s/^/changed/ hostile`,
    );
    const args = [...task, '--check', 'cat hostile; exit 1', '--verbose'];
    const plain = await stage.run(...args);
    const json = await stage.run(...args, '--report', 'json');
    const shown = [plain.stdout, plain.stderr, json.stdout, json.stderr];
    for (const command of [
      ['logs', 'it'],
      ['logs', 'it', '--stderr'],
      ['story', 'it'],
      ['report', 'it'],
      ['report', '--format', 'markdown'],
      ['status', 'it', '--json'],
      ['diff', 'it'],
    ]) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const ended = await stage.ralph(...command).ended;
      shown.push(ended.stdout, ended.stderr);
    }
    expect(plain.stdout).toContain('context\n\\::add-mask::a\n  \\::stop-commands::b\nx ##\\[error]c\n');
    expect(shown.flatMap(commandsIn)).toEqual([]);
    expect(JSON.stringify(JSON.parse(json.stdout))).toContain('##[error]c');
    // A patch that goes to a file is exact.
    await stage.shell('$RALPH diff it > ../plan/patch').ended;
    expect(readFileSync(join(stage.plan, 'patch'), 'utf8')).toContain('\n ::add-mask::a\n');
    delete stage.env['GITHUB_ACTIONS'];
    expect((await stage.ralph('logs', 'it').ended).stdout).toContain('\n::add-mask::a\n');
    expect(existsSync(stage.path('hostile'))).toBe(true);
  });
});
