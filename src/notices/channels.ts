import type { NoticeTarget } from '../home/spec.ts';
import type { Channel } from './channel.ts';
import { command } from './command.ts';
import { desktop } from './desktop.ts';
import { ntfy } from './ntfy.ts';
import { slack } from './slack.ts';
import { terminal } from './terminal.ts';
import { webhook } from './webhook.ts';

/** The channel of a target: the first that serves it. */
export function channelOf(target: NoticeTarget, address: URL | null): Channel {
  return CHANNELS.find((channel) => channel.serves(target, address)) ?? webhook;
}

/** Every channel; a webhook takes every address that is not for one before it. */
const CHANNELS: readonly Channel[] = [command, desktop, terminal, slack, ntfy, webhook];
