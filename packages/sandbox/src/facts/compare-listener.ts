import { PROXY_PORT } from '../launcher/wire.ts';
import type { Finding } from './finding.ts';

interface Expected {
  /** The tool's own namespace: `net:[4026532001]`. */
  readonly network: string;
  readonly isExpected: boolean;
}

/**
 * SECURITY: T-22, T-20 — the kernel's word on which socket was handed over: another address is not what the tool is told, and one of
 * another network would be somebody else's connections.
 */
export function listenerFindings(listener: string | undefined, { network, isExpected }: Expected): readonly Finding[] {
  const wanted = isExpected ? `127.0.0.1:${PROXY_PORT} ${network}` : undefined;
  if (listener === wanted) return [];
  const found = listener === '' ? 'something that is no listener' : (listener ?? 'none');
  const what = 'What was handed out of the sandbox is not the planned listener.';
  return [{ what, expected: wanted ?? 'none', found }];
}
