import type { OutsideTexts, RawFacts } from '../facts/raw-facts.ts';
import { SandboxError } from '../sandbox-error.ts';
import { decodeItems, ENDED_ITEM, FACTS_ITEM, type Item, REASONS, type Reason, splitNamed } from './wire.ts';

export interface EndReport {
  readonly exitCode: number;
  /** 0: it ended by itself. */
  readonly signal: number;
  /** False where only bubblewrap's 128 + n was to be had. */
  readonly exact: boolean;
  /** Why the launcher ended it. */
  readonly reason: Reason;
  /** Whether the tool's first instruction was reached. */
  readonly started: boolean;
  /** Whether a tmpfs had no room left. */
  readonly full: boolean;
  readonly userMs: number;
  readonly systemMs: number;
  readonly maxRssBytes: number;
  readonly wallMs: number;
  readonly outputBytes: number;
  readonly cgroupFiles: Readonly<Record<string, string>>;
}

/** Throws `sandbox.launcher_failed` for what no launcher of this version says. */
export function decodeFacts(payload: Buffer): RawFacts {
  const inside = new Map<string, string>();
  const outside: { pid: number; texts: Map<string, string> }[] = [];
  const host = new Map<string, string>();
  const cgroupFiles: Record<string, string> = {};
  let landlockRules = 0;
  let listener: string | undefined;
  for (const item of itemsOf(payload)) {
    if (item.tag === FACTS_ITEM.inside) keep(inside, item);
    else if (item.tag === FACTS_ITEM.outsideProcess) outside.push({ pid: u32(item), texts: new Map() });
    else if (item.tag === FACTS_ITEM.outside) keep(outside.at(-1)?.texts ?? malformed(), item);
    else if (item.tag === FACTS_ITEM.hostNamespace) keep(host, item);
    else if (item.tag === FACTS_ITEM.cgroupFile) addFile(cgroupFiles, item);
    else if (item.tag === FACTS_ITEM.landlockRules) landlockRules = u32(item);
    else if (item.tag === FACTS_ITEM.listener) listener = listener === undefined ? item.bytes.toString() : malformed();
    else malformed();
  }
  return {
    inside: {
      status: inside.get('status') ?? '',
      limits: inside.get('limits') ?? '',
      mountinfo: inside.get('mountinfo') ?? '',
      route: inside.get('net/route') ?? '',
      ipv6Route: inside.get('net/ipv6_route') ?? '',
      netDev: inside.get('net/dev') ?? '',
      namespaces: namespacesIn(inside),
      bound: boundIn(inside),
    },
    outside: outside.map(
      ({ pid, texts }): OutsideTexts => ({
        pid,
        status: texts.get('status') ?? '',
        limits: texts.get('limits') ?? '',
        cgroup: texts.get('cgroup') ?? '',
        namespaces: namespacesIn(texts),
      }),
    ),
    hostNamespaces: namespacesIn(host),
    cgroupFiles,
    landlockRules,
    listener,
  };
}

/** Throws `sandbox.launcher_failed`. */
export function decodeEnd(payload: Buffer): EndReport {
  const cgroupFiles: Record<string, string> = {};
  let status: Buffer | undefined;
  let usage: Buffer | undefined;
  let started = false;
  let full = false;
  for (const item of itemsOf(payload)) {
    if (item.tag === ENDED_ITEM.status && item.bytes.length === 10) status = item.bytes;
    else if (item.tag === ENDED_ITEM.usage && item.bytes.length === 40) usage = item.bytes;
    else if (item.tag === ENDED_ITEM.cgroupFile) addFile(cgroupFiles, item);
    else if (item.tag === ENDED_ITEM.started) started = item.bytes[0] === 1;
    else if (item.tag === ENDED_ITEM.full) full = item.bytes[0] === 1;
    else malformed();
  }
  if (status === undefined || usage === undefined) return malformed();
  const [userUs = 0, systemUs = 0, maxRssBytes = 0, wallUs = 0, outputBytes = 0] = numbersIn(usage);
  return {
    exitCode: status.readUInt32LE(0),
    signal: status.readUInt32LE(4),
    exact: status[8] === 1,
    reason: REASONS[status[9] ?? 0] ?? malformed(),
    started,
    full,
    userMs: userUs / 1000,
    systemMs: systemUs / 1000,
    maxRssBytes,
    wallMs: wallUs / 1000,
    outputBytes,
    cgroupFiles,
  };
}

function itemsOf(payload: Buffer): readonly Item[] {
  return decodeItems(payload) ?? malformed();
}

function keep(texts: Map<string, string>, { bytes }: Item): void {
  const { name, text } = splitNamed(bytes) ?? malformed();
  if (texts.has(name)) malformed();
  texts.set(name, text);
}

function addFile(files: Record<string, string>, { bytes }: Item): void {
  const { name, text } = splitNamed(bytes) ?? malformed();
  files[name] = text;
}

function u32({ bytes }: Item): number {
  return bytes.length === 4 ? bytes.readUInt32LE(0) : malformed();
}

function numbersIn(bytes: Buffer): readonly number[] {
  return Array.from({ length: bytes.length / 8 }, (_, at) => Number(bytes.readBigUInt64LE(at * 8)));
}

function namespacesIn(texts: ReadonlyMap<string, string>): Readonly<Record<string, string>> {
  const found = [...texts].filter(([name]) => name.startsWith('ns/'));
  return Object.fromEntries(found.map(([name, text]) => [name.slice('ns/'.length), text]));
}

function boundIn(texts: ReadonlyMap<string, string>): Readonly<Record<string, string>> {
  const found = [...texts].filter(([name]) => name.startsWith('bound/'));
  return Object.fromEntries(found.map(([name, text]) => [name.slice('bound'.length), text]));
}

function malformed(): never {
  throw new SandboxError('sandbox.launcher_failed', 'The launcher said something that is not in its language.', {
    fix: 'Run the set-up again: the launcher may be of another version.',
  });
}
