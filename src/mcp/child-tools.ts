/** Tools with which an agent starts child loops and waits for them. */
import * as z from 'zod';
import { EXIT_CODES } from '../loop/outcome.ts';
import { runCommand } from './command.ts';
import { loopName, seconds } from './inputs.ts';
import { statusOf } from './read-tools.ts';
import { startTool } from './start.ts';
import { defineTool, type Tool } from './tool.ts';

/** `tree` is the folder that the agent works in, which is the workspace of its children. */
export function childTools(tree: string, isSandboxed: boolean): readonly Tool[] {
  return [
    startTool(
      {
        name: 'start_child',
        title: 'Start a child loop',
        description:
          'Starts a child loop in the background: another agent works on a part of your task. Returns at once. This loop is not done before its children are; wait for them with wait_for_child.',
      },
      () => tree,
      isSandboxed,
    ),
    defineTool({
      name: 'wait_for_child',
      title: 'Wait for a child loop',
      description:
        'Waits until a child loop has ended or rests, and returns its status. If it still runs after that time, call it again, or do something else meanwhile.',
      input: z.strictObject({ name: loopName, seconds }),
      effect: 'reads',
      run: async ({ name, seconds: time }, { signal }) => {
        const { stdout } = await runCommand(['wait', name, `--timeout=${time}s`], {
          cwd: tree,
          signal,
          timeoutMs: (time + MARGIN_SECONDS) * 1000,
          // It exits as the loop does.
          codes: EVERY_END,
        });
        return { data: { result: stdout.trim(), loop: await statusOf(name, tree, signal) } };
      },
    }),
  ];
}

const MARGIN_SECONDS = 30;
const EVERY_END = [...new Set(Object.values(EXIT_CODES))];
