import { linesOf } from '../text/notices.ts';
import { Undelivered, type Channel } from './channel.ts';
import { postJson } from './post.ts';

/** A topic of ntfy: `https://ntfy.sh/TOPIC`. */
export const ntfy: Channel = {
  name: 'ntfy',
  serves: (_, address) =>
    address?.hostname.startsWith('ntfy.') === true || address?.protocol.startsWith('ntfy+') === true,
  async send(notice, { address, ...way }) {
    const topic = address?.pathname.split('/').findLast((part) => part !== '');
    if (address === null || topic === undefined)
      throw new Undelivered('the address has no topic: https://ntfy.sh/TOPIC', false);
    const [title, ...lines] = linesOf(notice);
    // A server takes JSON at its root, where no text has to fit into a header.
    const root = new URL(address.pathname.slice(0, address.pathname.lastIndexOf(topic)), address);
    const body = { topic, title, message: lines.join('\n'), priority: notice.urgent ? 4 : 3 };
    await postJson(
      { ...way, address: root },
      body,
      way.key === null ? {} : { authorization: `Bearer ${way.key}` },
    );
  },
};
