import { unreadable, wholeLines, wholeNumber } from './unreadable.ts';

/** Of /proc/PID/status, what bounds a process. */
export interface ProcessStatus {
  readonly parentPid: number;
  /** From the reader's pid namespace inwards. */
  readonly pids: readonly number[];
  readonly threads: number;
  /** Real, effective, saved, file system. */
  readonly uids: readonly number[];
  readonly gids: readonly number[];
  readonly groups: readonly number[];
  readonly capabilities: Capabilities;
  readonly noNewPrivileges: boolean;
  readonly seccomp: number;
  readonly seccompFilters: number;
}

/** Sixteen hexadecimal digits each. */
export type Capabilities = Readonly<Record<CapabilitySet, string>>;

export type CapabilitySet = keyof typeof CAPABILITY_FIELDS;

export interface ReadLimit {
  /** `Infinity` is the kernel's `unlimited`. */
  readonly soft: number;
  readonly hard: number;
}

export interface CgroupLine {
  readonly hierarchy: number;
  /** Empty in version 2. */
  readonly controllers: readonly string[];
  readonly path: string;
}

const CAPABILITY_FIELDS = {
  inheritable: 'CapInh',
  permitted: 'CapPrm',
  effective: 'CapEff',
  bounding: 'CapBnd',
  ambient: 'CapAmb',
} as const;

const READ_FIELDS: ReadonlySet<string> = new Set([
  'PPid',
  'NSpid',
  'Threads',
  'Uid',
  'Gid',
  'Groups',
  'NoNewPrivs',
  'Seccomp',
  'Seccomp_filters',
  ...Object.values(CAPABILITY_FIELDS),
]);

export const CAPABILITY_SETS = Object.keys(CAPABILITY_FIELDS) as readonly CapabilitySet[];

/** /proc/PID/status. */
export function parseStatus(text: string): ProcessStatus {
  const fields = statusFields(text);
  const numbers = (key: string) => words(statusField(fields, key)).map((word) => wholeNumber(`status, ${key}`, word));
  const one = (key: string) => exactly(1, key, numbers(key))[0] as number;
  const capability = (key: string) => {
    const value = statusField(fields, key);
    if (!/^[0-9a-f]{16}$/.test(value)) throw unreadable(`status, ${key}`, 'it is no set of capabilities');
    return value;
  };

  const noNewPrivileges = one('NoNewPrivs');
  if (noNewPrivileges > 1) throw unreadable('status, NoNewPrivs', 'it is neither 0 nor 1');
  const pids = numbers('NSpid');
  if (pids.length === 0) throw unreadable('status, NSpid', 'it is empty');

  return {
    parentPid: one('PPid'),
    pids,
    threads: one('Threads'),
    uids: exactly(4, 'Uid', numbers('Uid')),
    gids: exactly(4, 'Gid', numbers('Gid')),
    groups: numbers('Groups'),
    capabilities: {
      inheritable: capability(CAPABILITY_FIELDS.inheritable),
      permitted: capability(CAPABILITY_FIELDS.permitted),
      effective: capability(CAPABILITY_FIELDS.effective),
      bounding: capability(CAPABILITY_FIELDS.bounding),
      ambient: capability(CAPABILITY_FIELDS.ambient),
    },
    noNewPrivileges: noNewPrivileges === 1,
    seccomp: one('Seccomp'),
    seccompFilters: one('Seccomp_filters'),
  };
}

/** /proc/PID/limits, by the names that setrlimit(2) has for them. */
export function parseLimits(text: string): ReadonlyMap<string, ReadLimit> {
  const [header, ...rows] = wholeLines('limits', text);
  if (!/^Limit +Soft Limit +Hard Limit +Units *$/.test(header ?? '')) throw unreadable('limits', 'its header differs');
  const limits = new Map<string, ReadLimit>();
  for (const row of rows) {
    const [, title, soft, hard] = /^Max ([a-z ]+?) {2,}(\S+) +(\S+) +[a-z]* *$/.exec(row) ?? [];
    if (title === undefined) throw unreadable('limits', 'a row is malformed');
    const name = LIMIT_TITLES.get(title) ?? title;
    if (limits.has(name)) throw unreadable(`limits, ${name}`, 'it is there twice');
    limits.set(name, { soft: limitValue(name, soft), hard: limitValue(name, hard) });
  }
  for (const name of LIMIT_TITLES.values()) {
    if (!limits.has(name)) throw unreadable(`limits, ${name}`, 'it is missing');
  }
  return limits;
}

/** /proc/net/route: the interface of each IPv4 route. */
export function parseRoutes(text: string): readonly string[] {
  const [header, ...rows] = wholeLines('net/route', text);
  if (!header?.startsWith('Iface\tDestination\tGateway \tFlags\t')) throw unreadable('net/route', 'its header differs');
  return rows.map((row) => {
    const [name, ...columns] = row.trimEnd().split('\t');
    const wellFormed = columns.length === 10 && columns.every((column) => /^[0-9A-F]+$/.test(column));
    if (!name || !wellFormed) throw unreadable('net/route', 'a row is malformed');
    return name;
  });
}

/** /proc/net/ipv6_route: the interface of each route. Empty where the kernel has no IPv6. */
export function parseIpv6Routes(text: string): readonly string[] {
  if (text === '') return [];
  return wholeLines('net/ipv6_route', text).map((row) => {
    const [, name] = /^(?:[0-9a-f]{32} [0-9a-f]{2} ){2}[0-9a-f]{32}(?: [0-9a-f]{8}){4} +(\S+)$/.exec(row) ?? [];
    if (name === undefined) throw unreadable('net/ipv6_route', 'a row is malformed');
    return name;
  });
}

/** /proc/net/dev: the names of all interfaces. */
export function parseInterfaces(text: string): readonly string[] {
  const [first, second, ...rows] = wholeLines('net/dev', text);
  if (!first?.startsWith('Inter-|') || !second?.startsWith(' face |')) {
    throw unreadable('net/dev', 'its header differs');
  }
  const names = rows.map((row) => {
    const [, name] = /^ *([^\s:]+): *[0-9]+(?: +[0-9]+){15}$/.exec(row) ?? [];
    if (name === undefined) throw unreadable('net/dev', 'a row is malformed');
    return name;
  });
  if (new Set(names).size < names.length) throw unreadable('net/dev', 'an interface is there twice');
  return names;
}

/** /proc/PID/cgroup: one line for each hierarchy of version 1 and one for version 2. */
export function parseCgroups(text: string): readonly CgroupLine[] {
  if (OTHER_LINE_ENDS.test(text)) throw unreadable('cgroup', 'a line is malformed');
  const lines = wholeLines('cgroup', text).map((line): CgroupLine => {
    // A path may have colons of its own.
    const first = line.indexOf(':');
    const second = line.indexOf(':', first + 1);
    if (first < 0 || second < 0 || line[second + 1] !== '/') throw unreadable('cgroup', 'a line is malformed');
    const { hierarchy, controllers } = namedHierarchy(line.slice(0, second), first);
    return { hierarchy, controllers, path: line.slice(second + 1) };
  });
  const controllers = lines.flatMap((line) => line.controllers);
  const hierarchies = lines.map((line) => line.hierarchy);
  if (new Set(hierarchies).size < hierarchies.length || new Set(controllers).size < controllers.length) {
    throw unreadable('cgroup', 'a hierarchy is there twice');
  }
  return lines;
}

const OTHER_LINE_ENDS = /[\r\u2028\u2029]/;

type NamedHierarchy = Pick<CgroupLine, 'hierarchy' | 'controllers'>;

const knownHierarchies = new Map<string, NamedHierarchy>();
const MOST_HIERARCHIES = 64;

/** `4:cpu,cpuacct`, of which a host has a dozen for as long as it runs. */
function namedHierarchy(text: string, colon: number): NamedHierarchy {
  const before = knownHierarchies.get(text);
  if (before !== undefined) return before;
  const names = text.slice(colon + 1);
  const hierarchy = wholeNumber('cgroup', text.slice(0, colon));
  // Hierarchy 0 is version 2 and the only one without controllers; either without the other is nonsense.
  if ((hierarchy === 0) !== (names === '')) throw unreadable('cgroup', 'a hierarchy has no name');
  const named = { hierarchy, controllers: names === '' ? [] : names.split(',') };
  if (knownHierarchies.size >= MOST_HIERARCHIES) knownHierarchies.clear();
  knownHierarchies.set(text, named);
  return named;
}

/** What a text was like that was read to its end: a kernel has one order of fields. */
interface KnownFields {
  /** Exactly those fields, in their order, so no other and none twice. */
  readonly pattern: RegExp;
  /** Which of them it captures, in the same order. */
  readonly read: readonly string[];
}

let knownFields: KnownFields | undefined;

function statusFields(text: string): ReadonlyMap<string, string> {
  const known = knownFields && valuesOf(text, knownFields);
  if (known !== undefined) return known;
  const fields = new Map<string, string>();
  for (const line of wholeLines('status', text)) {
    // The kernel escapes line ends in the process's name, so a tool cannot write fields of its own.
    const colon = line.indexOf(':');
    const key = line.slice(0, Math.max(colon, 0));
    if (key === '' || /\s/.test(key)) throw unreadable('status', 'a line is malformed');
    // SECURITY: T-20 — of two values neither is believed.
    if (fields.has(key)) throw unreadable('status', `${key} is there twice`);
    fields.set(key, line.slice(colon + 1).trim());
  }
  const keys = [...fields.keys()];
  // Every field of every kernel; one that is spelled otherwise would mean something else in a pattern.
  knownFields = keys.every((key) => /^\w+$/.test(key)) ? fieldsLike(keys) : undefined;
  return fields;
}

function fieldsLike(keys: readonly string[]): KnownFields {
  const lines = keys.map((key) => `${key}:${READ_FIELDS.has(key) ? '(.*)' : '.*'}\n`);
  return { pattern: new RegExp(`^${lines.join('')}$`), read: keys.filter((key) => READ_FIELDS.has(key)) };
}

/**
 * Undefined for a text that is not like that. Of fifty fields a dozen is asked for, three times for each command: one pattern
 * finds them in less time than it takes to go through their names.
 */
function valuesOf(text: string, { pattern, read }: KnownFields): ReadonlyMap<string, string> | undefined {
  const found = pattern.exec(text);
  if (found === null) return undefined;
  const fields = new Map<string, string>();
  for (const [at, key] of read.entries()) fields.set(key, (found[at + 1] ?? '').trim());
  return fields;
}

function statusField(fields: ReadonlyMap<string, string>, key: string): string {
  const value = fields.get(key);
  if (value === undefined) throw unreadable('status', `${key} is missing`);
  return value;
}

function words(text: string): readonly string[] {
  return text === '' ? [] : text.split(/[ \t]+/);
}

function exactly(count: number, key: string, values: readonly number[]): readonly number[] {
  if (values.length !== count) throw unreadable(`status, ${key}`, `it has ${values.length} values instead of ${count}`);
  return values;
}

const LIMIT_TITLES: ReadonlyMap<string, string> = new Map([
  ['cpu time', 'cpu'],
  ['file size', 'fsize'],
  ['data size', 'data'],
  ['stack size', 'stack'],
  ['core file size', 'core'],
  ['resident set', 'rss'],
  ['processes', 'nproc'],
  ['open files', 'nofile'],
  ['locked memory', 'memlock'],
  ['address space', 'as'],
  ['file locks', 'locks'],
  ['pending signals', 'sigpending'],
  ['msgqueue size', 'msgqueue'],
  ['nice priority', 'nice'],
  ['realtime priority', 'rtprio'],
  ['realtime timeout', 'rttime'],
]);

function limitValue(name: string, text: string | undefined): number {
  return text === 'unlimited' ? Number.POSITIVE_INFINITY : wholeNumber(`limits, ${name}`, text);
}
