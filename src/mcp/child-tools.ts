/** Tools with which an agent starts child loops and waits for them. */
import { firstOf } from '../loops/here.ts';
import * as z from 'zod';
import { waitedLine } from '../text/rest-line.ts';
import { statusData } from '../text/status.ts';
import { loopName, seconds } from './inputs.ts';
import type { ToolLoops } from './loops.ts';
import { startTool } from './start.ts';
import { defineTool, type Tool } from './tool.ts';

/** `tree` is the folder that the agent works in, which is the workspace of its children. */
export function childTools(loops: ToolLoops, tree: string, isSandboxed: boolean): readonly Tool[] {
  return [
    startTool(
      loops,
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
        const loop = await loops.find(name, tree);
        const { state } = await loops.get(loop);
        const rest = await loops.wait(loop, {
          signal: firstOf(signal, AbortSignal.timeout(time * 1000)),
        });
        const { line } = waitedLine(name, state, rest);
        const last = rest.is === 'resting' ? rest.loop : rest.is === 'driven' ? await loops.get(loop) : null;
        return { data: { result: line, loop: last === null ? {} : statusData(last) } };
      },
    }),
  ];
}
