import type { Logger } from '@palyra/primitives';
import type { Subscription, SubscriptionEvent } from './database.ts';
import { checkChannel, type Notification } from './unit.ts';

type Listener = (event: SubscriptionEvent) => void;

/** Who listens to what, in this process. */
export interface Subscriptions {
  add(channel: string, listener: Listener): Subscription;
  /** The same, undone when what makes it hear fails. */
  addWhen(ready: () => Promise<unknown>, channel: string, listener: Listener): Promise<Subscription>;
  tell(notifications: readonly Notification[]): void;
  tellGap(): void;
}

export function createSubscriptions(logger: Pick<Logger, 'error'>): Subscriptions {
  const channels = new Map<string, Set<Listener>>();

  // A subscriber that throws must not keep the others from hearing.
  const call = (listener: Listener, event: SubscriptionEvent) => {
    try {
      listener(event);
    } catch (error) {
      logger.error({ err: error }, 'a storage subscriber threw');
    }
  };

  const subscriptions: Subscriptions = {
    add(channel, listener) {
      checkChannel(channel);
      // Its own function, so that one listener may subscribe twice and close once.
      const own: Listener = (event) => listener(event);
      const listeners = channels.get(channel) ?? new Set();
      channels.set(channel, listeners.add(own));
      return {
        close() {
          listeners.delete(own);
          if (listeners.size === 0 && channels.get(channel) === listeners) channels.delete(channel);
        },
      };
    },
    async addWhen(ready, channel, listener) {
      const subscription = subscriptions.add(channel, listener);
      try {
        await ready();
        return subscription;
      } catch (error) {
        subscription.close();
        throw error;
      }
    },
    tell(notifications) {
      for (const { channel, payload } of notifications) {
        for (const listener of Array.from(channels.get(channel) ?? []))
          call(listener, { kind: 'notified', channel, payload });
      }
    },
    tellGap() {
      for (const listener of [...channels.values()].flatMap((set) => [...set])) call(listener, { kind: 'gap' });
    },
  };
  return subscriptions;
}
