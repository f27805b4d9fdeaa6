/** What the loop works on and where. */
export const TASK = {
  preset: {
    type: 'preset',
    flag: '--preset <name>',
    only: ['run'],
    says: 'set of defaults: default, conductor, ralph-cli, architect, swarm or promise (docs/presets.md)',
    more: 'The other settings override them.',
  },
  worktree: {
    type: 'yes-no',
    flag: '--worktree',
    says: 'work in a separate git worktree, on its own branch',
    more: 'Without `scm.tasks` Ralph commits every iteration whose checks passed there, with the task as the message.',
    off: 'work in the workspace',
    default: false,
    everyday: '',
  },
  keepAwake: {
    type: 'yes-no',
    flag: '--keep-awake',
    says: 'keep the machine awake while the loop goes on by itself (docs/background.md)',
    off: 'let the machine sleep while the loop runs',
  },
  setup: { type: 'text', list: 'strings', says: 'shell commands, run once in a new worktree before the first iteration, e.g. `npm ci`' },
  setupTimeout: { type: 'timeout', says: 'maximum time per set-up command' },
  scm: {
    says: 'version control tasks after an iteration',
    parts: {
      command: { type: 'text', says: 'version control program, e.g. git' },
      tasks: {
        type: 'text',
        list: 'strings',
        says: 'tasks to run with it after each iteration whose checks passed, in order',
        more: '`commit` commits the changes of the loop; the agent writes the message.',
      },
      timeout: { type: 'timeout', says: 'maximum time per task', default: '10m' },
    },
  },
  children: {
    says: 'limits on the child loops that the agent starts (docs/children-and-bus.md)',
    parts: {
      maxDepth: { type: 'whole', says: 'maximum number of generations of child loops below the first loop', zero: 'no child loops' },
      maxActive: { type: 'whole', says: 'maximum number of child loops of one loop at the same time', zero: 'no child loops' },
    },
  },
  includeIterationCountInPrompt: {
    type: 'yes-no',
    says: 'start every prompt with the count of iterations',
    more: 'The line is `Iteration X of Y, Z remaining.`',
  },
} as const;
