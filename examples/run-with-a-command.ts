import { runLoop, UserError } from 'ralph-until-done';

const agent = 'cat >asked.md; echo hello >greeting.txt; echo "<promise>DONE</promise>"';

try {
  const result = await runLoop({
    prompt: 'Write "hello" into greeting.txt.',
    agent: { command: ['sh', '-c', agent] }, // or 'claude', or { name: 'codex', model: '…' }
    checks: ['grep -x hello greeting.txt'],
    maxIterations: 5,
    maxTime: '10m',
  });
  console.log(`${result.stopReason} in iteration ${result.totalIterations}`);
  process.exitCode = result.exitCode;
} catch (error) {
  if (!(error instanceof UserError)) throw error;
  console.error(error.message); // says what is wrong and how to fix it
  process.exitCode = error.exitCode;
}
