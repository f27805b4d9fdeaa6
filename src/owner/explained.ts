import { systemErrorText } from '../user-error.ts';

/** Turns an error of the operating system into the message with which the loop ends. `place` is for errors without a path. */
export async function explained<T>(place: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error)) throw error;
    throw new Error(systemErrorText(error, 'path' in error ? null : place), { cause: error });
  }
}
