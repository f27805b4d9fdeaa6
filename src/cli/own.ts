import type { ViewOptions } from './options.ts';
export async function own(_folder: string, _options: ViewOptions): Promise<number> {
  return 0;
}
