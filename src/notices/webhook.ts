import { createHmac } from 'node:crypto';
import type { Channel } from './channel.ts';
import { postJson } from './post.ts';

/** Any other address: the notice as JSON, with its signature if there is a key. */
export const webhook: Channel = {
  name: 'webhook',
  serves: (_, address) => address !== null,
  async send(notice, way) {
    const signed = (body: string): Record<string, string> => ({
      'x-ralph-notice': notice.id,
      'x-ralph-event': notice.event,
      ...(way.key === null
        ? {}
        : { 'x-ralph-signature-256': `sha256=${createHmac('sha256', way.key).update(body).digest('hex')}` }),
    });
    await postJson(way, notice, signed);
  },
};
