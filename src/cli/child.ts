import type { LoopRequest } from '../compose/open-loop.ts';
import type { ViewOptions } from './options.ts';
export async function runAsChild(_request: LoopRequest, _parent: object, _options: ViewOptions): Promise<number> {
  return 0;
}
