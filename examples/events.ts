import { createLoop } from 'ralph-until-done';

const loop = await createLoop({
  prompt: 'Say that you are done.',
  agent: async ({ report }) => {
    report({ type: 'text', text: 'Thinking about it.\n' });
    return { text: '<promise>DONE</promise>' };
  },
});

const run = loop.run();
for await (const event of loop.events) {
  if (event.type === 'text') console.log(`agent: ${event.text.trim()}`);
  if (event.type === 'run.ended') console.log(`run ${event.run}: ${event.as}`);
  if (event.type === 'loop.ended') console.log(`ended: ${event.outcome.type}`);
}
const { name } = await run;
console.log(`details: ralph logs ${name}`);
