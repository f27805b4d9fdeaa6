import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyText } from '../../test/rig/any-text.ts';
import { draft, type Draft, type Message } from './message.ts';
import { readRecords, recordOf, separatorAfter } from './records.ts';

const text = anyText();
const id = fc.stringMatching(/^[A-Za-z][\w.:-]{0,40}$/);
const table = fc.dictionary(text, text, { maxKeys: 3 });
/** Bodies with many lines that look like the file's own. */
const body = fc
  .array(
    fc.oneof(
      { weight: 1, arbitrary: text },
      {
        weight: 2,
        arbitrary: fc.constantFrom(
          '---',
          '\\---',
          '\\\\---',
          '--- ',
          '---\r',
          '',
          '----',
          'msg_id: MSG-1',
          'type: INFO',
          '[2026-02-05 10:00:00] INFO: not a message',
        ),
      },
    ),
    { maxLength: 6 },
  )
  .map((lines) => lines.join('\n'));
const message: fc.Arbitrary<Message> = fc.record({
  id,
  ts: fc
    .date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true })
    .map((date) => date.toISOString()),
  type: fc.oneof(fc.constantFrom('INFO', 'null', 'y', '42', '- a'), anyText({ minLength: 1 })),
  projectId: text,
  taskId: text,
  runId: text,
  parents: fc.array(fc.oneof(fc.record({ id }), fc.record({ id, kind: text, meta: table })), {
    maxLength: 2,
  }),
  links: fc.array(fc.oneof(fc.record({ url: text }), fc.record({ url: text, label: text, kind: text })), {
    maxLength: 2,
  }),
  meta: table,
  body,
});

/** A file with these messages, as processes append them. */
const fileOf = (messages: readonly Message[], start: Buffer = Buffer.alloc(0)): Buffer =>
  messages.reduce(
    (file, one) => Buffer.concat([file, Buffer.from(separatorAfter(file)), recordOf(one)]),
    start,
  );
const simple = (bodyText: string, more: Partial<Draft> = {}): Message => ({
  id: 'MSG-1',
  ts: '2026-02-05T10:00:00.000Z',
  ...draft({ type: 'INFO', projectId: 'project', body: bodyText }),
  ...more,
});
const bodies = (file: string): readonly string[] => readRecords(Buffer.from(file)).map((one) => one.body);

describe('records', () => {
  it('S1.76 S1.77 S1.81 T030 read back as they were written, whatever they contain', () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 4 }), (messages) => {
        expect(readRecords(fileOf(messages))).toEqual(messages);
      }),
      { numRuns: 300 },
    );
  });

  it('S1.81 T033 a torn record costs no whole record, before it or after it', () => {
    fc.assert(
      fc.property(
        fc.array(message, { maxLength: 2 }),
        message,
        fc.array(message, { maxLength: 2 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (before, torn, after, part) => {
          const whole = fileOf(before);
          const record = Buffer.concat([Buffer.from(separatorAfter(whole)), recordOf(torn)]);
          const file = Buffer.concat([whole, record.subarray(0, Math.floor(record.length * part))]);
          const found = readRecords(fileOf(after, file));
          // Its last byte may be all that is missing.
          const withTorn = [...before, torn, ...after];
          expect([[...before, ...after], withTorn]).toContainEqual(found);
        },
      ),
      { numRuns: 1000 },
    );
  });

  it('S1.81 reads the end of a file from any byte on', () => {
    fc.assert(
      fc.property(fc.array(message, { minLength: 1, maxLength: 4 }), fc.nat(), (messages, at) => {
        const file = fileOf(messages);
        const from = at % file.length;
        const found = readRecords(file.subarray(from), from).filter((one) => !one.id.startsWith('LEGACY-'));
        expect(found).toEqual(found.length === 0 ? [] : messages.slice(-found.length));
      }),
      { numRuns: 300 },
    );
  });

  it('S1.76 S1.77 are text that people can read', () => {
    const parents = [{ id: 'MSG-0', kind: 'answers' }];
    expect(recordOf(simple('first\n---\nlast\n', { taskId: 'fix it', parents, meta: { a: 'b' } })).toString())
      .toBe(`---
msg_id: MSG-1
ts: 2026-02-05T10:00:00.000Z
type: INFO
project_id: project
task_id: "fix it"
run_id: ""
parents: [{"msg_id":"MSG-0","kind":"answers"}]
meta: {"a":"b"}
body_bytes: 16
---
first
\\---
last

`);
  });

  it('S1.77 S1.81 reads YAML of other tools, and parents that are plain ids', () => {
    const file = `---
msg_id: MSG-2
ts: 2026-02-05T10:00:00.5Z
type: FACT
project_id: p
task_id: 007
run_id: ''
parents:
  - MSG-1
  - msg_id: MSG-0
    kind: answers
    meta: {n: 1, list: [2]}
links:
  - {url: "https://example.org", label: docs}
meta:
  key: |
    two
    lines
---
\\---
body

---
msg_id: MSG-3
type: INFO
---
last
`;
    const [first, second] = readRecords(Buffer.from(file));
    expect(first).toEqual({
      id: 'MSG-2',
      ts: '2026-02-05T10:00:00.5Z',
      type: 'FACT',
      projectId: 'p',
      taskId: '7',
      runId: '',
      parents: [{ id: 'MSG-1' }, { id: 'MSG-0', kind: 'answers', meta: { n: '1' } }],
      links: [{ url: 'https://example.org', label: 'docs' }],
      meta: { key: 'two\nlines\n' },
      body: '\\---\nbody',
    });
    expect(second).toMatchObject({ id: 'MSG-3', body: 'last' });
  });

  it('S1.81 skips records with an invalid header, and a last record of another tool without a newline', () => {
    const good = (name: string): string => `---\nmsg_id: ${name}\ntype: INFO\n---\n${name}\n`;
    expect(bodies(`${good('A')}\n---\nmsg_id: [\n---\nlost\n\n${good('B')}`)).toEqual(['A', 'B']);
    expect(bodies(`${good('A')}---\ntype: INFO\n---\nno id\n${good('B')}`)).toEqual(['A', 'B']);
    expect(bodies(`${good('A')}\n---\nmsg_id: B\ntype: INFO\n---\nhalf a li`)).toEqual(['A']);
    expect(bodies(`---\nmsg_id: B\ntype: INFO\n${'#\n'.repeat(40_000)}---\nhuge header\n`)).toEqual([]);
  });

  it('S1.80 a record of ours survives one that another program appends without an empty line', () => {
    const file = `${recordOf(simple('ours')).toString()}---\nmsg_id: A\ntype: INFO\n---\ntheirs\n`;
    expect(bodies(file)).toEqual(['ours', 'theirs']);
  });

  it('S1.81 reads the last 1000 records of other tools, and every record of ours', () => {
    const foreign = (name: string): string => `---\nmsg_id: '${name}'\ntype: INFO\n---\n${name}\n\n`;
    const ours = recordOf(simple('ours')).toString();
    const file = `${ours}\n${Array.from({ length: 1001 }, (_, at) => foreign(`A${at}`)).join('')}`;
    const found = bodies(file);
    expect(found).toHaveLength(1001);
    expect(found.slice(0, 2)).toEqual(['ours', 'A1']);
  });

  it('S1.81 reads megabytes of lines that look like records, and of lines of the earlier format', () => {
    const fill = (part: string): Buffer => Buffer.alloc(2 ** 21, part);
    expect(readRecords(fill('---\na\n'))).toEqual([]);
    expect(readRecords(fill('---\nmsg_id\n'))).toEqual([]);
    expect(readRecords(fill('[2026-02-05 10:00:00] INFO: x\n'))).toHaveLength(69_905);
  });

  it('S1.81 ignores headers with aliases, which could multiply a few bytes without end', () => {
    const header = 'msg_id: A\ntype: INFO\nx: &x {msg_id: B, meta: {a: b}}\nparents: [*x, *x]\n';
    expect(bodies(`---\n${header}---\nbody\n`)).toEqual([]);
  });

  it('S1.81 accepts lines of the earlier format between records, not in bodies', () => {
    const line = '[2026-02-05 10:00:00] WARNING: old text\n';
    const file = `${line}not a message\n\n${recordOf(simple(line)).toString()}${line}[2026-02-05 10:00:00] INFO: torn`;
    const found = readRecords(Buffer.from(file));
    expect(found.map((one) => one.body)).toEqual(['old text', line, 'old text']);
    expect(found[0]).toMatchObject({
      id: 'LEGACY-LINE-000000000',
      ts: '2026-02-05T10:00:00Z',
      type: 'WARNING',
    });
    expect(found[2]?.id).toMatch(/^LEGACY-LINE-\d{9}$/);
  });
});
