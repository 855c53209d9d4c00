import type { OutsideTexts, RawFacts } from '../facts/raw-facts.ts';
import { SandboxError } from '../sandbox-error.ts';
import { ENDED_ITEM, eachItem, FACTS_ITEM, type NamedText, namedTextsIn, REASONS, type Reason } from './wire.ts';

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
  const cgroupFiles = noTexts();
  let landlockRules = 0;
  let listener: string | undefined;
  const named = namedTextsIn(payload);
  const isList = eachItem(payload, (tag, from, to) => {
    if (tag === FACTS_ITEM.inside) keep(inside, named(from, to));
    else if (tag === FACTS_ITEM.outsideProcess) outside.push({ pid: u32(payload, from, to), texts: new Map() });
    else if (tag === FACTS_ITEM.outside) keep(outside.at(-1)?.texts ?? malformed(), named(from, to));
    else if (tag === FACTS_ITEM.hostNamespace) keep(host, named(from, to));
    else if (tag === FACTS_ITEM.cgroupFile) addFile(cgroupFiles, named(from, to));
    else if (tag === FACTS_ITEM.landlockRules) landlockRules = u32(payload, from, to);
    else if (tag === FACTS_ITEM.listener) {
      listener = listener === undefined ? payload.toString('utf8', from, to) : malformed();
    } else malformed();
  });
  if (!isList) return malformed();
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
  const cgroupFiles = noTexts();
  const seen: { status?: Buffer; usage?: Buffer; started?: boolean; full?: boolean } = {};
  const named = namedTextsIn(payload);
  const isList = eachItem(payload, (tag, from, to) => {
    if (tag === ENDED_ITEM.status && to - from === 10) seen.status = payload.subarray(from, to);
    else if (tag === ENDED_ITEM.usage && to - from === 40) seen.usage = payload.subarray(from, to);
    else if (tag === ENDED_ITEM.cgroupFile) addFile(cgroupFiles, named(from, to));
    else if (tag === ENDED_ITEM.started) seen.started = to > from && payload[from] === 1;
    else if (tag === ENDED_ITEM.full) seen.full = to > from && payload[from] === 1;
    else malformed();
  });
  const { status, usage, started = false, full = false } = seen;
  if (!isList || status === undefined || usage === undefined) return malformed();
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

function keep(texts: Map<string, string>, found: NamedText | undefined): void {
  const { name, text } = found ?? malformed();
  if (texts.has(name)) malformed();
  texts.set(name, text);
}

/**
 * By name, without a prototype: names are others in every run, and an object of a shape would get a new one for each of them; and
 * none of them is lost because it is spelled like something that every object has.
 */
function noTexts(): Record<string, string> {
  return Object.create(null) as Record<string, string>;
}

function addFile(files: Record<string, string>, found: NamedText | undefined): void {
  const { name, text } = found ?? malformed();
  files[name] = text;
}

function u32(bytes: Buffer, from: number, to: number): number {
  return to - from === 4 ? bytes.readUInt32LE(from) : malformed();
}

function numbersIn(bytes: Buffer): readonly number[] {
  return Array.from({ length: bytes.length / 8 }, (_, at) => Number(bytes.readBigUInt64LE(at * 8)));
}

function namespacesIn(texts: ReadonlyMap<string, string>): Readonly<Record<string, string>> {
  return withoutPrefix(texts, 'ns/', 'ns/'.length);
}

function boundIn(texts: ReadonlyMap<string, string>): Readonly<Record<string, string>> {
  return withoutPrefix(texts, 'bound/', 'bound'.length);
}

function withoutPrefix(texts: ReadonlyMap<string, string>, prefix: string, cut: number): Record<string, string> {
  const found = noTexts();
  for (const [name, text] of texts) {
    if (name.startsWith(prefix)) found[name.slice(cut)] = text;
  }
  return found;
}

function malformed(): never {
  throw new SandboxError('sandbox.launcher_failed', 'The launcher said something that is not in its language.', {
    fix: 'Run the set-up again: the launcher may be of another version.',
  });
}
