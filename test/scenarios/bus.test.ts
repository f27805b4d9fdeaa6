import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { openLoadedStage, openStage, waitFor, type Stage } from './stage.ts';

let stage: Stage;
beforeEach(() => {
  stage = openLoadedStage();
  // As `$RALPH` in a shell of the test.
  stage.env['RALPH'] = `${process.execPath} ${stage.main}`;
});
const bus = async (...args: readonly string[]) => {
  const { code, stdout, stderr } = await stage.ralph('bus', ...args).ended;
  return { code, stdout, stderr };
};
/** What a command that exits 2 says. */
const refused = async (...args: readonly string[]): Promise<string> => {
  const { code, stderr } = await bus(...args);
  expect(code).toBe(2);
  return stderr;
};
const withLoop = (): Promise<unknown> => stage.run('-p', 'work', '-m', '1');
const TIME = String.raw`\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\]`;

describe('ralph bus', () => {
  it('S1.79 S1.82 T036 finds the bus inside an agent, and prints the last messages', async () => {
    stage.plans(
      1,
      `$RALPH bus post --type FACT one word >"$FAKE_CALL/post"
       printf 'piped\\ntext\\n' | $RALPH bus post --type PROGRESS
       $RALPH bus post --body last --parent "$(sed 's/msg_id: //' "$FAKE_CALL/post")"
       cd /; $RALPH bus read --tail 2 >"$FAKE_CALL/read"
       $RALPH bus discover >"$FAKE_CALL/discover"
       $RALPH bus post --project for all
       $RALPH bus read >"$FAKE_CALL/all"`,
    );
    await withLoop();
    expect(stage.given(1, 'post')).toMatch(/^msg_id: MSG-\d{8}-\d{6}-\d{9}-PID\d{5}-\d{4}\n$/);
    expect(stage.given(1, 'read')).toMatch(
      new RegExp(`^${TIME} \\(PROGRESS\\) piped\n {2}text\n${TIME} \\(INFO\\) last\n$`),
    );
    expect(stage.given(1, 'discover')).toBe(`${stage.file('TASK-MESSAGE-BUS.md')}\n`);
    const { stdout } = await bus('read', 'it', '--json', '--tail', '1');
    expect(JSON.parse(stdout)).toMatchObject({
      taskId: 'it',
      projectId: 'workspace',
      runId: /^JRUN_ID=(.*)$/m.exec(stage.given(1, 'env'))?.[1],
      parents: [{ id: stage.given(1, 'post').slice('msg_id: '.length, -1) }],
    });
    expect((await bus('read', '--project')).stdout).toMatch(new RegExp(`^${TIME} \\(INFO\\) for all\n$`));
  });

  it(
    'S1.82 works in a sandbox, for the bus of the loop and the one of the workspace',
    { tags: ['bwrap'] },
    async () => {
      const settings = join(stage.env['HOME'] ?? '', '.config/ralph/settings.json');
      mkdirSync(dirname(settings), { recursive: true });
      writeFileSync(settings, JSON.stringify({ sandbox: { write: [stage.plan, dirname(stage.agent)] } }));
      stage.plans(
        1,
        `$RALPH bus post from inside && $RALPH bus post --project for all && $RALPH bus read it >"$FAKE_CALL/read" 2>&1
       $RALPH bus read other >"$FAKE_CALL/other" 2>&1`,
      );
      await withLoop();
      expect(stage.given(1, 'read')).toMatch(/\(INFO\) from inside\n$/);
      expect(stage.given(1, 'other')).toContain('no loop named "other"');
      expect((await bus('read')).stdout).toContain('from inside');
      expect((await bus('read', '--project')).stdout).toContain('for all');
    },
  );

  it('S1.82 uses the bus of the only loop, of a named one, or of the workspace', async () => {
    expect(await refused('post', 'text')).toContain('no message bus: there are no loops in');
    expect(await bus('post', '--project', 'text')).toMatchObject({ code: 0 });
    await withLoop();
    expect(await bus('post', 'to it')).toMatchObject({ code: 0 });
    await stage.ralph('run', '--name', 'other', '-p', 'work', '-m', '1', '--', stage.agent).ended;
    expect(await refused('post', 'text')).toMatch(
      /which loop\? There are 2 in .*: it, other; name one: ralph bus read NAME/,
    );
    expect(await bus('post', '--loop', 'other', 'to other')).toMatchObject({ code: 0 });
    expect((await bus('read', 'it')).stdout).toMatch(/\(INFO\) to it\n$/);
    expect((await bus('read', 'other')).stdout).toMatch(/\(INFO\) to other\n$/);
    const run = stage.path('.ralph/loops/it/runs/0001');
    mkdirSync(run, { recursive: true });
    expect(await bus('post', '--cwd', run, 'from its run')).toMatchObject({ code: 0 });
    expect(JSON.parse((await bus('read', 'it', '--json', '--tail', '1')).stdout)).toMatchObject({
      body: 'from its run',
      projectId: 'workspace',
      taskId: 'it',
    });
    mkdirSync(stage.path('sub'));
    expect((await bus('read', '--cwd', 'sub')).stdout).toMatch(/\(INFO\) text\n$/);
    expect((await bus('discover', '--from', '.')).stdout).toBe(
      `${stage.path('.ralph/PROJECT-MESSAGE-BUS.md')}\n`,
    );
  });

  it('S1.82 keeps the default and the time of a question, and rejects one without the other', async () => {
    await withLoop();
    const question = ['post', '--type', 'QUESTION', 'which one?'];
    expect(await bus(...question, '--default', 'the first', '--timeout', '30m')).toMatchObject({ code: 0 });
    expect(JSON.parse((await bus('read', '--json')).stdout)).toMatchObject({
      type: 'QUESTION',
      meta: { default: 'the first', timeout_ms: '1800000' },
    });
    for (const [args, message] of [
      [[...question, '--default', 'x'], '--default needs --timeout'],
      [[...question, '--timeout', '1m'], '--timeout needs --default'],
      [['post', 'x', '--default', 'x', '--timeout', '1m'], 'are for --type QUESTION, got "INFO"'],
      [
        ['post', 'x', '--type', 'two words'],
        '--type must be one word such as FACT or QUESTION, got "two words"',
      ],
      [['post', 'x', '--body', 'y'], 'either with --body or as words'],
      [['post'], 'the message is empty'],
      [['read', '--since', 'MSG-1'], 'no message MSG-1 on'],
      [['read', '--tail', 'x'], '--tail must be a whole number >= 0, got "x"'],
    ] as const) {
      // oxlint-disable-next-line no-await-in-loop -- the same loop
      expect(await refused(...args)).toContain(message);
    }
  });

  it('S1.80 S1.82 uses no path of the environment that is not a bus, or is a link', async () => {
    const { env } = stage;
    const target = stage.path('README.md');
    for (const path of ['README.md', target, 'TASK-MESSAGE-BUS.md']) {
      env['MESSAGE_BUS'] = path;
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect(await refused('post', 'text')).toContain(
        'must be the absolute path of a file TASK-MESSAGE-BUS.md or',
      );
    }
    env['MESSAGE_BUS'] = stage.path('TASK-MESSAGE-BUS.md');
    symlinkSync(target, env['MESSAGE_BUS']);
    expect((await bus('post', 'text')).stderr).toContain('it is a symbolic link');
    expect(readFileSync(target, 'utf8')).not.toContain('text');
  });

  it('S1.82 follows the bus: read shows the last messages first, watch only new ones', async () => {
    stage = openStage();
    await withLoop();
    await bus('post', 'old');
    const followed = stage.ralph('bus', 'read', '--follow', '--type', 'FACT', '--tail', '5');
    const watched = stage.ralph('bus', 'watch', 'it');
    await bus('post', '--type', 'FACT', 'a fact');
    await followed.until('a fact', 'stdout');
    // It may have started after the message.
    for (let number = 1; !watched.stdout.includes('text '); number++) {
      // oxlint-disable-next-line no-await-in-loop -- until it is seen
      await bus('post', `text ${number}`);
    }
    for (const one of [followed, watched]) one.signal('SIGTERM');
    await Promise.all([followed.ended, watched.ended]);
    expect(followed.stdout).toMatch(new RegExp(`^${TIME} \\(FACT\\) a fact\n$`));
    expect(watched.stdout).not.toContain('old');
  });

  it('S1.82 prints no control characters and no secrets', async () => {
    stage.env['OPENAI_API_KEY'] = 'sk-secret-0123456789abcdef';
    stage.plans(
      1,
      String.raw`printf 'key %s \033[31m\nend' "$OPENAI_API_KEY" | $RALPH bus post --type 'A\nB'; $RALPH bus post --type QUESTION q --default "$OPENAI_API_KEY" --timeout 1h; : > asked; ${waitFor()}`,
    );
    const loop = stage.starts('-p', 'work', '-m', '1');
    await stage.waitForFile(stage.path('asked'));
    const { stdout } = await bus('read', 'it');
    const json = await bus('read', 'it', '--json');
    stage.release();
    await loop.ended;
    expect(stdout).not.toContain('0123456789abcdef');
    expect(stdout).not.toContain('\u001b');
    expect(stdout.split('\n')).toHaveLength(4);
    expect(json.stdout).not.toContain('0123456789abcdef');
    expect(json.stdout).toContain('"default":"<redacted>"');
  });
});
