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
  const lines = wholeLines('cgroup', text).map((line): CgroupLine => {
    const [, hierarchy, controllers, path] = /^([0-9]+):([^:]*):(\/.*)$/.exec(line) ?? [];
    if (controllers === undefined || path === undefined) throw unreadable('cgroup', 'a line is malformed');
    const id = wholeNumber('cgroup', hierarchy);
    // Hierarchy 0 is version 2 and the only one without controllers; either without the other is nonsense.
    if ((id === 0) !== (controllers === '')) throw unreadable('cgroup', 'a hierarchy has no name');
    return { hierarchy: id, controllers: controllers === '' ? [] : controllers.split(','), path };
  });
  const controllers = lines.flatMap((line) => line.controllers);
  const hierarchies = lines.map((line) => line.hierarchy);
  if (new Set(hierarchies).size < hierarchies.length || new Set(controllers).size < controllers.length) {
    throw unreadable('cgroup', 'a hierarchy is there twice');
  }
  return lines;
}

/** The names of the fields that a text had which was read to its end, in its order. A kernel has one order. */
let knownKeys: readonly string[] = [];

function statusFields(text: string): ReadonlyMap<string, string> {
  const known = fieldsByKnownKeys(text, knownKeys);
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
  knownKeys = [...fields.keys()];
  return fields;
}

/**
 * Of a text that has exactly these fields in this order, and so no other and none twice; undefined for every other text. Of
 * fifty fields a dozen is asked for: there is no need to take the others apart, three times for each command.
 */
function fieldsByKnownKeys(text: string, keys: readonly string[]): ReadonlyMap<string, string> | undefined {
  const fields = new Map<string, string>();
  let at = 0;
  for (const key of keys) {
    const colon = at + key.length;
    const end = text.indexOf('\n', colon);
    if (end < 0 || text[colon] !== ':' || !text.startsWith(key, at)) return undefined;
    if (READ_FIELDS.has(key)) fields.set(key, text.slice(colon + 1, end).trim());
    at = end + 1;
  }
  return at === text.length && at > 0 ? fields : undefined;
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
