// The time and memory that a stream of JSON events takes, compared with a bare reader of the same lines.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { medians, peakOf, PROJECT, scratch } from './measure.mjs';

const FLOOD_BYTES = 500e6;
const BLOCK_BYTES = 25e6;

export async function streams() {
  return [...(await flood('claude')), ...(await flood('codex'))];
}

/** A flood of events, and the peak memory while it is read. */
async function flood(name) {
  const box = scratch();
  const { head, block, tail } = streamOf(name, BLOCK_BYTES);
  for (const [part, text] of Object.entries({ head, block, tail })) writeFileSync(join(box.root, part), text);
  const agent = agentIn(
    box,
    name,
    `cat ${box.root}/head\nfor i in $(seq ${Math.round(FLOOD_BYTES / block.length)}); do cat ${box.root}/block; done\ncat ${box.root}/tail\n`,
  );
  const reader = box.program('reader.mjs', READER);
  const pipe = box.program('pipe', `#!/bin/sh\n${agent} | ${process.execPath} ${reader}\n`);
  const command = ['run', '-q', '-f', 'PROMPT.md', '-m', '1', '--agent', name];
  const ours = () => {
    box.clear();
    return box.ralph(...command).ms;
  };
  const all = medians(3, { bare: () => box.time(pipe, []).ms, ours });
  box.clear();
  const peak = await peakOf(box, command);
  box.clear();
  return [
    {
      what: `500 MB of events of ${name}`,
      ours: all.ours / 1000,
      unit: 's',
      bare: all.bare / 1000,
      baseline: 'a program that parses each line',
      limit: 1.7,
    },
    { what: `peak memory while it reads 500 MB of events of ${name}`, ours: peak, unit: 'MB', limit: 100 },
  ];
}

/** A program with the name of an agent, first in the path. */
function agentIn(box, name, script) {
  mkdirSync(join(box.root, 'bin'), { recursive: true });
  box.env.PATH = `${box.root}/bin:${process.env.PATH}`;
  return box.program(join('bin', name), `#!/bin/sh\n${script}`);
}

/**
 * A long run of an agent, made of recorded ones: the beginning, events with new ids for as many bytes, and the result. The
 * recorded agent says and prints only a few words, so its texts and the output of its tools get usual lengths.
 */
function streamOf(name, bytes) {
  const { begins, ends, lengthen } = FORMATS[name];
  const runs = RECORDINGS.map((file) =>
    readFileSync(join(PROJECT, 'test/fixtures/agent-streams', name, `${file}.jsonl`), 'utf8')
      .trim()
      .split('\n'),
  );
  const [first] = runs;
  const middle = runs.flat().filter((line) => !begins.test(line) && !ends.test(line));
  let block = '';
  for (let round = 0; block.length < bytes; round++) {
    for (const [index, line] of middle.entries()) {
      const event = JSON.parse(line.replaceAll(/"(msg|toolu|item)_/g, `"$1_${round}_`));
      lengthen(event, round + index);
      block += `${JSON.stringify(event)}\n`;
    }
  }
  return {
    head: `${first.filter((line) => begins.test(line)).join('\n')}\n`,
    block,
    tail: `${first.filter((line) => ends.test(line)).join('\n')}\n`,
  };
}

const RECORDINGS = ['04-file-write-edit', '02-tool-success', '03-tool-failure', '11-thinking'];

const FORMATS = {
  claude: {
    begins: /"subtype":"init"/,
    ends: /"type":"result"/,
    lengthen({ message, tool_use_result: result }, number) {
      for (const block of message?.content ?? []) {
        if (block.type === 'text') block.text += words(number);
        if (block.type === 'tool_result') block.content += printed(number);
      }
      if (typeof result?.stdout === 'string') result.stdout += printed(number);
    },
  },
  codex: {
    begins: /"(?:thread|turn)\.started"/,
    ends: /"turn\.completed"/,
    lengthen({ type, item }, number) {
      if (type !== 'item.completed') return;
      if (item.type === 'agent_message') item.text += words(number);
      if ('aggregated_output' in item) item.aggregated_output += printed(number);
    },
  },
};

const PROSE = readFileSync(join(PROJECT, 'README.md'), 'utf8');
const CODE = readFileSync(join(PROJECT, 'src/loop/decide.ts'), 'utf8');

/** What an agent says between two tools. */
function words(number) {
  return ` ${PROSE.slice(0, [120, 300, 700][number % 3])}`;
}

/** What a tool prints: a file, or the end of a command's output. */
function printed(number) {
  return CODE.slice(0, [200, 1500, 11_000][number % 3]);
}

/** As little as a reader of events can do. */
const READER = `
let rest = '';
let events = 0;
process.stdin.setEncoding('utf8');
process.stdin.on('data', (chunk) => {
  const lines = (rest + chunk).split('\\n');
  rest = lines.pop();
  for (const line of lines) if (typeof JSON.parse(line) === 'object') events++;
});
process.stdin.on('end', () => console.log(events));
`;
