import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { Control } from '../loop/event.ts';
import { Inbox, isQueued, post } from './inbox.ts';

let folder: string;
let path: string;
let warnings: string[];
let inbox: Inbox;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ralph-inbox-'));
  path = join(folder, 'inbox');
  warnings = [];
  inbox = new Inbox(path, (line) => void warnings.push(line));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const drop = (content: string, name = 'zz.json'): void => {
  mkdirSync(path, { recursive: true });
  writeFileSync(join(path, name), content);
};
const rejected = (): readonly string[] =>
  existsSync(join(path, 'rejected')) ? readdirSync(join(path, 'rejected')) : [];

describe('the inbox', () => {
  it('lists messages in the order in which they were posted', () => {
    post(path, { type: 'tell', text: 'first' }, 9);
    post(path, { type: 'pause' }, 10);
    post(path, { type: 'resume', now: true }, 100);
    expect(inbox.messages().map(({ control }) => control.type)).toEqual(['tell', 'pause', 'resume']);
  });

  it('holds a message until it is removed', () => {
    const id = post(path, { type: 'pause' }, 1);
    expect(inbox.messages()).toEqual([{ id, control: { type: 'pause' } }]);
    expect(isQueued(path, id)).toBe(true);
    inbox.remove(id);
    inbox.remove(id);
    expect(isQueued(path, id)).toBe(false);
    expect(inbox.messages()).toEqual([]);
  });

  it('is empty if its folder does not exist', () => {
    expect(inbox.messages()).toEqual([]);
  });

  it.each<Control>([
    { type: 'stop', now: true, by: 'person' },
    { type: 'set', limits: { iterations: 5, timeMs: null, unchanged: { nudge: null, end: 3 } } },
    { type: 'tell', text: 'é😀\n'.repeat(100_000) },
  ])('delivers what a command sends', (control) => {
    post(path, control, 1);
    expect(inbox.messages().map((message) => message.control)).toEqual([control]);
  });

  it('ignores unfinished files and files with other names, and keeps them', () => {
    const id = post(path, { type: 'pause' }, 1);
    drop('{', '.half.json');
    drop('hello', 'notes.txt');
    expect(inbox.messages()).toEqual([{ id, control: { type: 'pause' } }]);
    expect(readdirSync(path)).toHaveLength(3);
    expect(warnings).toEqual([]);
  });

  it.each([
    ['{"type":["tell"]}', 'type must be one of pause, resume, stop, tell, answer, set, got ["tell"]'],
    ['{"type":"set"}', 'limits is required and must be an object'],
    ['{"type":"set","limits":{}}', 'limits must be an object with at least one limit, got {}'],
    ['{"type":"set","limits":{"iterations":0}}', 'limits.iterations must be a whole number >= 1, got 0'],
    ['{"type":"set","limits":{"stopRunning":true}}', 'unknown field limits.stopRunning'],
    ['{"type":"set","limits":{"__proto__":null}}', 'unknown field limits.__proto__'],
    ['{"type":"abort","message":"x","as":"waiting"}', 'type must be one of'],
    ['{"type":"abort","message":"x"}', 'got "abort"'],
    ['{"type":"signal","signal":"SIGINT"}', 'got "signal"'],
    ['{"type":"stop","now":true,"by":"deadline"}', 'by must be one of person, got "deadline"'],
    ['{"type":"stop","now":"yes","by":"person"}', 'now must be true or false, got "yes"'],
    ['{"type":"resume"}', 'now is required'],
    ['{"type":"tell","text":"  "}', 'text must be a non-blank string, got "  "'],
    ['{"type":"tell","text":"a\\u0000b"}', 'without NUL'],
    ['{"type":"pause","now":true}', 'unknown field now'],
    ['{"type":"toString"}', 'got "toString"'],
    ['["pause"]', 'type must be one of'],
    ['null', 'got null'],
    ['pause', 'it is not JSON'],
    ['', 'it is not JSON'],
  ])('rejects %s', (content, why) => {
    drop(content);
    expect(inbox.messages()).toEqual([]);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain(`rejected the message ${join(path, 'zz.json')}: `);
    expect(warnings[0]).toContain(why);
    expect(warnings[0]).toContain(`it is now ${join(path, 'rejected', 'zz.json')}`);
    expect(readFileSync(join(path, 'rejected', 'zz.json'), 'utf8')).toBe(content);
    // It is not read again.
    expect(inbox.messages()).toEqual([]);
    expect(warnings).toHaveLength(1);
  });

  it('rejects a list that is nested too deeply to be shown', () => {
    drop(`{"type":${'['.repeat(500_000)}${']'.repeat(500_000)}}`);
    expect(inbox.messages()).toEqual([]);
    expect(warnings[0]).toContain('type must be one of pause, resume, stop, tell, answer, set, got a list');
  });

  it('moves away what is not a file without opening, following or waiting for it', async () => {
    mkdirSync(path);
    execFileSync('mkfifo', [join(path, 'a.json')]);
    mkdirSync(join(path, 'b.json'));
    writeFileSync(join(folder, 'elsewhere'), '{"type":"pause"}');
    symlinkSync(join(folder, 'elsewhere'), join(path, 'c.json'));
    symlinkSync(join(folder, 'nowhere'), join(path, 'd.json'));
    symlinkSync('/dev/zero', join(path, 'e.json'));
    const server = createServer();
    onTestFinished(() => void server.close());
    await new Promise<void>((resolve) => void server.listen(join(path, 'f.json'), resolve));
    const id = post(path, { type: 'pause' }, 1);
    expect(inbox.messages()).toEqual([{ id, control: { type: 'pause' } }]);
    expect(rejected()).toEqual(['a.json', 'b.json', 'c.json', 'd.json', 'e.json', 'f.json']);
    expect(warnings).toHaveLength(4);
    expect(warnings[0]).toContain('a.json: it is not a regular file');
    expect(warnings[3]).toContain('rejected 3 more messages');
    expect(readFileSync(join(folder, 'elsewhere'), 'utf8')).toBe('{"type":"pause"}');
  });

  it('does not read a file of 1 TB', () => {
    drop('{"type":"pause"}');
    truncateSync(join(path, 'zz.json'), 2 ** 40);
    const before = process.memoryUsage().rss;
    expect(inbox.messages()).toEqual([]);
    expect(process.memoryUsage().rss - before).toBeLessThan(50 * 2 ** 20);
    expect(warnings[0]).toContain('zz.json: it is too long: 1099511627776 bytes (maximum 6292456)');
  });

  it('keeps several rejected messages of one name', () => {
    for (const content of ['1', '2', '3']) {
      drop(content);
      inbox.messages();
    }
    expect(rejected()).toEqual(['zz.json', 'zz.json.1', 'zz.json.2']);
  });

  it('reports a file that it cannot move once, and still reads the others', () => {
    drop('x', 'a.json');
    const id = post(path, { type: 'pause' }, 1);
    writeFileSync(join(path, 'rejected'), 'in the way');
    expect(inbox.messages()).toEqual([{ id, control: { type: 'pause' } }]);
    expect(inbox.messages()).toEqual([{ id, control: { type: 'pause' } }]);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain('it could not be moved away');
  });

  it('is made again if something else is in its place', () => {
    writeFileSync(path, 'a file');
    expect(inbox.messages()).toEqual([]);
    inbox.prepare();
    expect(warnings[0]).toContain(`${path} is not a folder`);
    post(path, { type: 'pause' }, 1);
    expect(inbox.messages()).toHaveLength(1);
    expect(readFileSync(`${path}.rejected/inbox`, 'utf8')).toBe('a file');
  });

  it('refuses to send a message that it would reject', () => {
    expect(() => post(path, { type: 'tell', text: 'x'.repeat(2 ** 20 + 1) }, 1)).toThrow(
      'cannot send this message: text must be a string of at most 1048576 characters',
    );
    expect(existsSync(path)).toBe(false);
  });
});
