import { linesOf } from '../text/notices.ts';
import type { Channel } from './channel.ts';
import { postJson } from './post.ts';

/** An incoming webhook of Slack. */
export const slack: Channel = {
  name: 'slack',
  serves: (_, address) =>
    address?.hostname === 'hooks.slack.com' || address?.protocol.startsWith('slack+') === true,
  async send(notice, way) {
    const [title, ...lines] = linesOf(notice).map(escaped);
    await postJson(way, { text: [`*${title}*`, ...lines].join('\n') });
  },
};

/** Slack reads `<!channel>` and links in a text. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
