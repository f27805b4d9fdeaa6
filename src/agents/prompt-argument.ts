/** A prompt in a command line. One that begins with `-`, such as a list or YAML front matter, must not be taken for an option. */

/** The prompt as a positional argument: after `--` if it begins with `-`. */
export function positional(prompt: string): readonly string[] {
  return prompt.startsWith('-') ? ['--', prompt] : [prompt];
}

/** The prompt as the value of an option: in one word with the long form of the option if it begins with `-`. */
export function valueOf(short: string | null, long: string, prompt: string): readonly string[] {
  if (prompt.startsWith('-')) return [`${long}=${prompt}`];
  return short === null ? [prompt] : [short, prompt];
}
