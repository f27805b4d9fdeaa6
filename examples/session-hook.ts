import { setTimeout as sleep } from 'node:timers/promises';
import { createRalphLoopHook } from 'ralph-until-done/hook';

const answers = ['The login works.', 'Logout works, too.\n<promise>DONE</promise>']; // of your model
const messages: { role: string; content: string }[] = []; // of your session

const hook = createRalphLoopHook({
  getMessages: async () => [...messages],
  injectPrompt: async (sessionId, prompt) => {
    console.log(prompt.split('\n')[0]);
    await turn(sessionId, prompt);
  },
  showToast: ({ title, message }) => console.log(`${title}: ${message}`),
});

/** A turn of your program: the user's message, the model's answer, and then the session is idle. */
async function turn(sessionId: string, prompt: string): Promise<void> {
  messages.push({ role: 'user', content: prompt }, { role: 'assistant', content: answers.shift() ?? '' });
  await hook.handler({ event: 'session.idle', sessionId });
}

hook.startLoop('session-1', 'Implement login and logout.', { maxIterations: 5, checks: ['true'] });
await turn('session-1', 'Implement login and logout.');
while (hook.isLoopActive('session-1')) await sleep(50);
