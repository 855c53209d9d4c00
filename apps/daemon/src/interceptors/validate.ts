import type { DescMessage, Message } from '@bufbuild/protobuf';
import type { Interceptor } from '@connectrpc/connect';
import { checkMessage } from './check-message.ts';

/** Every message of a call is looked at before its service sees it; the first that is not as it must be ends the call. */
export const validate: Interceptor = (next) => async (request) => {
  const { input } = request.method;
  if (!request.stream) {
    checkMessage(input, request.message);
    return next(request);
  }
  return next({ ...request, message: checked(request.message, input) });
};

async function* checked<Each extends Message>(messages: AsyncIterable<Each>, desc: DescMessage): AsyncGenerator<Each> {
  for await (const message of messages) {
    checkMessage(desc, message);
    yield message;
  }
}
