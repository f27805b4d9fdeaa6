import type { Command } from 'commander';
import type { PostOptions, ReadBusOptions } from './bus.ts';
import type { Add, Call, Done } from './program-call.ts';
import { WORKSPACE } from './program-options.ts';

/** Adds `ralph bus`. */
export function busCommands(add: Add, { isCalled, done }: Call): void {
  const bus = add('bus', 'post and read the messages of a loop: post, read, watch, discover');
  if (isCalled('bus')) subcommands(bus, done);
}

const PROJECT = ['--project', 'use the bus of all loops of the workspace'] as const;

function subcommands(bus: Command, done: Done): void {
  const add: Add = (name, description) => bus.command(name).description(description);
  bus.helpCommand('help [command]', 'print the help of a command');
  add('post [words...]', 'post a message; without words it is read from stdin')
    .option('--type <type>', 'INFO, WARNING, ERROR, FACT, PROGRESS, DECISION, QUESTION, … (default INFO)')
    .option('--body <text>', 'the text, instead of words')
    .option('--loop <name>', 'the loop (default: the one of this run, or the only one of the workspace)')
    .option(...PROJECT)
    .option('--parent <id>', 'the message that this one answers or continues')
    .option('--default <text>', 'the answer to a QUESTION if no person answers in time')
    .option('--timeout <time>', 'how long a QUESTION waits for an answer, e.g. 30m')
    .option(...WORKSPACE)
    .action(async (words: readonly string[], options: PostOptions) => {
      const { postMessage } = await import('./bus.ts');
      done(await postMessage(words, options));
    });
  const readOptions = (command: Command): Command =>
    command
      .option('--type <type>', 'only messages of this type')
      .option('--json', 'print one JSON object per line')
      .option(...PROJECT)
      .option(...WORKSPACE);
  readOptions(
    add('read [name]', 'print the last messages')
      .option('--tail <number>', 'how many (default 20)')
      .option('--since <id>', 'only messages after this one')
      .option('-f, --follow', 'keep printing new messages'),
  ).action(async (name: string | undefined, options: ReadBusOptions) => {
    const { readBus } = await import('./bus.ts');
    done(await readBus(name ?? null, options));
  });
  readOptions(add('watch [name]', 'print new messages as they are posted')).action(
    async (name: string | undefined, options: ReadBusOptions) => {
      const { readBus } = await import('./bus.ts');
      done(await readBus(name ?? null, { ...options, tail: '0', follow: true }));
    },
  );
  add('discover', 'print the path of the bus that a message from here goes to')
    .option('--from <folder>', 'the nearest bus in this folder or above it')
    .option(...PROJECT)
    .option(...WORKSPACE)
    .action(async (options: object) => {
      const { discoverBus } = await import('./bus.ts');
      done(discoverBus(options));
    });
}
