import { exec } from '../process/exec.ts';
import { linesOf } from '../text/notices.ts';
import { Undelivered, type Channel } from './channel.ts';

/** A notification of the desktop: `notify-send`, on macOS `osascript`. */
export const desktop: Channel = {
  name: 'desktop',
  serves: ({ kind }) => kind === 'desktop',
  async send(notice, { target, cwd, env, interrupt }) {
    const [title, ...lines] = linesOf(notice);
    const argv = argvFor(title, lines.join('\n'), notice.urgent);
    const done = await exec(argv, {
      cwd,
      env,
      timeoutMs: target.timeoutMs,
      interrupt,
      graceMs: 500,
      maxBytes: 4096,
    });
    if (done === null) throw new Undelivered(`${argv[0]} is not installed`, false);
    if (done.code !== 0) throw new Undelivered(`${argv[0]} failed`, done.code === null);
  },
};

function argvFor(title: string, text: string, isUrgent: boolean): readonly [string, ...string[]] {
  if (process.platform === 'darwin') return ['osascript', ...SCRIPT, title, text];
  const urgency = isUrgent ? 'critical' : 'normal';
  return ['notify-send', '--app-name=Ralph', `--urgency=${urgency}`, '--', title, escaped(text)];
}

/** The texts are arguments, not part of the script. */
const SCRIPT = [
  'on run argv',
  'display notification (item 2 of argv) with title (item 1 of argv)',
  'end run',
].flatMap((line) => ['-e', line]);

/** Desktops read the text as markup. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
