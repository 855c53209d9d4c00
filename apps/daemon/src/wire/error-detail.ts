import type { MessageInitShape } from '@bufbuild/protobuf';
import type { ErrorDetailSchema } from '@palyra/api';
import { describeError } from '@palyra/primitives';

/** What a caller is told of an error: a code and sentences, and nothing of what caused it. */
export function errorDetail(error: unknown): MessageInitShape<typeof ErrorDetailSchema> {
  const { code, message, fix } = describeError(error);
  return { code: code === 'internal' ? 'daemon.fault' : code, message, fix: fix ?? '' };
}
