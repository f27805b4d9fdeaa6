import type { Agent, AgentEvent, RunFacts, StreamParser } from './agent.ts';
import { custom } from './custom.ts';
import { parsed } from './json.ts';
import { failedResult, readTrouble } from './trouble.ts';

/**
 * The agent in a run that asks for a commit message. It is called like any other run, so that its usage is known; only the
 * calls of document 001 print plain text. The first line shows which of the two it is.
 */
export function inMessageRun(agent: Agent): Agent {
  return agent.call === null ? agent : { ...agent, read: (run) => streamOrText(agent, run) };
}

function streamOrText(agent: Agent, run: RunFacts): StreamParser {
  let parser: StreamParser | null = null;
  let start = Buffer.alloc(0);
  const choose = (): StreamParser => {
    const [line = ''] = start.toString('utf8').trimStart().split('\n', 1);
    return 'type' in parsed(line) ? agent.read(run) : textParser(run);
  };
  return {
    push(chunk) {
      if (parser !== null) return parser.push(chunk);
      start = Buffer.concat([start, chunk]);
      const isChosen = start.toString('utf8').trimStart().includes('\n') || start.length > MAX_FIRST_LINE;
      if (!isChosen) return [];
      parser = choose();
      return parser.push(start);
    },
    end() {
      if (parser !== null) return parser.end();
      parser = choose();
      return [...parser.push(start), ...parser.end()];
    },
  };
}

/** The first record of a stream is short; a longer line is an answer. */
const MAX_FIRST_LINE = 2 ** 20;

function textParser(run: RunFacts): StreamParser {
  const parser = custom.read(run);
  let printed = '';
  const remember = (events: readonly AgentEvent[]): readonly AgentEvent[] => {
    for (const event of events) {
      if (event.type === 'text' && printed.length <= MAX_ERROR_LENGTH) printed += event.text;
    }
    return events;
  };
  return {
    push: (chunk) => remember(parser.push(chunk)),
    end() {
      const events = remember(parser.end());
      const message = printed.trim();
      // Some CLIs print an API error in place of the answer.
      if (message.length > MAX_ERROR_LENGTH || !/^\W*API Error\b/.test(message)) return events;
      const trouble = readTrouble({ message }, run.startedAt);
      return [...events, ...failedResult(trouble, { usage: null, session: null })];
    },
  };
}

/** A longer text is an answer that only starts like an error. */
const MAX_ERROR_LENGTH = 1000;
