import { describeError, type Logger, reveal } from '@palyra/primitives';
import { isHeader } from './call-order.ts';
import type { CredentialBinding } from './egress-call.ts';
import { EgressError } from './egress-error.ts';
import type { ToProxy } from './wire/messages.ts';

export type CredentialHeaders = Extract<ToProxy, { say: 'credential' }>['headers'];

/** What the proxy is told of a credential for `host`. Does not throw: what `give` throws is `failed`. */
export async function credentialHeaders(
  give: () => Promise<CredentialBinding | undefined>,
  { host, logger }: { readonly host: string; readonly logger: Pick<Logger, 'warn'> },
): Promise<CredentialHeaders> {
  try {
    const binding = await give();
    const headers = Object.entries(binding?.headers ?? {}).map(([name, secret]) => [name, reveal(secret)] as const);
    // SECURITY: T-24, T-25 — a secret with a line end in it would write headers of its own; it is not said which one.
    if (!headers.every(isHeader)) throw new EgressError('egress.bad_call', 'A credential cannot stand in a header.');
    return headers.length === 0 ? 'none' : headers;
  } catch (error) {
    // SECURITY: T-24 — without what the error says: it comes from where secrets are.
    const { code } = describeError(error);
    logger.warn({ code, host }, 'a credential was not to be had, and its request is refused');
    return 'failed';
  }
}
