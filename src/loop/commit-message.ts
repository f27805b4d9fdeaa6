/**
 * The subject of a commit in what an agent answered; null where there is none that could be used. It is what stands in
 * the first `<response>` (any case, over several lines too), else the first line that is not blank. A line that is only
 * a code fence, or JSON, is no message; everything else is taken as it stands, but for what would move a cursor.
 */
export function commitMessage(answer: string): string | null {
  const plain = answer.replaceAll(TERMINAL, '');
  const tagged = /<response>(.*?)<\/response>/is.exec(plain)?.[1];
  const lines = (tagged ?? plain).split(/\r\n|[\n\r\u2028\u2029]/);
  return lines.map(clean).find(isMessage) ?? null;
}

/** What an agent answered, without its saying once more that it is done: that is no message. */
export function withoutClaims(answer: string, words: readonly string[]): string {
  return answer.replaceAll(/<(response|promise)>\s*(.*?)\s*<\/\1>/gis, (whole, _, said: string) =>
    words.some((word) => word.toLowerCase() === said.toLowerCase()) ? '' : whole,
  );
}

/** The message of a commit that no agent is asked for: what the task was, where that is known, and which iteration it is. */
export function plainMessage(task: string | null, name: string, iteration: number): string {
  const lines = (task ?? '').replaceAll(TERMINAL, '').split(/\r\n|[\n\r\u2028\u2029]/);
  const first = Array.from(lines.map(clean).find((line) => line !== '') ?? `ralph: ${name}`);
  const subject = first.length > SUBJECT ? `${first.slice(0, SUBJECT - 1).join('')}…` : first.join('');
  return `${subject}\n\nIteration ${iteration} of the loop ${name}.`;
}

/** As long as a subject should be. */
const SUBJECT = 72;

/** Escape sequences: colours, cursor, titles. */
// oxlint-disable-next-line eslint/no-control-regex -- control characters are what it is about
const TERMINAL = /\u001B(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001B]*(?:\u0007|\u001B\\)?|[@-Z\\^_])/g;

function clean(line: string): string {
  return Array.from(
    line
      .replaceAll('\t', ' ')
      .replaceAll(/\p{Cc}/gu, '')
      .trim(),
  )
    .slice(0, LONGEST)
    .join('');
}

/** Far more than anybody reads, and less than any system refuses. */
const LONGEST = 1000;

function isMessage(line: string): boolean {
  return line !== '' && !/^(?:`{3,}|~{3,})[\w-]*$/.test(line) && !isJson(line);
}

/** Numbers and words are JSON too; nobody means them when they say it. */
function isJson(line: string): boolean {
  if (!/^[[{].*[\]}]$/.test(line)) return false;
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}
