import type { DescMessage, Message } from '@bufbuild/protobuf';
import type { Interceptor } from '@connectrpc/connect';
import { checkMessage } from './check-message.ts';
import { type MessageHooks, relayMessages } from './relay-messages.ts';

/** Every message of a call is looked at before its service sees it; the first that is not as it must be ends the call. */
export const validate: Interceptor = (next) => async (request) => {
  const { input } = request.method;
  if (!request.stream) {
    checkMessage(input, request.message);
    return next(request);
  }
  return next({ ...request, message: checked(request.message, input) });
};

/** One for each kind of message, and not for each stream. */
const CHECKS = new WeakMap<DescMessage, MessageHooks<Message>>();

function checked<Each extends Message>(messages: AsyncIterable<Each>, desc: DescMessage): AsyncIterable<Each> {
  const hooks = CHECKS.get(desc) ?? {
    each(message: Message) {
      checkMessage(desc, message);
      return undefined;
    },
  };
  CHECKS.set(desc, hooks);
  return relayMessages<Each, Message>(messages, hooks);
}
