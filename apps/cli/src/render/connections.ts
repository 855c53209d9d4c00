import type { JsonObject, JsonValue } from '@palyra/primitives';

/** One line of what a call connected to, as attestations and outcomes have it. */
export interface ShownConnection {
  readonly host: string;
  readonly port: number;
  readonly outcome: 'allowed' | 'denied';
  readonly code: string | undefined;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly times: number;
}

/** From the JSON of a result or an attestation; nothing that is not a connection. */
export function connectionsIn(value: JsonValue | undefined): readonly ShownConnection[] {
  if (!Array.isArray(value)) return [];
  return (value as readonly JsonValue[]).flatMap((each) => {
    const line = Object(each) as JsonObject;
    const { host, port, outcome, code } = line;
    if (typeof host !== 'string' || typeof port !== 'number') return [];
    return [
      {
        host,
        port,
        outcome: outcome === 'denied' ? 'denied' : 'allowed',
        code: typeof code === 'string' ? code : undefined,
        bytesIn: numberOf(line['bytes_in'], 0),
        bytesOut: numberOf(line['bytes_out'], 0),
        times: numberOf(line['connections'], 1),
      },
    ];
  });
}

/** Whether a human was asked about any of these while the call ran: what they let through is on record besides. */
export function wasAskedAbout(connections: readonly ShownConnection[], letThrough: JsonValue | undefined): boolean {
  const isApproved = (each: JsonValue) => (Object(each) as JsonObject)['approval_id'] !== undefined;
  return (
    connections.some(({ code }) => code?.startsWith('gateway.approval_') === true) ||
    (Array.isArray(letThrough) && (letThrough as readonly JsonValue[]).some(isApproved))
  );
}

function numberOf(value: JsonValue | undefined, otherwise: number): number {
  return typeof value === 'number' ? value : otherwise;
}

function hostOf({ host, port }: Pick<ShownConnection, 'host' | 'port'>): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** `example.org:443 allowed, 120 bytes out, 4500 in`. */
export function connectionInWords(connection: ShownConnection): string {
  const { outcome, code, bytesIn, bytesOut, times } = connection;
  const what =
    outcome === 'denied' ? `denied (${code ?? 'egress.denied'})` : `allowed${code === undefined ? '' : ` (${code})`}`;
  const often = times === 1 ? '' : `, ${times} times`;
  return `${hostOf(connection)} ${what}${often}, ${bytesOut} bytes out, ${bytesIn} in`;
}

const MOST_NAMED = 3;

/** For a line that has other things to say, too: hosts that were reached, and how many were not. */
export function networkInWords(connections: readonly ShownConnection[]): string {
  const reached = [...new Set(connections.filter(isReached).map(hostOf))];
  const denied = new Set(connections.filter(({ outcome }) => outcome === 'denied').map(hostOf)).size;
  const named = reached.slice(0, MOST_NAMED).join(', ');
  const more = reached.length > MOST_NAMED ? ` and ${reached.length - MOST_NAMED} more` : '';
  const parts = [
    ...(reached.length === 0 ? [] : [`reached ${named}${more}`]),
    ...(denied === 0 ? [] : [`${denied} ${denied === 1 ? 'host' : 'hosts'} denied`]),
  ];
  return parts.length === 0 ? 'no host reached' : parts.join(', ');
}

function isReached({ outcome, bytesIn, bytesOut }: ShownConnection): boolean {
  return outcome === 'allowed' && bytesIn + bytesOut > 0;
}
