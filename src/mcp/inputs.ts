/** Arguments that several tools have. */
import * as z from 'zod';
import { DURATION } from '../settings/values.ts';
import { problemWithName } from '../loop/names.ts';

/** The name of a loop. It starts with a letter or a digit, so that no command takes it for an option. */
export const loopName: z.ZodString = z
  .string()
  .max(64)
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, {
    error: ({ input }) => `invalid loop name: ${problemWithName(String(input)) ?? ''}`,
  })
  .describe('Name of the loop.');

/** A text of a person or an agent. */
export const words = (what: string): z.ZodString =>
  z
    .string()
    .min(1)
    .max(MAX_WORDS)
    .refine(
      (text) => text.trim() !== '' && !text.includes('\0'),
      'must not be empty, or contain NUL characters',
    )
    .describe(what);

const MAX_WORDS = 100_000;

/** A value of an option, on one line. */
export const value = (what: string): z.ZodString =>
  z
    .string()
    .min(1)
    .max(1000)
    .refine((text) => text.trim() !== '' && !/[\0\r\n]/.test(text), 'must be one line and not empty')
    .describe(what);

/** The id of a message on the bus. */
export const messageId = (what: string): z.ZodString =>
  z
    .string()
    .regex(/^[A-Za-z0-9][\w.:-]{0,199}$/, 'must be the id of a message')
    .describe(what);

export const duration = (what: string): z.ZodString =>
  z.string().regex(DURATION, 'must be a time such as 90s, 15m or 2h').describe(what);

/** How long a tool waits. Clients give up themselves after a time: Codex after a minute, unless it is configured. */
export const seconds: z.ZodDefault<z.ZodInt> = z
  .int()
  .min(1)
  .max(600)
  .default(45)
  .describe(
    'How long to wait at most, in seconds. Default: 45. Your client may give up earlier than a long wait.',
  );
