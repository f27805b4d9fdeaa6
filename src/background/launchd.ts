/** The daemon as an agent of macOS' launchd, which starts it when the user logs in. Not tested on a Mac. */
import { join } from 'node:path';
import { FORMER, PACKAGE } from '../package-name.ts';
import { MARK, type Job, type Manager } from './service.ts';

const LABEL = `${PACKAGE}.daemon`;
const FORMER_LABEL = `${FORMER}.daemon`;

/** `home` is the user's home folder. */
export function launchd(job: Job, home: string): Manager {
  const domain = `gui/${process.getuid?.() ?? 0}`;
  const fileOf = (label: string): string => join(home, 'Library', 'LaunchAgents', `${label}.plist`);
  const file = fileOf(LABEL);
  const known = ['launchctl', 'print', `${domain}/${LABEL}`] as const;
  return {
    title: 'launchd',
    job,
    file,
    text: plistText(job),
    link: null,
    isReachable: ['launchctl', 'print', domain],
    isKnown: known,
    isRunning: known,
    whichFile: null,
    former: {
      file: fileOf(FORMER_LABEL),
      isKnown: ['launchctl', 'print', `${domain}/${FORMER_LABEL}`],
      stop: ['launchctl', 'bootout', `${domain}/${FORMER_LABEL}`],
    },
    start: [['launchctl', 'bootstrap', domain, file]],
    stop: [['launchctl', 'bootout', `${domain}/${LABEL}`]],
    forget: [],
    // An agent of a user starts with the user's login.
    lingering: null,
  };
}

/** The text of the property list. */
export function plistText({ argv, env }: Job): string {
  const words = argv.map((word) => `    <string>${escaped(word)}</string>`);
  const variables = Object.entries(env).map(
    ([name, value]) => `    <key>${escaped(name)}</key>\n    <string>${escaped(value)}</string>`,
  );
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- ${MARK}. Installing again replaces this file. -->
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${LABEL}</string>
  <key>ProgramArguments</key>
  <array>
${words.join('\n')}
  </array>
  <key>EnvironmentVariables</key>
  <dict>
${variables.join('\n')}
  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>AbandonProcessGroup</key>
  <true/>
</dict>
</plist>
`;
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
