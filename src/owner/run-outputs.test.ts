import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LoopFolder } from '../home/home.ts';
import { makeLoopFolder, removeLoopFolder, specFor } from '../../test/rig/loop-folder.ts';
import { RunOutputs } from './run-outputs.ts';

let folder: LoopFolder;
beforeEach(() => {
  folder = makeLoopFolder();
});
afterEach(() => removeLoopFolder(folder));

const outputsOf = (kind: string, run: () => string | null = () => '1.1'): RunOutputs => {
  const spec = specFor(folder, { agent: { kind, argv: [kind] } });
  return new RunOutputs({ folder, spec }, run);
};
const logs = (run: string, stdout: string): void => {
  mkdirSync(folder.run(run), { recursive: true });
  writeFileSync(join(folder.run(run), 'stdout.log'), stdout);
  writeFileSync(join(folder.run(run), 'stderr.log'), 'oops\n');
};
const read = (run: string, name: string): string =>
  readFileSync(join(folder.workspaceFolder.run(run), name), 'utf8');
const says = (message: string, text: string) => ({ type: 'text', message, text }) as const;
const answers = (text: string | null) =>
  ({ type: 'result', ok: true, text, usage: null, session: null, error: null }) as const;

describe('the output of a run', () => {
  it('S1.71 is copied, and output.md is what the agent printed if it has not written it', () => {
    logs('1.1', 'hello\n');
    const outputs = outputsOf('custom');
    // What a command prints is not known to be its own text.
    outputs.agent(says('1', 'hello'));
    outputs.write('1.1');
    expect(read('1.1', 'agent-stdout.txt')).toBe('hello\n');
    expect(read('1.1', 'agent-stderr.txt')).toBe('oops\n');
    expect(read('1.1', 'output.md')).toBe('hello\n');
  });

  it('S1.71 keeps an output.md of the agent, also a link that leads nowhere', () => {
    logs('1.1', 'hello\n');
    mkdirSync(folder.workspaceFolder.run('1.1'), { recursive: true });
    writeFileSync(folder.workspaceFolder.output('1.1'), 'mine\n');
    outputsOf('custom').write('1.1');
    expect(read('1.1', 'output.md')).toBe('mine\n');
    rmSync(folder.workspaceFolder.output('1.1'));
    symlinkSync(join(folder.workspace, 'none'), folder.workspaceFolder.output('1.1'));
    outputsOf('custom').write('1.1');
    expect(existsSync(join(folder.workspace, 'none'))).toBe(false);
  });

  it.each([
    ['its final answer', 'the answer', 'the answer\n'],
    ['else its last message', null, 'second message\n'],
  ])('S1.71 of an agent whose stream can be read is %s', (_, answer, expected) => {
    logs('1.1', '{"type":"result"}\n');
    const outputs = outputsOf('claude');
    outputs.recalled(says('1', 'first'));
    outputs.agent(says('2', 'second '));
    outputs.agent(says('2', 'message'));
    outputs.agent({ ...says('3', 'the prompt'), isEcho: true });
    outputs.agent(answers(answer));
    outputs.write('1.1');
    expect(read('1.1', 'output.md')).toBe(expected);
    expect(read('1.1', 'agent-stdout.txt')).toBe('{"type":"result"}\n');
  });

  it('S1.71 is never the text of another run: without its own text it is what the agent printed', () => {
    logs('1.1', 'one\n');
    logs('2.1', 'two\n');
    let run = '1.1';
    const outputs = outputsOf('claude', () => run);
    outputs.agent(answers('the answer'));
    outputs.write('2.1');
    expect(read('2.1', 'output.md')).toBe('two\n');
    run = '2.1';
    outputs.agent(says('1', 'more'));
    outputs.write('1.1');
    expect(read('1.1', 'output.md')).toBe('one\n');
  });

  it('S1.71 is cut to its end if it is very long, and a run that did not start has none', () => {
    logs('1.1', `${'x'.repeat(64 * 2 ** 20)}the end\n`);
    outputsOf('custom').write('1.1');
    for (const name of ['agent-stdout.txt', 'output.md']) {
      expect(read('1.1', name).slice(0, 1000)).toMatch(/^\[the last 67108864 of 67108872 bytes, .*\]\nx/);
      expect(read('1.1', name).endsWith('the end\n')).toBe(true);
    }
    outputsOf('custom').write('2.1');
    expect(existsSync(folder.workspaceFolder.output('2.1'))).toBe(false);
  });
});
