import { type Mount, parseMountinfo } from './parse-mountinfo.ts';
import {
  type CgroupLine,
  type ProcessStatus,
  parseCgroups,
  parseInterfaces,
  parseIpv6Routes,
  parseLimits,
  parseRoutes,
  parseStatus,
  type ReadLimit,
} from './parse-proc.ts';
import type { OutsideTexts, RawFacts } from './raw-facts.ts';
import { unreadable } from './unreadable.ts';

/** The launcher's texts, parsed and not yet judged. */
export interface ReadFacts {
  /** The tool first. */
  readonly processes: readonly [ReadProcess, ...ReadProcess[]];
  readonly inside: {
    readonly status: ProcessStatus;
    readonly limits: ReadonlyMap<string, ReadLimit>;
    readonly namespaces: Namespaces;
  };
  readonly hostNamespaces: Namespaces;
  /** `undefined`: the host's. */
  readonly mounts: readonly Mount[] | undefined;
  readonly network: ReadNetwork | undefined;
}

export interface ReadProcess {
  readonly role: 'tool' | 'init';
  readonly pid: number;
  readonly status: ProcessStatus;
  readonly limits: ReadonlyMap<string, ReadLimit>;
  readonly cgroups: readonly CgroupLine[];
  readonly namespaces: Namespaces;
}

export interface ReadNetwork {
  readonly interfaces: readonly string[];
  /** The interface of each route. */
  readonly routes: readonly string[];
}

export type NamespaceName = (typeof NAMESPACES)[number];

/** `user:[4026531837]`: equal texts are the same namespace. */
export type Namespaces = Readonly<Record<NamespaceName, string>>;

export const NAMESPACES = ['user', 'mnt', 'pid', 'net', 'ipc', 'uts', 'cgroup'] as const;

/** Throws `sandbox.enforcement_failed` for what is missing, malformed or there twice. */
export function readFacts({ inside, outside, hostNamespaces }: RawFacts): ReadFacts {
  const [tool, ...others] = outside;
  if (tool === undefined) throw unreadable('the list of processes', 'it is empty');
  const host = readNamespaces(hostNamespaces);
  const own = readNamespaces(inside.namespaces);
  return {
    processes: [readProcess('tool', tool), ...others.map((texts) => readProcess('init', texts))],
    inside: { status: parseStatus(inside.status), limits: readLimits(inside.limits), namespaces: own },
    hostNamespaces: host,
    // What is the host's is not ours to judge, and may hold what no sandbox of ours has. In Tier B it is not even sent;
    // where a mount table is expected, none is a difference.
    mounts: own.mnt === host.mnt || inside.mountinfo === '' ? undefined : parseMountinfo(inside.mountinfo),
    network: own.net === host.net ? undefined : readNetwork(inside),
  };
}

/** A new network namespace has `lo`, so a list without it was not read in one. */
export function isIsolated(network: ReadNetwork | undefined): boolean {
  if (network === undefined) return false;
  const { interfaces, routes } = network;
  const others = interfaces.filter((name) => name !== 'lo');
  return others.length < interfaces.length && others.every(isFallback) && routes.every((name) => name === 'lo');
}

/**
 * Where a kernel knows tunnels (of a VPN, of Kubernetes, of WSL), each new network has one of each kind from the beginning
 * (net.core.fb_tunnels_only_for_init_net). It is down, and there is nobody in a sandbox who could change that.
 */
const FALLBACK_TUNNELS = new Set('tunl0 gre0 gretap0 erspan0 ip_vti0 ip6_vti0 sit0 ip6tnl0 ip6gre0'.split(' '));

function isFallback(name: string): boolean {
  return FALLBACK_TUNNELS.has(name);
}

/** Of texts that are the same for every command with one profile: what was read in them before. */
function remembering<Read>(read: (text: string) => Read): (text: string) => Read {
  const known = new Map<string, Read>();
  return (text) => {
    const before = known.get(text);
    if (before !== undefined) return before;
    if (known.size >= MOST_KNOWN) known.clear();
    const found = read(text);
    known.set(text, found);
    return found;
  };
}

const MOST_KNOWN = 16;

const readLimits = remembering(parseLimits);
const readInterfaces = remembering(parseInterfaces);
const readRoutes = remembering(parseRoutes);
const readIpv6Routes = remembering(parseIpv6Routes);

/** A new network is as empty as the one before. */
function readNetwork({ netDev, route, ipv6Route }: RawFacts['inside']): ReadNetwork {
  return { interfaces: readInterfaces(netDev), routes: [...readRoutes(route), ...readIpv6Routes(ipv6Route)] };
}

let lastCgroups: { readonly text: string; readonly lines: readonly CgroupLine[] } | undefined;

/** All processes of a sandbox are in the same ones. */
function readCgroups(text: string): readonly CgroupLine[] {
  if (lastCgroups?.text !== text) lastCgroups = { text, lines: parseCgroups(text) };
  return lastCgroups.lines;
}

function readProcess(role: ReadProcess['role'], texts: OutsideTexts): ReadProcess {
  const { pid, status, limits, cgroup, namespaces } = texts;
  return {
    role,
    pid,
    status: parseStatus(status),
    limits: readLimits(limits),
    cgroups: readCgroups(cgroup),
    namespaces: readNamespaces(namespaces),
  };
}

const LINK = /^([a-z]+):\[[1-9][0-9]*\]$/;

function readNamespaces(links: Readonly<Record<string, string>>): Namespaces {
  const read = (name: NamespaceName) => {
    const link = Object.hasOwn(links, name) ? links[name] : undefined;
    if (link === undefined || LINK.exec(link)?.[1] !== name) {
      throw unreadable('the namespaces', `${name} is missing or malformed`);
    }
    return link;
  };
  return {
    user: read('user'),
    mnt: read('mnt'),
    pid: read('pid'),
    net: read('net'),
    ipc: read('ipc'),
    uts: read('uts'),
    cgroup: read('cgroup'),
  };
}
