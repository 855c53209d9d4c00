import type { ConnectionAttempt } from '@palyra/egress';
import type { ToolAttestation } from '@palyra/journal';
import { type JsonObject, type JsonValue, visibleText } from '@palyra/primitives';
import type { ExecutionFacts } from '../catalog/tool.ts';

/** What a call did with its network. */
export interface NetworkUse {
  /** `none`: every host, `preflight`: looked at before it began and not held, `strict`: only what was allowed. */
  readonly mode: 'none' | 'preflight' | 'strict';
  /** Whether there was a proxy to go through. */
  readonly hadWayOut: boolean;
  readonly attempts: readonly ConnectionAttempt[];
}

export const NO_NETWORK: NetworkUse = { mode: 'strict', hadWayOut: false, attempts: [] };

const NO_HOST = '(no host)';

type Connection = ToolAttestation['egress'][number];

/** The journal takes longer lists; nobody reads one. */
const MOST_ATTESTED = 256;
const MOST_TOLD = 64;

/** For the attestation: every connection, one line each while there is room; then equal ones as one line, and all beside it. */
export function attestedUse({ attempts }: Pick<NetworkUse, 'attempts'>): AttestedUse {
  const lines = attempts.map(lineOf);
  if (lines.length <= MOST_ATTESTED) return { egress: lines };
  // SECURITY: T-31 — a flood of refused attempts must not push out what was reached.
  const shown = together(lines).toSorted((one, other) => rank(one) - rank(other));
  const egress = shown.slice(0, MOST_ATTESTED);
  const leftOut = countOf(lines) - countOf(egress);
  return { egress, egressAll: lines, ...(leftOut > 0 ? { egressLeftOut: leftOut } : {}) };
}

type AttestedUse = Pick<ExecutionFacts, 'egress' | 'egressLeftOut' | 'egressAll'>;

function countOf(lines: readonly Connection[]): number {
  return lines.reduce((sum, { connections = 1 }) => sum + connections, 0);
}

function lineOf({ host, port, outcome, denial, bytesIn, bytesOut, times = 1 }: ConnectionAttempt): Connection {
  return {
    // SECURITY: T-32 — a request that names no host is on record, too, and does not keep the call from being attested.
    host: host === '' ? NO_HOST : visibleText(host, { maxCharacters: 300 }),
    port,
    bytes_out: bytesOut,
    bytes_in: bytesIn,
    outcome: outcome === 'denied' ? 'denied' : 'allowed',
    ...(denial === undefined ? {} : { code: denial.code }),
    ...(times === 1 ? {} : { connections: times }),
  };
}

function together(lines: readonly Connection[]): readonly Connection[] {
  const found = new Map<string, Connection>();
  for (const line of lines) {
    const key = JSON.stringify([line.host, line.port, line.outcome, line.code]);
    const before = found.get(key);
    found.set(key, before === undefined ? line : added(before, line));
  }
  return [...found.values()];
}

function added(sum: Connection, line: Connection): Connection {
  return {
    ...sum,
    bytes_out: (sum.bytes_out ?? 0) + (line.bytes_out ?? 0),
    bytes_in: (sum.bytes_in ?? 0) + (line.bytes_in ?? 0),
    connections: (sum.connections ?? 1) + (line.connections ?? 1),
  };
}

function rank({ outcome, bytes_out: out = 0, bytes_in: back = 0 }: Connection): number {
  if (outcome === 'denied') return 2;
  return out + back > 0 ? 0 : 1;
}

/** For whoever made the call: where it connected to, and what it may do about what was denied. */
export function toldUse({ attempts, mode }: NetworkUse): JsonObject {
  if (attempts.length === 0) return mode === 'strict' ? {} : { egress: mode };
  const shown = together(attempts.map(lineOf)).toSorted((one, other) => rank(one) - rank(other));
  const denied = new Map(
    attempts.flatMap(({ outcome, denial }) =>
      outcome === 'denied' && denial !== undefined ? [[`${denial.code} ${denial.host} ${denial.port}`, denial]] : [],
    ),
  );
  const more = countOf(shown.slice(MOST_TOLD));
  return {
    egress: mode,
    connections: shown.slice(0, MOST_TOLD).map((line): JsonValue => ({ ...line })),
    ...(more === 0 ? {} : { more_connections: more }),
    ...(denied.size === 0
      ? {}
      : { denied_connections: [...denied.values()].slice(0, MOST_TOLD).map((each): JsonValue => ({ ...each })) }),
  };
}
